"""Stability of structure: the whole fit again on resamples of the rows."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations, islice
from typing import Any

import numpy as np

from rpte.audit import metrics
from rpte.audit.class_metrics import class_measures
from rpte.audit.number_metrics import deviance_explained
from rpte.audit.survival_metrics import SurvivalRows, harrell
from rpte.errors import InputError
from rpte.figures.effect import Record
from rpte.losses.risk_sets import GROUPED
from rpte.model.classes import ClassesModel
from rpte.model.model import Model
from rpte.model.survival import SurvivalTarget
from rpte.model.target import NumberTarget
from rpte.report.cards import finite
from rpte.report.evidence import AnyModel, Evidence
from rpte.table.column import MISSING
from rpte.utils.arrays import Floats, Index

RARELY, OFTEN = 0.1, 0.2  # shares of refits from which on a variable, a pair is listed
MOST_PAIRS, MOST_ROWS = 12, 2000
OF_CLASSES = ("min_gain", "criterion", "lookahead", "conventions")  # settings


def stability(
    model: AnyModel,
    evidence: Evidence,
    refits: int,
    on_refit: Callable[[int], None] = lambda _: None,
) -> Record:
    """Fit the model again on bootstrap resamples, with the settings of its file.

    The training table says how stable this very model is. Returned are variables with the share of
    refits that use them, pairs that share a component, audit loads, the spread of each row's
    prediction (of a time, survival at the middle horizon), and the optimism (Harrell) of the AUC
    (of several classes their mean), of the deviance explained or of the concordance.
    """
    if evidence.y is None or evidence.labels is None:
        names = "--time and --event" if model.task == "survival" else "--target"
        raise InputError(f"--stability refits the model, which needs outcomes; name them: {names}")
    fitted: list[AnyModel] = []
    optimism: list[float] = []
    for weight in islice(_resamples(model, evidence.y, evidence.weight), refits):
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


def _resamples(model: AnyModel, y: Floats, weight: Floats) -> Iterator[Floats]:
    """Yield weights of rows drawn with replacement, of several classes rows of each."""
    if not isinstance(model, ClassesModel):
        yield from metrics.resampled(y, weight)
        return
    known = set(range(len(model.classes)))
    absent = known - set(y[weight > 0.0].astype(int).tolist())
    if absent:
        raise InputError(
            f"--stability refits the model, and the table has no row of the class "
            f"{model.classes[min(absent)]!r}; give rows of every class"
        )
    for drawn in metrics.resampled(y, weight):
        if set(y[drawn > 0.0].astype(int).tolist()) == known:
            yield drawn


def _refit(model: AnyModel, evidence: Evidence, weight: Floats) -> AnyModel:
    from rpte.estimators.classifier import RPTEClassifier
    from rpte.estimators.regressor import RPTERegressor
    from rpte.estimators.survival import RPTESurvival

    if evidence.seen is not None:
        seen = evidence.seen
        survival = RPTESurvival(**parameters(model))
        over: dict[str, Any] = {"entry": seen.entry, "strata": evidence.strata}
        y = seen.event, seen.time
        survival.fit(_frame(model, evidence), y, sample_weight=weight, **over)
        return survival.model_
    numbers = isinstance(model.target, NumberTarget)
    given = {"exposure": evidence.exposure, "offset": evidence.offset}
    beside: dict[str, Any] = given if numbers else {}
    estimator = (RPTERegressor if numbers else RPTEClassifier)(**parameters(model))
    estimator.fit(_frame(model, evidence), evidence.labels, sample_weight=weight, **beside)
    fitted: AnyModel = estimator.model_
    return fitted


def parameters(model: AnyModel) -> Record:
    """Return the parameters that give the model again; `cv` and `groups` are not in a file."""
    from rpte.columns.limits import Limits

    limits = dict(model.settings["limits"])
    if model.schema.named:  # what was excluded is not in the table any more
        limits["exclude"] = []
    special = [v for v in model.schema.variables if v.kind == "number" and v.levels]
    known = {key: value for key, value in model.settings.items() if key not in _left_out(model)}
    return {
        **known,
        "profile": "none",
        "limits": Limits(**limits),
        "special_values": {v.name: list(v.levels) for v in special},
        **_of_task(model),
    }


def _left_out(model: AnyModel) -> tuple[str, ...]:
    """Return the settings that are no parameters of the estimator, or read from elsewhere."""
    others = isinstance(model.target, NumberTarget | SurvivalTarget)
    return ("limits", *(OF_CLASSES if others else ()))


def _of_task(model: AnyModel) -> Record:
    """Return the parameters that an estimator of the task alone has."""
    if isinstance(model.target, SurvivalTarget):
        ties, grid = model.target.ties, model.target.grid
        more = {"intervals": list(grid)} if ties == GROUPED else {"ties": ties}
        return {"loss": model.loss.name, **more}
    if not isinstance(model.target, NumberTarget):
        factors = zip(model.classes, model.training["class_factors"], strict=True)
        if isinstance(model, ClassesModel):
            return {"class_weight": dict(factors)}
        return {"positive": model.classes[model.positive], "class_weight": dict(factors)}
    power = model.loss.to_dict().get("power")
    return {"loss": model.loss.name, **({} if power is None else {"power": power})}


def _frame(model: AnyModel, evidence: Evidence) -> Any:
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


def _optimism(fitted: AnyModel, evidence: Evidence, weight: Floats) -> float:
    """Return how much better a refit is on its own resample than on the rows themselves."""
    assert evidence.y is not None
    score = fitted.score(evidence.inputs)
    own, all_rows = (_quality(fitted, evidence, score, w) for w in (weight, evidence.weight))
    return float("nan") if own is None or all_rows is None else own - all_rows


def _quality(model: AnyModel, evidence: Evidence, score: Floats, weight: Floats) -> float | None:
    """Return the AUC, or the fraction of the deviance that is explained."""
    assert evidence.y is not None
    if isinstance(model, ClassesModel):
        return class_measures(score, evidence.y, weight)["auc"]
    if evidence.seen is not None:
        return harrell(SurvivalRows.of(evidence.seen, score, weight))
    if not isinstance(model.target, NumberTarget):
        return metrics.auc(metrics.rank(evidence.y, score, weight))
    plain = model.target.plain(evidence.y, weight, evidence.exposure, evidence.offset)
    return deviance_explained(model.loss, score, plain.y, plain.weight)


def _most_used(own: set[Any], others: list[set[Any]], least: float) -> dict[Any, Record]:
    """Return what the model or at least a share of the refits hold, most often first."""
    counts, refits = Counter(key for held in others for key in held), len(others)
    shown = {key for key, count in counts.items() if count >= least * refits} | own
    order = sorted(shown, key=lambda key: (-counts[key], key))
    return {key: {"in_model": key in own, "share": counts[key] / refits} for key in order}


def _pairs(model: AnyModel) -> set[tuple[str, str]]:
    return {pair for component in model.components for pair in combinations(component.sources, 2)}


def _spread(model: AnyModel, fitted: list[AnyModel], evidence: Evidence) -> Record:
    """Return how far the predictions of refits lie apart, by the model's own prediction.

    Of several classes, every probability of every row.
    """
    if isinstance(model, ClassesModel):
        return _spread_of_classes(model, fitted, evidence)
    score = model.score(evidence.inputs)
    order = np.argsort(score, kind="stable")
    kept = order[np.unique(np.linspace(0, len(order) - 1, MOST_ROWS).astype(int))]
    rows = evidence.inputs.take(kept)
    if isinstance(model.target, SurvivalTarget):
        return _spread_of_times(model, model.target, fitted, evidence, kept)
    table = np.array([model.loss.response(other.score(rows)) for other in fitted])
    return _in_groups(model, model.loss.response(score[kept]), table)


def _spread_of_times(
    model: Model,
    target: SurvivalTarget,
    fitted: list[AnyModel],
    evidence: Evidence,
    kept: Index,
) -> Record:
    """Return the spread of survival at the middle horizon, of rows by rising score."""
    horizon = np.array([min(target.horizons[len(target.horizons) // 2], target.end)])
    strata = None if evidence.strata is None else evidence.strata[kept]
    rows = evidence.inputs.take(kept)
    models = [model, *(other for other in fitted if isinstance(other, Model))]
    told = []
    for each in models:
        assert isinstance(each.target, SurvivalTarget)
        told.append(each.target.survival_at(each.score(rows), horizon, strata)[::-1, 0])
    found = _in_groups(model, told[0], np.array(told[1:]))
    return {**found, "horizon": target.when(float(horizon[0]))}


def _spread_of_classes(model: ClassesModel, fitted: list[AnyModel], evidence: Evidence) -> Record:
    n = evidence.inputs.n_rows
    some = evidence.inputs.take(np.unique(np.linspace(0, n - 1, MOST_ROWS).astype(int)))
    own = model.response(some).ravel()
    order = np.argsort(own, kind="stable")
    table = np.array([other.response(some).ravel()[order] for other in fitted])
    return _in_groups(model, own[order], table)


def _in_groups(model: AnyModel, own: Floats, table: Floats) -> Record:
    """Return means over groups of predictions, which stand in order: own, and 5% to 95% of refits.

    `table` is (refits, predictions).
    """
    low, high = np.quantile(table, [0.05, 0.95], axis=0)
    groups = np.array_split(np.arange(len(own)), min(20, len(own)))
    curves = {"p": own, "low": low, "high": high}
    return {
        "mean_sd": float(table.std(axis=0).mean()),
        **{key: [_rounded(float(y[g].mean()), model) for g in groups] for key, y in curves.items()},
    }


def _rounded(value: float, model: AnyModel) -> float:
    """Return a probability to four decimals, a mean to six digits."""
    numbers = isinstance(model.target, NumberTarget)
    return float(f"{value:.6g}") if numbers else round(value, 4)
