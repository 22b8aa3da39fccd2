"""Models on one page: what there is to read in each, how well each predicts, where they part.

Ours and others stand beside each other: anything with `predict_proba` or `predict`, counted by the
rule of `audit_load`, or just its predictions. Two of ours are compared term by term as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from rpte.audit.load import AuditLoad, audit_load
from rpte.audit.metrics import measures, rank
from rpte.audit.number_metrics import number_measures
from rpte.errors import InputError
from rpte.losses import SQUARED
from rpte.model.classes import ClassesModel
from rpte.model.compare import compare as compare_terms
from rpte.model.compare_parts import MOVED_MOST, Comparison, spread
from rpte.model.given import scored_model
from rpte.model.labels import Label
from rpte.model.model import Model
from rpte.model.target import NumberTarget, Target
from rpte.table.inputs import as_array
from rpte.table.table import read_weights
from rpte.utils.arrays import Floats

FIFTHS = 5
DIGITS = 6  # of measures that are shown: an intercept of 1e-17 is 0
CERTAIN = 1e-15  # of a probability of another model: its log odds stay finite
OF_CLASSES = ("auc", "log_loss", "brier", "calibration_intercept", "calibration_slope")
OF_NUMBERS = ("deviance_explained", "mae", "rmse", "calibration_ratio", "calibration_slope")


def compare(
    a: Any,
    b: Any = None,
    X_a: Any = None,
    X_b: Any = None,
    *,
    sample_weight: Any = None,
    exposure: Any = None,
) -> Comparison | ModelsCompared:
    """Compare two models term by term, or several models, ours and others, on one page.

    ``compare(a, b, X)`` is about the terms of two of our models, ``compare([a, b, c], X, y)``
    about the predictions of any models, two or more.

    Parameters
    ----------
    a, b : models or fitted estimators of this library
        Two to compare term by term; X_a and X_b are then the same rows for each of them (X_a for
        both if there is no other), and optional. See `rpte.model.compare.compare`.
    a : list, or mapping from names
        Models to compare on one page: ours, fitted estimators of scikit-learn, EBM, LightGBM and
        others with `predict_proba` (two classes) or `predict` (numbers), or arrays of their
        predictions (n_rows,): probabilities of the positive class, or means. The next two
        arguments are then the table and its targets: ``compare([a, b, c], X, y)``.
    sample_weight : array of shape (n_rows,), optional
        Of the page.
    exposure : array of shape (n_rows,), optional
        Of the page, for numbers. What other estimators predict is taken for one unit of it.

    Returns
    -------
    Comparison or ModelsCompared

    Examples
    --------
    >>> import rpte
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, [0, 0, 1, 1] * 10
    >>> ours, tree = rpte.RPTEClassifier(l1=0.1), DecisionTreeClassifier(max_depth=1)
    >>> found = rpte.compare({"ours": ours.fit(X, y), "tree": tree.fit(X, y)}, X, y)
    >>> found.to_frame()[["conditions", "auc"]].round(3).to_dict("index")
    {'ours': {'conditions': 2, 'auc': 1.0}, 'tree': {'conditions': 2, 'auc': 1.0}}
    """
    if not isinstance(a, list | tuple | Mapping):
        if sample_weight is not None or exposure is not None:
            raise InputError("sample_weight and exposure are for a page: compare([a, b], X, y)")
        return compare_terms(a, b, X_a, X_b)
    if X_b is not None:
        raise InputError("a page has one table: compare([a, b, c], X, y)")
    if b is None or X_a is None:
        raise InputError("models are compared on labelled rows: compare([a, b, c], X, y)")
    return _on_one_page(_named(a), b, X_a, sample_weight, exposure)


@dataclass(frozen=True, slots=True, repr=False)
class ModelsCompared:
    """Several models on the same rows.

    Attributes
    ----------
    predicted : str
        What they predict, in words.
    observed : (n_rows,)
        Targets; of two classes 1.0 for the positive one.
    predictions : DataFrame of shape (n_rows, n_models)
        Probabilities of the positive class, or means.
    measures : mapping from names to measures
    loads : mapping from names to AuditLoad, None of a family that is not known
    """

    predicted: str
    models: dict[str, Any]
    X: Any = field(repr=False)
    observed: Floats
    weight: Floats
    predictions: pd.DataFrame
    measures: dict[str, dict[str, float | None]]
    loads: dict[str, AuditLoad | None]

    def __repr__(self) -> str:
        return f"ModelsCompared({', '.join(self.models)}: {len(self.observed)} rows)"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model: family, terms, conditions and measures."""
        rows = {}
        for name, found in self.measures.items():
            load = self.loads[name]
            size = (None, None, None) if load is None else (load.family, load.mu, load.miu)
            rows[name] = {
                **dict(zip(("family", "terms", "conditions"), size, strict=True)),
                **found,
            }
        return pd.DataFrame.from_dict(rows, orient="index")

    def calibration(self) -> pd.DataFrame:
        """Return mean prediction and mean target in fifths of the rows by each prediction."""
        rows = []
        for name in self.models:
            mean = self.predictions[name].to_numpy()
            order = np.argsort(mean, kind="stable")
            for part, at in enumerate(np.array_split(order, FIFTHS), 1):
                weight = self.weight[at]
                if weight.sum() > 0.0:
                    both = (np.average(v[at], weights=weight) for v in (mean, self.observed))
                    rows.append((name, part, *both))
        return pd.DataFrame(rows, columns=["model", "fifth", "predicted", "observed"])

    def pairs(self) -> pd.DataFrame:
        """Return for each pair of models how far apart their predictions and their ranks are."""
        rows = []
        for a, b in combinations(self.models, 2):
            p, q = (self.predictions[name].to_numpy() for name in (a, b))
            sizes = spread(q - p)
            sizes.pop("mean")
            rows.append({"a": a, "b": b, "rank_agreement": _rank_agreement(p, q), **sizes})
        return pd.DataFrame(rows)

    def disagreements(self, most: int = MOVED_MOST) -> pd.DataFrame:
        """Return the rows whose predictions differ most between any two models, largest first.

        Under their label in the table, with what was observed, all predictions, their `difference`
        and the two models that are furthest apart.
        """
        values = self.predictions.to_numpy()
        apart = np.ptp(values, axis=1)
        rows = np.argsort(-apart, kind="stable")[:most]
        found = self.predictions.iloc[rows].copy()
        found.insert(0, "observed", self.observed[rows])
        found["difference"] = apart[rows]
        names = np.array(list(self.models), object)
        found["lowest"], found["highest"] = (
            names[values[rows].argmin(1)],
            names[values[rows].argmax(1)],
        )
        return found

    def terms(self, a: str, b: str) -> Comparison:
        """Return two of our models term by term, by their names on the page."""
        for name in (a, b):
            if name not in self.models:
                raise InputError(f"no model is called {name!r}; there are {list(self.models)}")
        return compare_terms(self.models[a], self.models[b], self.X)

    def sections(self) -> list[tuple[str, pd.DataFrame]]:
        """Return the tables of the page with their titles."""
        fifths: dict[str, dict[int, str]] = {name: {} for name in self.models}
        for model, part, predicted, observed in self.calibration().itertuples(index=False):
            fifths[model][part] = f"{predicted:.4g} / {observed:.4g}"
        called = "Calibration: predicted / observed means, in fifths of the rows by each prediction"
        return [
            ("Models", self.to_frame().round(DIGITS)),
            (called, pd.DataFrame(fifths).rename_axis("fifth")),
            ("Pairs", self.pairs().set_index(["a", "b"])),
            ("Rows with the largest disagreement", self.disagreements()),
        ]

    @property
    def title(self) -> str:
        """What is on the page."""
        return f"{len(self.models)} models on {len(self.observed)} rows: {self.predicted}"

    def __str__(self) -> str:
        parts = [self.title]
        for title, found in self.sections():
            parts += ["", title, found.to_string(float_format="{:.4g}".format, na_rep="-")]
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        from rpte.notebook.results import models_html

        return models_html(self)


def _rank_agreement(p: Floats, q: Floats) -> float | None:
    """Return Spearman's correlation of two predictions; None where one is the same for all rows."""
    if np.ptp(p) == 0.0 or np.ptp(q) == 0.0:
        return None
    return float(np.corrcoef(rankdata(p), rankdata(q))[0, 1])


def _named(models: Sequence[Any] | Mapping[str, Any]) -> dict[str, Any]:
    """Return models by name; those of a list are called by their class, with a number if needed."""
    if isinstance(models, Mapping):
        found = {str(name): model for name, model in models.items()}
    else:
        kinds = [type(getattr(each, "steps", [(0, each)])[-1][1]).__name__ for each in models]
        count = {kind: kinds.count(kind) for kind in kinds}
        numbers = [kinds[: place + 1].count(kind) for place, kind in enumerate(kinds)]
        called = [f"{k} {n}" if count[k] > 1 else k for k, n in zip(kinds, numbers, strict=True)]
        found = dict(zip(called, models, strict=True))
    if len(found) < 2:
        raise InputError(f"{len(found)} model to compare; give two or more")
    return found


def _on_one_page(
    models: dict[str, Any], X: Any, y: Any, sample_weight: Any, exposure: Any
) -> ModelsCompared:
    read = {name: _ours(each) for name, each in models.items()}
    models = {name: read[name] if read[name] is not None else models[name] for name in models}
    n_rows = len(as_array(y))
    target, weight = _target_of(models, y), read_weights(sample_weight, n_rows)
    observed = target.read(y, n_rows)
    kept: dict[str, dict[str, float | None]] = {}
    means: dict[str, Floats] = {}
    for name, model in models.items():
        if isinstance(target, Target):
            if exposure is not None:
                raise InputError("exposure is for models of numbers")
            score, means[name] = _probabilities(name, model, X, target, n_rows)
            found = measures(rank(observed, score, weight))
            kept[name] = {key: found[key] for key in OF_CLASSES}
        else:
            score, means[name] = _means(name, model, X, target, n_rows, exposure)
            found = number_measures(target, score, observed, weight, exposure)
            kept[name] = {key: found[key] for key in OF_NUMBERS}
    loads = {name: _load(model) for name, model in models.items()}
    index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(n_rows)
    predictions = pd.DataFrame(means, index=index)
    return ModelsCompared(
        target.response_text, models, X, observed, weight, predictions, kept, loads
    )


def _ours(given: Any) -> Model | None:
    """Return one of our models, None of any other; refuse what a page cannot hold."""
    if not isinstance(getattr(given, "model_", given), Model | ClassesModel):
        return None
    model = scored_model(given, "compare")
    if isinstance(model, Model) and isinstance(model.target, Target | NumberTarget):
        return model
    raise InputError(
        "a page compares models of two classes, or of numbers; compare two models of several "
        "classes, or of times, with compare(a, b, X)"
    )


def _target_of(models: dict[str, Any], y: Any) -> Target | NumberTarget:
    """Return what is predicted: as the first of ours has it, else as the targets suggest."""
    found = [model.target for model in models.values() if isinstance(model, Model)]
    ours = [each for each in found if isinstance(each, Target | NumberTarget)]
    if ours:
        if len({type(each) for each in ours}) > 1:
            raise InputError("some models are of two classes, others of a number")
        return ours[0]
    name = getattr(y, "name", None)
    if not any(hasattr(model, "predict_proba") for model in models.values()):
        return NumberTarget(SQUARED, 0.0, name)
    labels: list[Label] = np.unique(as_array(y)).tolist()
    if len(labels) != 2:
        raise InputError(f"y has {len(labels)} classes; a page compares models of two")
    return Target((labels[0], labels[1]), 1, 0.0, name)


def _probabilities(
    name: str, model: Any, X: Any, target: Target, n_rows: int
) -> tuple[Floats, Floats]:
    """Return log odds and probabilities of the positive class."""
    if isinstance(model, Model):
        if set(model.classes) != set(target.classes):
            raise InputError(f"{name} has the classes {list(model.classes)}, the first other ones")
        score = model.score(X) * (1.0 if model.target.outcome == target.outcome else -1.0)
        return score, target.loss.response(score)
    if hasattr(model, "predict_proba"):
        labels = list(model.classes_)
        if target.outcome not in labels or len(labels) != 2:
            raise InputError(f"{name} has the classes {labels}, not {list(target.classes)}")
        model = np.asarray(model.predict_proba(X))[:, labels.index(target.outcome)]
    p = _checked(name, model, n_rows)
    if not ((p >= 0.0) & (p <= 1.0)).all():
        raise InputError(f"{name} predicts {p.min():g} to {p.max():g}; probabilities are 0 to 1")
    inside = np.clip(p, CERTAIN, 1.0 - CERTAIN)
    return np.log(inside) - np.log1p(-inside), p


def _means(
    name: str, model: Any, X: Any, target: NumberTarget, n_rows: int, exposure: Any
) -> tuple[Floats, Floats]:
    """Return scores under the loss of the target, and means for the exposure of each row."""
    if isinstance(model, Model):
        rate = model.target.mean(model.score(X))
    else:
        is_array = isinstance(model, np.ndarray | pd.Series)
        rate = _checked(name, model if is_array else model.predict(X), n_rows)
    if target.is_linear:
        score = rate
    elif (rate > 0.0).all():
        score = np.log(rate)
    else:
        raise InputError(
            f"{name} predicts {rate.min():g}, and under the loss '{target.loss.name}' of the first "
            "of our models a mean is above 0; compare it with models of squared error"
        )
    return score, target.mean(score, exposure)


def _checked(name: str, found: Any, n_rows: int) -> Floats:
    """Return predictions (n_rows,), finite; refuse what is none."""
    if not isinstance(found, np.ndarray | pd.Series):
        raise InputError(
            f"{name} is a {type(found).__name__}; give a fitted model, or an array of predictions"
        )
    values = np.asarray(found, np.float64)
    if values.shape != (n_rows,) or not np.isfinite(values).all():
        raise InputError(f"{name} needs one finite prediction for each of {n_rows} rows")
    return values


def _load(model: Any) -> AuditLoad | None:
    """Return what there is to read in a model; None where its family has no rule."""
    try:
        return audit_load(model)
    except TypeError:
        return None
