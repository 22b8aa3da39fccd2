"""Whatever a cell can end in is shown: no result of the public API is a bare dataclass."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

import rpte
from report_pages import HOSTILE, Page, hostile
from rpte import RPTEClassifier, RPTERegressor, RPTESurvival
from rpte.model.causes import CausesModel
from rpte.model.classes import ClassesModel
from rpte.model.model import Model
from shown_models import TASKS, loans, shown

PLAIN = (str, bytes, bool, int, float, type(None), Path, np.ndarray, np.generic, pd.DataFrame)
LONGEST_REPR = 1500
MOST_BYTES = 400_000


def is_shown(result) -> bool:
    """Tell whether a notebook has something better than a dataclass repr to show."""
    if hasattr(result, "_repr_html_"):
        return True
    if isinstance(result, Mapping):
        return all(is_shown(each) for each in result.values())
    if isinstance(result, list | tuple | set):
        return all(is_shown(each) for each in result)
    return isinstance(result, (*PLAIN, Iterator)) and not is_dataclass(result)


# One worker makes the results of a task; all tests here look at them.
pytestmark = pytest.mark.xdist_group("results")


def fit_again(task):
    """Return a table small enough to fit several times."""
    estimator, X, y, given = shown(task)
    rows = {role: np.asarray(values)[:150] for role, values in given.items()}
    return type(estimator)(**estimator.get_params()), X.iloc[:150], y[:150], rows


@cache
def results(task, folder):
    """Return what every public method of an estimator and of its model gives, by name."""
    estimator, X, y, given = shown(task)
    model, one, few = estimator.model_, X.iloc[[3]], X.iloc[:4]
    cause = {"cause": model.causes[0]} if task == "causes" else {}
    strata = {"strata": given["strata"][:4]} if task == "strata" else {}
    unit = {"exposure": 1} if "exposure" in given else {}
    first = {role: values[:1] for role, values in strata.items()}
    found = {
        "fit": estimator,
        "explain": estimator.explain(few, **cause),
        "explain one": estimator.explain(few, **cause)[0],
        "verify": estimator.verify(X, y, **given),
        "verify alone": estimator.verify(),
        "check": estimator.verify()[0],
        "audit": estimator.audit(X),
        "summary": estimator.summary(),
        "predict": estimator.predict(few, **cause, **unit),
        "frontier_": estimator.frontier_ if task != "causes" else None,
        "rules_": estimator.rules_,
        "save": estimator.save(folder / f"{task}.json"),
        "model_": model,
        "rules": model.rules(),
        "rule": model.rules()[0] if task != "causes" else None,
        "rule_table": model.rule_table(),
        "importances": model.importances() if task != "causes" else None,
        "effects": model.effects() if task != "causes" else None,
        "read": model.read(X),
        "score": model.score(few),
        "load": rpte.load(folder / f"{task}.json"),
        "verify_file": rpte.verify_file(folder / f"{task}.json"),
        "audit_load": rpte.audit_load(estimator, X) if task != "causes" else None,
        "sign": rpte.sign(folder / f"{task}.json", b"key of sixteen bytes or more, for a test"),
    }
    found["check_signature"] = rpte.check_signature(
        folder / f"{task}.json", b"key of sixteen bytes or more, for a test"
    )
    if task == "causes":
        found["cause"] = model.cause(model.causes[0])
        found["curves"] = model.curves(few, model.causes[0])
        return found
    found |= _of_one_event(task, folder, estimator, X, y, given)
    if task == "several":
        found["between"] = model.between(*model.classes[:2])
        found["counterfactuals"] = model.counterfactuals(one, to=_other(model, one))
        found["what_if"] = model.what_if(one, {"late": 0.5})
        found["reasons"] = rpte.reason_codes(model, few)
        found["reason"] = found["reasons"][0]
        found["bootstrap"] = rpte.bootstrap(model, X, y, n=20)
        found["terms"] = found["bootstrap"].terms(label=model.classes[0])
        found["probabilities"] = found["bootstrap"].probabilities(few)
        return found
    found["what_if"] = model.what_if(one, {"age": 40.0}, **first)
    return found | _of_one_score(task, folder, model, X, y, given, first)


def _other(model, row):
    return next(label for label in model.classes if label != model.predict(row)[0])


def _of_one_event(task, folder, estimator, X, y, given):
    model = estimator.model_
    fresh, rows, labels, beside = fit_again(task)
    fitted = fresh.fit(rows, labels, **beside)
    found = {
        "cross_validate": fitted.cross_validate(rows, labels, folds=3, **beside),
        "export": estimator.export("python", folder / f"{task}.py"),
        "compare": rpte.compare(model, fitted.model_, *([] if task == "strata" else [X])),
        "report": estimator.report(X, y, folder / f"{task}.html", resamples=20, **given),
        "report alone": estimator.report(),
        "append_decisions": _logged(folder / f"{task}.jsonl", model, X, given),
    }
    if task in ("binary", "number"):
        found["estimate_cost"] = estimator.estimate_cost(X, y, **given)
    head = found["append_decisions"].head
    found["replay"] = rpte.replay(folder / f"{task}.jsonl", model, head)
    found["read_decisions"] = next(rpte.read_decisions(folder / f"{task}.jsonl", model))
    found["edit"] = rpte.edit(
        model, by="A", reason="a test", drop_sources=[model.sources[0]], force=True
    )
    return found


def _logged(path, model, X, given):
    strata = {"strata": given["strata"]} if "strata" in given else {}
    return rpte.append_decisions(path, model, X, replace=True, **strata)


def _of_one_score(task, folder, model, X, y, given, first):
    asked = {"count": {"to": 3.0}, "number": {"to": 2.0}}.get(task, {})
    if task in ("survival", "strata"):
        asked = {"to": 0.4, "horizon": 300.0, **first}
    found = {
        "counterfactuals": model.counterfactuals(X.iloc[[3]], **asked),
        "reason_rule": rpte.reason_rule(model),
        "reason_codes": rpte.reason_codes(model, X.iloc[:4]),
    }
    found["answer"] = (found["counterfactuals"].answers or (None,))[0]
    if task in ("binary", "number", "count"):
        found["bootstrap"] = rpte.bootstrap(model, X, y, n=20, **given)
        found["terms"] = found["bootstrap"].terms()
        found["cases"] = found["bootstrap"].cases(X.iloc[:2])
        found["case"] = found["cases"][0]
        options = {"without": [model.sources[0]], "folds": 3, "tolerance": 0.9}
        found["alternatives"] = rpte.alternatives(model, X, y, **options, **given)
    if task in ("binary", "survival"):
        found["scorecard"] = model.scorecard(X)
    if task == "survival":
        estimator = shown(task)[0]
        found["survival"] = estimator.predict_survival_function(X.iloc[:2])
        found["curve"] = found["survival"][0]
        found["at_horizon"] = model.at_horizon(300.0)
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("shown")


@pytest.mark.parametrize("task", TASKS)
def test_every_result_is_shown(task, folder):
    for name, result in results(task, folder).items():
        assert is_shown(result), f"{name}: {type(result)}"
        if hasattr(result, "_repr_html_") and not isinstance(result, pd.DataFrame):
            assert len(repr(result)) < LONGEST_REPR, f"{name}: {len(repr(result))} characters"
            text = result._repr_html_()
            assert Page(text).faults == [], name
            assert len(text.encode()) < MOST_BYTES, name
            assert "<script" not in text, name
            assert "<style" not in text, name


@pytest.mark.parametrize("task", TASKS)
def test_the_walk_leaves_no_public_method_of_a_model_out(task, folder):
    """A method that is new has to be called above, or named here with its reason."""
    model = shown(task)[0].model_
    arrays = {
        "decision_function", "predict", "predict_proba", "response", "survival_at", "incidence_at",
        "predict_interval", "rule_columns", "parts", "terms", "changed", "of", "place", "read",
        "plot", "plot_case", "plot_frontier", "to_dict", "what_if", "scorecard",
        "counterfactuals", "at_horizon", "export", "report", "between",
    }  # fmt: skip
    methods = {
        name
        for name, each in inspect.getmembers(type(model), inspect.isfunction)
        if not name.startswith("_")
    }
    assert methods - set(results(task, folder)) - arrays == set()


def test_every_public_name_was_called(folder):
    called = {name for task in TASKS for name in results(task, folder)}
    called |= {"bootstrap", "alternatives"}
    made_below = {
        "Actions", "Catalogue", "Labelled", "Limits", "Progress", "ReasonRule",
        "decide", "read_catalogue", "read_table",
    }  # fmt: skip
    names = {n for n in rpte.__all__ if not isinstance(getattr(rpte, n), ModuleType)}
    estimators = {"RPTEClassifier", "RPTERegressor", "RPTESurvival", "Model", "AuditLoad"}
    errors = {n for n in names if n.endswith("Error") or n in ("Cancelled", "RPTEWarning")}
    shown_elsewhere = {n for n in names if n.endswith("Display") or n == "datasets"}
    assert names - called - made_below - estimators - errors - shown_elsewhere == set()


def test_what_users_make_is_shown():
    X, y = loans()
    made = [
        rpte.Limits(monotone={"age": "increasing"}, exclude=HOSTILE),
        rpte.Actions(keep=HOSTILE, one_way={"income": "increase"}),
        rpte.Catalogue({HOSTILE[0]: {"code": "R1", "sentence": HOSTILE[1]}}),
        rpte.ReasonRule(against=HOSTILE[0]),
        rpte.Labelled(X, y),
        rpte.Progress(HOSTILE[0], 0.5, 1.0),
        RPTEClassifier(),
        RPTERegressor(),
        RPTESurvival(),
    ]
    for each in made:
        text = each._repr_html_()
        assert "<script>alert" not in text
        assert len(repr(each)) < LONGEST_REPR
    assert (
        repr(made[4]) == f"Labelled(X=<DataFrame of shape {X.shape}>, y=<ndarray of shape (300,)>)"
    )


def test_hostile_names_stay_text():
    model, X, y = hostile()
    row = X[:1] if isinstance(X, np.ndarray) else X.iloc[:1]
    name = model.sources[0]
    value = {"number": 1.0}.get(model.schema[name].kind, HOSTILE[0])
    shown_ones = [
        model,
        model.explain(X),
        model.explain(row)[0],
        model.verify(X, y),
        model.what_if(row, {name: value}),
        model.counterfactuals(row),
        model.rules(),
        rpte.compare(model, model, X),
        rpte.reason_codes(model, X),
        model.read(X),
    ]
    for each in shown_ones:
        text = each._repr_html_()
        assert Page(text).faults == [], type(each)
        tags = {tag for tag, _, _ in Page(text).elements}
        assert not tags & {"script", "style", "iframe", "object"}, type(each)
        assert not any(key.startswith("on") for _, given, _ in Page(text).elements for key in given)


def test_models_have_short_reprs():
    for task in TASKS:
        model = shown(task)[0].model_
        assert isinstance(model, Model | ClassesModel | CausesModel)
        assert len(repr(model)) < 200
