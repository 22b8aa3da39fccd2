"""Every public method and function on every task: it works, or is refused in words.

What comes of it is the page docs/methods_by_task.md; `python tests/test_every_method.py` writes it.
"""

from __future__ import annotations

import copy
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import fill
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

import rpte
from rpte.model.causes import CausesModel
from rpte.model.classes import ClassesModel
from rpte.model.model import Model

PAGE = Path(__file__).parents[1] / "docs" / "methods_by_task.md"
COMMAND = "python tests/test_every_method.py"
WORKS, REFUSED, ABSENT = "yes", "no", "-"
WHO = {"by": "A. Smith", "reason": "a test"}
KEY = b"a secret of 32 bytes, not this.."
SCIKIT_LEARN = {"fit", "set_callbacks"}  # and what begins with set_ and ends with _request


@dataclass
class Subject:
    """A fitted estimator with its table, and a folder to write to."""

    est: Any
    X: pd.DataFrame
    y: Any
    folder: Path

    @property
    def model(self) -> Any:
        return self.est.model_

    @property
    def cause(self) -> dict[str, Any]:
        """What methods need of competing risks beside the rows."""
        return {"cause": 1} if isinstance(self.model, CausesModel) else {}

    def path(self, name: str) -> Path:
        return self.folder / name

    def log(self, given: Any) -> Path:
        """Return a log of decisions."""
        path = self.path("log.jsonl")
        path.unlink(missing_ok=True)
        rpte.append_decisions(path, given, self.X[:2])
        return path

    def saved(self) -> Path:
        self.model.save(self.path("m.json"))
        return self.path("m.json")


def table(n: int = 90) -> tuple[pd.DataFrame, np.ndarray, np.random.Generator]:
    """Return columns, and a signal in them."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.normal(size=n).round(2), "b": rng.normal(size=n).round(2)})
    X["c"] = rng.choice(["u", "v", "w"], n)
    return X, (X["a"] - 0.8 * X["b"] * (X["c"] == "u")).to_numpy(), rng


def fitted(task: str) -> tuple[Any, pd.DataFrame, Any]:
    """Return a fitted estimator, and its table."""
    X, signal, rng = table()
    n, noise = len(X), rng.normal(size=len(X))
    quick = {"l1": 0.03, "max_trees": 1, "max_leaves": 3}
    if task.endswith("classes"):
        ends = [0.0] if task == "two classes" else [-0.5, 0.5]
        if len(ends) > 1:  # strong enough for a tree
            signal = np.sign(X["a"] * X["b"]).to_numpy()
        y: Any = np.array(["low", "mid", "high"])[np.digitize(signal + 0.5 * noise, ends)]
        return rpte.RPTEClassifier(**quick).fit(X, y), X, y
    if task in ("squared error", "poisson", "gamma", "tweedie"):
        mean = np.exp(0.5 * signal)
        y = {
            "squared error": signal + noise,
            "poisson": rng.poisson(mean).astype(float),
            "gamma": mean * rng.gamma(2.0, 0.5, n) + 0.01,
            "tweedie": np.where(rng.random(n) < 0.3, 0.0, mean * rng.gamma(2.0, 0.5, n)),
        }[task]
        loss = task.replace(" ", "_")
        made = rpte.RPTERegressor(loss=loss, **quick).fit(X, y)
        return made.calibrate(X.assign(a=X["a"] + 0.1), y), X, y
    time = np.ceil(8.0 * rng.exponential(np.exp(-0.8 * signal))) + 1.0
    event = rng.random(n) < 0.8
    status = event * (1 + (rng.random(n) < 0.4)) if task == "competing risks" else event
    loss = {"loss": "discrete", "intervals": 5} if task == "discrete hazards" else {}
    y = pd.DataFrame({"status": status, "time": time})
    return rpte.RPTESurvival(**quick, **loss).fit(X, y), X, y


def with_frontier(est: Any) -> None:
    """Give a fitted estimator a frontier of its one model, as validation would have."""
    model = est.model_
    if isinstance(model, CausesModel):
        return
    chosen = model.training["selection"]["chosen"]
    load = {"miu": model.audit().miu, "components": len(model.components)}
    point = {**chosen, **load, "deviance": 0.5, "error": 0.1}
    selection = {**model.training["selection"], "null_deviance": 1.0, "frontier": [point]}
    est.model_ = replace(model, training={**model.training, "selection": selection})
    est.frontier_models_ = (est.model_,)


TASKS = (
    "two classes",
    "several classes",
    "squared error",
    "poisson",
    "gamma",
    "tweedie",
    "cox",
    "discrete hazards",
    "competing risks",
)
Call = Callable[[Subject, Any], Any]


# How each method is called: `of` is the estimator or its model. What is not here is only read.
def on_rows(*names: str) -> dict[str, Call]:
    """Return calls of methods that take the table alone."""
    return {name: lambda s, of, name=name: getattr(of, name)(s.X) for name in names}


def bare(*names: str) -> dict[str, Call]:
    """Return calls of methods that take nothing; what they yield is drawn."""
    return {name: lambda s, of, name=name: _drawn(getattr(of, name)()) for name in names}


def _drawn(found: Any) -> Any:
    return list(found) if isinstance(found, Iterator) else found


SHARED: dict[str, Call] = {
    **on_rows("audit", "decision_function", "predict", "predict_interval", "predict_proba"),
    **on_rows("scorecard"),
    **bare("plot_frontier", "summary"),
    "explain": lambda s, of: of.explain(s.X[:2], **s.cause),
    "export": lambda s, of: of.export("sql", s.path("m.sql"), s.X[:3]),
    "plot": lambda s, of: of.plot("a"),
    "plot_case": lambda s, of: of.plot_case(s.X.iloc[0]),
    "report": lambda s, of: of.report(s.X, s.y, resamples=2, cases=1),
    "save": lambda s, of: of.save(s.path("m.json")),
    "score": lambda s, of: of.score(s.X, s.y, **s.cause) if of is s.est else of.score(s.X),
    "verify": lambda s, of: of.verify(s.X, s.y),
}
ESTIMATORS: dict[str, Call] = {
    **SHARED,
    **on_rows("linear_predictor", "predict_cumulative_hazard_function", "predict_log_proba"),
    **on_rows("predict_median", "predict_survival_function"),
    "at": lambda s, of: of.at(500),
    "calibrate": lambda s, of: copy.copy(of).calibrate(s.X.assign(a=s.X["a"] + 0.1), s.y),
    "cross_validate": lambda s, of: copy.copy(of).cross_validate(s.X, s.y, folds=2),
    "estimate_cost": lambda s, of: of.estimate_cost(s.X, s.y),
    "paper": lambda s, of: type(of).paper(),
    "predict_cumulative_incidence_function": lambda s, of: of.predict_cumulative_incidence_function(
        s.X, **s.cause
    ),
}
MODELS: dict[str, Call] = {
    **SHARED,
    **on_rows("read", "response"),
    **bare("effects", "importances", "parts", "rule_columns", "rule_table", "rules", "terms"),
    "at_horizon": lambda s, of: of.at_horizon(5.0),
    "between": lambda s, of: of.between("low", "high"),
    "cause": lambda s, of: of.cause(1),
    "changed": lambda s, of: of.changed(lambda model: model),
    "counterfactuals": lambda s, of: of.counterfactuals(s.X[:1], **COUNTED.get(of.task, {})),
    "curves": lambda s, of: of.curves(s.X[:2], 1),
    "incidence_at": lambda s, of: of.incidence_at(s.X, [2.0], 1),
    "of": lambda s, of: type(of).of(of.models),
    "place": lambda s, of: of.place(1),
    "survival_at": lambda s, of: of.survival_at(s.X, [2.0]),
    "what_if": lambda s, of: of.what_if(s.X[:1], {"a": 0.5}),
}
COUNTED = {
    "survival": {"to": 0.5, "horizon": 5.0},
    "regression": {"to": 1.0, "side": "above"},
    "multiclass": {"to": "high"},
}
FUNCTIONS: dict[str, Call] = {
    "alternatives": lambda s, of: rpte.alternatives(of, s.X, s.y, 0.9, without=["b"], folds=2),
    "append_decisions": lambda s, of: s.log(of),
    "audit_load": lambda s, of: rpte.audit_load(of, s.X),
    "bootstrap": lambda s, of: rpte.bootstrap(of, s.X, s.y, n=2),
    "check_signature": lambda s, of: rpte.check_signature(
        rpte.sign(s.saved(), KEY).with_suffix(""), KEY
    ),
    "compare": lambda s, of: rpte.compare(of, of, s.X),
    "decide": lambda s, of: list(rpte.decide(of, s.X[:2])),
    "edit": lambda s, of: rpte.edit(of, drop_sources=["a"], **WHO),
    "load": lambda s, of: rpte.load(s.saved()),
    "read_catalogue": lambda s, of: rpte.read_catalogue(_catalogue(s), of),
    "read_decisions": lambda s, of: list(rpte.read_decisions(s.log(of), of)),
    "reason_codes": lambda s, of: rpte.reason_codes(of, s.X[:2]),
    "reason_rule": lambda s, of: rpte.reason_rule(of),
    "replay": lambda s, of: rpte.replay(s.log(of), of),
    "sign": lambda s, of: rpte.sign(s.saved(), KEY),
    "verify_file": lambda s, of: rpte.verify_file(s.saved(), s.X, s.y),
    "CaseDisplay": lambda s, of: rpte.CaseDisplay.from_estimator(of, s.X.iloc[0]),
    "EffectDisplay": lambda s, of: rpte.EffectDisplay.from_estimator(of, "a"),
    "FrontierDisplay": lambda s, of: rpte.FrontierDisplay.from_estimator(of),
    "ImportanceDisplay": lambda s, of: rpte.ImportanceDisplay.from_estimator(of),
    "OverviewDisplay": lambda s, of: rpte.OverviewDisplay.from_estimator(of),
    "SurfaceDisplay": lambda s, of: rpte.SurfaceDisplay.from_estimator(of, "a", "b"),
    "TreeDisplay": lambda s, of: rpte.TreeDisplay.from_estimator(of),
}
NO_MODEL = {"read_table"}  # functions that take no model
# The estimator's method is one call of its model's: enough to call it once for each model class.
DELEGATED = {"export", "plot", "plot_case", "plot_frontier", "report", "verify"}
BY_SHAPE = ("two classes", "several classes", "competing risks")  # a model class each
MODEL_CLASSES = (Model, ClassesModel, CausesModel)
ESTIMATOR_CLASSES = (rpte.RPTEClassifier, rpte.RPTERegressor, rpte.RPTESurvival)


def _catalogue(s: Subject) -> Path:
    s.path("reasons.toml").write_text('[reasons.a]\ncode = "A"\n')
    return s.path("reasons.toml")


def public(*classes: type) -> list[str]:
    """Return the public names of classes and of their fields, sorted."""
    names: set[str] = set()
    for each in classes:
        names |= {*dir(each), *getattr(each, "__dataclass_fields__", ())}
    return sorted(name for name in names if not name.startswith("_"))


def estimator_names() -> list[str]:
    """Return the public names that the estimators add to those of scikit-learn."""
    known = {*dir(BaseEstimator), *SCIKIT_LEARN}
    found = [name for name in public(*ESTIMATOR_CLASSES) if name not in known]
    return [name for name in found if not name.endswith("_request")]


@dataclass
class Outcome:
    """What came of a call: a word of the table, and what was said."""

    word: str
    said: str = ""


def outcome(call: Callable[[], Any], owner: Any, name: str) -> Outcome:
    """Call something; refusals have our own types, and all else is an error of ours."""
    try:
        call()
    except (rpte.InputError, rpte.ModelFileError) as error:
        return Outcome(REFUSED, str(error))
    except AttributeError:
        if owner is not None and not hasattr(type(owner), name):
            return Outcome(ABSENT)
        raise
    return Outcome(WORKS)


Found = dict[tuple[str, str], dict[str, Outcome]]  # by (section, name) and task


def walk(task: str, folder: Path, found: Found) -> list[str]:
    """Try everything on one task, add what came of it, and return what went wrong."""
    est, X, y = fitted(task)
    with_frontier(est)
    subject, wrong = Subject(est, X, y, folder), []

    def tried(section: str, name: str, of: Any, call: Call | None, owner: Any = None) -> None:
        called = (lambda: getattr(of, name)) if call is None else (lambda: call(subject, of))
        try:
            got = outcome(called, owner, name)
        except Exception as error:  # whatever it is, it is reported
            wrong.append(f"{task}, {section} {name}: {type(error).__name__}: {error}")
            return
        kept = found.setdefault((section, name), {}).setdefault(task, got)
        if kept.word != got.word:
            wrong.append(f"{task}, {name}: {kept.word} of the estimator, {got.word} of its model")

    for name in estimator_names():
        tried("estimators", name, est, ESTIMATORS.get(name), est)
    for name in public(*MODEL_CLASSES):
        if name in DELEGATED and task not in BY_SHAPE:
            found.setdefault(("models", name), {})[task] = found["estimators", name][task]
            continue
        tried("models", name, est.model_, MODELS.get(name), est.model_)
    for name, call in FUNCTIONS.items():
        both = task in BY_SHAPE and not name.endswith("Display")
        for of in (est, est.model_) if both else (est,):
            tried("functions", name, of, call)
    return wrong


def everything() -> tuple[Found, list[str]]:
    """Return what comes of every call on every task, and what went wrong."""
    found: Found = {}
    wrong: list[str] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(),
        mpl.rc_context({"backend": "agg", "figure.max_open_warning": 0}),
    ):
        warnings.simplefilter("ignore")
        for task in TASKS:
            wrong += walk(task, Path(folder), found)
            mpl.pyplot.close("all")
        for outcomes in found.values():
            for each in outcomes.values():
                each.said = each.said.replace(folder, "").replace("/", "")
    return found, wrong


HEAD = f"""\
Every public method of the estimators and of their models, and every function that takes a model,
is called on a small model of each task. `{WORKS}`: it works. `{REFUSED}`: it is refused with the
message below the table. `{ABSENT}`: there is no such name. Functions take a model or a fitted
estimator. The test `tests/test_every_method.py` makes this page (`{COMMAND}`) and fails if the page
is out of date."""
WIDTH = 120
TITLES = {
    "estimators": "Estimators",
    "models": "Models: `est.model_`, or what `rpte.load` returns",
    "functions": "Functions and displays of `rpte`",
}


def page(found: Found) -> str:
    """Return the page."""
    lines = ["# What works for which task", "", fill(HEAD.replace("\n", " "), WIDTH), ""]
    for section, title in TITLES.items():
        names = [name for own, name in found if own == section]
        lines += [f"## {title}", "", f"| | {' | '.join(TASKS)} |", f"|{' --- |' * 10}"]
        for name in names:
            told = found[section, name]
            lines.append(f"| `{name}` | {' | '.join(told[task].word for task in TASKS)} |")
        lines += ["", "Why not:", "", *_reasons({n: found[section, n] for n in names}), ""]
    return "\n".join(lines)


def _reasons(found: dict[str, dict[str, Outcome]]) -> list[str]:
    """Return why methods are refused; those with the same message stand together."""
    by_text: dict[tuple[str, str], list[str]] = {}
    for name, told in found.items():
        texts: dict[str, list[str]] = {}
        for task in TASKS:
            if told[task].word == REFUSED:
                said = re.sub(
                    r"^.{1,40}? is for models of", "this is for models of", told[task].said
                )
                texts.setdefault(said, []).append(task)
        for text, tasks in texts.items():
            by_text.setdefault((text, ", ".join(tasks)), []).append(f"`{name}`")
    lines = []
    for (text, tasks), names in by_text.items():
        said = f"* {', '.join(names)} ({tasks}): {text}"
        lines.append(fill(said, WIDTH, subsequent_indent="  ", break_on_hyphens=False))
    return lines


@pytest.mark.slow(reason="calls about a hundred methods on nine fitted models")
def test_every_method_of_every_task_works_or_is_refused_in_words():
    found, wrong = everything()
    assert wrong == []
    assert PAGE.read_text(encoding="utf-8") == page(found), f"out of date; run: {COMMAND}"


def test_every_public_name_is_called():
    """What is not in a table of calls is only read: it must not be something to call."""
    for classes, calls, names in (
        (ESTIMATOR_CLASSES, ESTIMATORS, estimator_names()),
        (MODEL_CLASSES, MODELS, public(*MODEL_CLASSES)),
    ):
        for name in set(names) - set(calls):
            assert not any(callable(getattr(each, name, None)) for each in classes), name
    functions = {name for name in rpte.__all__ if name.islower()} - NO_MODEL
    displays = {name for name in rpte.__all__ if name.endswith("Display")}
    assert set(FUNCTIONS) == functions | displays


if __name__ == "__main__":
    everything_found, faults = everything()
    print(*faults, sep="\n")
    PAGE.write_text(page(everything_found), encoding="utf-8")
    print(f"wrote {PAGE}, {len(faults)} faults")
