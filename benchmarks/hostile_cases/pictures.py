"""Pictures and headlines against what the model does: effects, stored figures, reports."""

from __future__ import annotations

import contextlib
import copy
import io
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hostile_cases.case import Case, Result
from rpte import InputError, Labelled, Model, RPTEClassifier, RPTEWarning, edit
from rpte.errors import ModelFileError
from rpte.figures.effect import effect_records
from rpte.figures.effect_panels import note_of, title_of
from rpte.figures.subject import Subject
from rpte.model.effect import Cells, background, effect
from rpte.model.file import from_dict, to_dict
from rpte.plots.effect import EffectDisplay
from rpte.report.contents import ReportOptions, report_contents
from rpte.report.evidence import gather
from rpte.report.html import render

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "helpers"))

QUICK = ReportOptions(resamples=20)


def made(seed: int, n: int = 300) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    """Return a random table: numbers, categories, gaps, codes; products that turn effects round."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n).round(1), "b": rng.gamma(2.0, 1.0, n).round(1)})
    X["code"] = np.where(rng.random(n) < 0.15, -9.0, rng.integers(0, 9, n))
    X["kind"] = rng.choice(np.array(["x", "y", "z"], object), n, p=[0.5, 0.3, 0.2])
    X.loc[rng.random(n) < 0.1, "b"] = np.nan
    turn = np.where(X["kind"] == "x", rng.normal(3, 1), rng.normal(-1.5, 1))
    score = turn * X["a"] + X["b"].fillna(4) * np.sign(X["a"]) * rng.normal() + (X["code"] == -9)
    return X, rng.random(n) < 1 / (1 + np.exp(-score))


def fitted(seed: int, **more: Any) -> tuple[RPTEClassifier, pd.DataFrame, np.ndarray[Any, Any]]:
    """Return a classifier with products or trees, and its table."""
    X, y = made(seed)
    rng = np.random.default_rng(seed)
    given = {"vocabulary": str(rng.choice(["shapes", "hug", "original"])), "max_leaves": 5}
    clf = RPTEClassifier(l1=0.006, special_values={"code": [-9]}, **{**given, **more})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RPTEWarning)
        return clf.fit(X, y), X, y


def mean_scores(model: Model, X: pd.DataFrame, source: str, values: list[Any]) -> list[float]:
    """Return the mean score of the rows with each value set in all of them."""
    return [float(model.score(X.assign(**{source: value})).mean()) for value in values]


def effects(seed: int) -> Result:
    """Compare whole effects, as drawn, with the mean score by brute force."""
    result = Result()
    for trial in range(12):
        clf, X, _ = fitted(seed * 1000 + trial)
        model = clf.model_
        inputs = model.read(X)
        rows = background(inputs, model.sources)
        for component in model.components:
            for drawn in effect_records(Subject(model, rows), component, None):
                source = drawn["source"]
                pairs = [
                    (None if row["level"] is None else _cell(row["level"]), row["whole"])
                    for row in drawn["levels"]
                ]
                curve = drawn.get("curves", {}).get("whole") or []
                pairs += [tuple(point) for point in curve[:: max(1, len(curve) // 6)]]
                expected = mean_scores(model, X, source, [value for value, _ in pairs])
                found = np.array([height for _, height in pairs])
                gaps = np.abs(found - found[0] - (np.array(expected) - expected[0]))
                for (value, _), gap in zip(pairs, gaps, strict=True):
                    result.expect(gap < 1e-9, f"seed {trial}: {source} at {value}: off by {gap}")
    return result


def _cell(level: str) -> Any:
    return float(level) if level.lstrip("-").isdigit() else level


def shown(model: Model, source: str, X: Any = None, weight: Any = None) -> EffectDisplay:
    """Return the numbers of the picture of a variable."""
    return EffectDisplay.of(Subject.of(model, "plot", X, weight), source)


def directions(seed: int) -> Result:
    """Find variables whose own terms go one way and the effect the other; look at the picture."""
    result, turned = Result(), 0
    for trial in range(25):
        clf, X, _ = fitted(seed * 1000 + 500 + trial, max_trees=0, vocabulary="shapes")
        model = clf.model_
        rows = background(model.read(X), model.sources)
        ends = Cells.of_numbers(np.quantile(X["a"], [0.1, 0.9]))
        home = next((c for c in model.components if "a" in c.sources), None)
        if home is None:
            continue
        found = effect(home, model.schema, "a", ends, rows)
        low, high = mean_scores(model, X, "a", list(ends.numbers))
        assert found.whole is not None
        said = float(np.diff(found.whole)[0])
        result.expect(abs(said - (high - low)) < 1e-9, f"seed {trial}: {said} for {high - low}")
        own = 0.0 if found.own is None else float(np.diff(found.own)[0])
        turned += own * said < 0
        alone = found.own is not None and found.low is None
        text = note_of(shown(model, "a", X))
        result.expect(alone or "Whole effect" in text, f"seed {trial}: {text}")
        if found.own is not None and not alone:
            text = title_of(shown(model, "a")) + note_of(shown(model, "a"))
            result.expect("Not its whole effect" in text, f"seed {trial} without rows: {text}")
    result.expect(turned > 0, "no table had an own term against the whole effect")
    return result


def orders(seed: int) -> Result:
    """Draw effects of the same rows in another order, and repeated in place of weights."""
    result = Result()
    for trial in range(8):
        clf, X, _ = fitted(seed * 1000 + 800 + trial)
        model, rng = clf.model_, np.random.default_rng(trial)
        weight = rng.integers(0, 3, len(X)).astype(float)
        order = rng.permutation(len(X))
        again = X.loc[np.repeat(np.arange(len(X)), weight.astype(int))]
        for source in model.sources:
            first = shown(model, source, X, weight).frame()["whole"].round(9).tolist()
            second = shown(model, source, X.iloc[order], weight[order]).frame()["whole"]
            third = shown(model, source, again).frame()["whole"]
            same = first == second.round(9).tolist()
            result.expect(same, f"{source} depends on the order of rows")
            same = first == third.round(9).tolist()
            result.expect(same, f"{source}: a weight is no repetition")
    return result


def headlines(seed: int) -> Result:
    """Read the first figure of reports on training rows, other rows, and edited models."""
    result = Result()
    for trial in range(3):
        clf, X, y = fitted(seed * 1000 + 900 + trial, max_trees=0)
        other, truth = made(seed * 1000 + 950 + trial)
        for figures in (False, True):
            if figures:
                clf.cross_validate(X, y, folds=2)
            model = clf.model_
            wanted = "AUC on rows not seen" if figures else "AUC on the training rows"
            page = _page(model, X, y)
            result.expect(_headline(page) == wanted, f"training rows: {_headline(page)}")
            result.expect(figures or "cross_validate" in page, "no remedy is offered")
            page = _page(model, other, truth)
            result.expect(_headline(page) == "AUC", f"other rows: {_headline(page)}")
            result.expect(f"on {len(other)} other rows" in page, "the number of rows is not said")
        asked = {"by": "A. Smith", "reason": "a trial", "drop_sources": [model.sources[0]]}
        for more in ({}, {"refit": True, "table": Labelled(X, y)}):
            edited = edit(model, **asked, **more)
            page = _page(edited, X, y)
            result.expect("on rows not seen (" not in edited.summary(), "edit keeps the figures")
            result.expect("AUC on rows not seen" not in page, "the report shows old figures")
    return result


def _page(model: Model, X: pd.DataFrame, y: Any) -> str:
    return render(report_contents(model, gather(model, X, y), QUICK))


def _headline(page: str) -> str:
    return page.split("<dt>", 1)[1].split("</dt>", 1)[0]


def repeated_fits(seed: int) -> Result:
    """Cross-validate what is not the fit: another table, other parameters, a picked model."""
    result = Result()
    for trial in range(6):
        clf, X, y = fitted(seed * 1000 + 700 + trial, max_trees=0)
        rng = np.random.default_rng(trial)
        fewer, moved = X.iloc[:-1], X.assign(a=X["a"] + 0.1)
        weights = rng.integers(1, 3, len(X))
        tries = [
            (clf, (fewer, y[:-1])),
            (clf, (moved, y)),
            (clf, (X, ~y)),
            (clf, (X, y, weights)),
        ]
        for estimator, table in tries:
            result.expect(_refused(estimator, table), "another table passes for the training table")
        changed = fitted(seed * 1000 + 700 + trial, max_trees=0)[0].set_params(l1=0.1)
        result.expect(_refused(changed, (X, y)), "figures of other parameters are kept")
        result.expect(
            "cross_validation" not in clf.model_.training, "figures are kept all the same"
        )
    return result


def _refused(clf: RPTEClassifier, table: tuple[Any, ...]) -> bool:
    try:
        clf.cross_validate(*table, folds=2)
    except InputError:
        return True
    return False


def stored_figures(seed: int) -> Result:
    """Change stored figures at random: library and checker judge alike; scores never move."""
    from model_files import sealed, write
    from rpte.check import rpte_check

    result, rng = Result(), np.random.default_rng(seed)
    clf, X, y = fitted(seed, max_trees=0)
    clf.cross_validate(X, y, folds=2)
    values = [None, True, 0, 1, 2, -1, 0.5, 1.5, 1e308, "content", "groups", "x", [], {}]
    values += [{"mean": 0.5, "error": None}, {"mean": 0.5}, {"mean": 2.0, "error": 0.1}]
    before = clf.model_.score(X).tolist()
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(400):
            document = copy.deepcopy(to_dict(clf.model_))
            record = document["training"]["cross_validation"]
            key = str(rng.choice([*record, "more"]))
            inside = isinstance(record.get(key), dict) and rng.random() < 0.5
            holder = record[key] if inside else record
            name = str(rng.choice(["mean", "error"])) if inside else key
            holder[name] = copy.deepcopy(values[rng.integers(len(values))])
            changed = sealed(document)
            model = _loaded(changed)
            with (
                contextlib.redirect_stdout(io.StringIO()),
                contextlib.redirect_stderr(io.StringIO()),
            ):
                refused = rpte_check.main([str(write(changed, Path(folder)))]) != 0
            result.expect(refused == (model is None), f"{key}.{name} = {holder[name]!r}")
            if model is not None:
                result.expect(model.score(X).tolist() == before, "figures move scores")
    edited = edit(clf.model_, by="A", reason="b", drop_sources=[clf.model_.sources[0]])
    document = to_dict(edited)
    document["training"]["cross_validation"] = clf.model_.training["cross_validation"]
    result.expect(_loaded(sealed(document)) is None, "an edited model takes figures back")
    return result


def _loaded(document: dict[str, Any]) -> Model | None:
    try:
        return from_dict(document)
    except ModelFileError:
        return None


CASES = [
    Case("whole effects as drawn are the mean score by brute force", effects),
    Case("own terms fall where the effect rises: the picture says which", directions),
    Case("effects do not depend on row order; a weight is repetition", orders),
    Case("the first figure of a report: not seen, training, other rows, edited", headlines),
    Case("cross-validating what is not the fit is refused", repeated_fits),
    Case("changed figures: library and checker judge alike", stored_figures),
]
