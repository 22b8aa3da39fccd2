"""Stability of structure: the whole fit again on resamples of the rows."""

from collections import Counter
from collections.abc import Callable
from itertools import combinations, islice
from typing import Any

import numpy as np

from rpte.audit import metrics
from rpte.errors import InputError
from rpte.losses import BINOMIAL
from rpte.model.model import Model
from rpte.report.cards import finite
from rpte.report.curves import Record
from rpte.report.evidence import Evidence
from rpte.table.column import MISSING
from rpte.utils.arrays import Floats

RARELY, OFTEN = 0.1, 0.2  # shares of refits from which on a variable, a pair is listed
MOST_PAIRS, MOST_ROWS = 12, 2000


def stability(
    model: Model, evidence: Evidence, refits: int, on_refit: Callable[[int], None] = lambda _: None
) -> Record:
    """Fit the model again on bootstrap resamples, with the settings of its file.

    The training table says how stable this very model is. Returned are variables with the share of
    refits that use them, pairs that share a component, audit loads, the spread of each row's
    probability, and the optimism of the AUC (Harrell).
    """
    if evidence.y is None or evidence.labels is None:
        raise InputError("--stability refits the model, which needs outcomes; name them: --target")
    fitted: list[Model] = []
    optimism: list[float] = []
    for weight in islice(metrics.resampled(evidence.y, evidence.weight), refits):
        fitted.append(_refit(model, evidence, weight))
        optimism.append(_optimism(fitted[-1], evidence, weight))
        on_refit(len(fitted))
    variables = _most_used(set(model.sources), [set(m.sources) for m in fitted], RARELY)
    pairs = _most_used(_pairs(model), [_pairs(m) for m in fitted], OFTEN)
    together = [{"names": list(pair), **record} for pair, record in pairs.items()]
    return {
        "refits": refits,
        "training": evidence.training,
        "variables": [{"name": name, **record} for name, record in variables.items()],
        "together": together[:MOST_PAIRS],
        "miu": sorted(other.audit().miu for other in fitted),
        "trees": sorted(sum(len(c.trees) for c in other.components) for other in fitted),
        "spread": _spread(model, fitted, evidence),
        "optimism": finite(float(np.nanmean(optimism))) if optimism else None,
    }


def _refit(model: Model, evidence: Evidence, weight: Floats) -> Model:
    from rpte.estimators.classifier import RPTEClassifier

    estimator = RPTEClassifier(**parameters(model))
    estimator.fit(_frame(model, evidence), evidence.labels, sample_weight=weight)
    return estimator.model_


def parameters(model: Model) -> Record:
    """Return the parameters that give the model again; `cv` and `groups` are not in a file."""
    from rpte.columns.limits import Limits

    limits = dict(model.settings["limits"])
    if model.schema.named:  # what was excluded is not in the table any more
        limits["exclude"] = []
    special = [v for v in model.schema.variables if v.kind == "number" and v.levels]
    return {
        **{key: value for key, value in model.settings.items() if key != "limits"},
        "profile": "none",
        "limits": Limits(**limits),
        "positive": model.classes[model.positive],
        "class_weight": dict(zip(model.classes, model.training["class_factors"], strict=True)),
        "special_values": {v.name: list(v.levels) for v in special},
    }


def _frame(model: Model, evidence: Evidence) -> Any:
    """Return the rows as a data frame whose categories are declared, an array if they were one."""
    import pandas as pd

    columns: Record = {}
    for variable in model.schema.variables:
        cells = evidence.inputs[variable.name]
        if variable.kind == "category":
            codes = np.maximum(cells, MISSING)
            columns[variable.name] = pd.Categorical.from_codes(codes, pd.Index(variable.levels))
        elif variable.levels:
            codes = evidence.inputs.codes(variable.name)
            names = np.array([*variable.levels, None], object)
            columns[variable.name] = np.where(codes >= 0, names[codes], cells.astype(object))
        else:
            columns[variable.name] = cells
    frame = pd.DataFrame(columns)
    return frame if model.schema.named else frame.to_numpy()


def _optimism(fitted: Model, evidence: Evidence, weight: Floats) -> float:
    """Return how much better a refit is on its own resample than on the rows themselves."""
    assert evidence.y is not None
    score = fitted.score(evidence.inputs)
    weights = (weight, evidence.weight)
    own, all_rows = (metrics.auc(metrics.rank(evidence.y, score, w)) for w in weights)
    return float("nan") if own is None or all_rows is None else own - all_rows


def _most_used(own: set[Any], others: list[set[Any]], least: float) -> dict[Any, Record]:
    """Return what the model or at least a share of the refits hold, most often first."""
    counts, refits = Counter(key for held in others for key in held), len(others)
    shown = {key for key, count in counts.items() if count >= least * refits} | own
    order = sorted(shown, key=lambda key: (-counts[key], key))
    return {key: {"in_model": key in own, "share": counts[key] / refits} for key in order}


def _pairs(model: Model) -> set[tuple[str, str]]:
    return {pair for component in model.components for pair in combinations(component.sources, 2)}


def _spread(model: Model, fitted: list[Model], evidence: Evidence) -> Record:
    """Return how far the probabilities of refits lie apart, by the model's own probability."""
    score = model.score(evidence.inputs)
    order = np.argsort(score, kind="stable")
    kept = order[np.unique(np.linspace(0, len(order) - 1, MOST_ROWS).astype(int))]
    rows = evidence.inputs.take(kept)
    table = np.array([BINOMIAL.response(other.score(rows)) for other in fitted])
    low, high = np.quantile(table, [0.05, 0.95], axis=0)
    groups = np.array_split(np.arange(len(kept)), min(20, len(kept)))
    curves = {"p": BINOMIAL.response(score[kept]), "low": low, "high": high}
    return {
        "mean_sd": float(table.std(axis=0).mean()),
        **{key: [round(float(y[g].mean()), 4) for g in groups] for key, y in curves.items()},
    }
