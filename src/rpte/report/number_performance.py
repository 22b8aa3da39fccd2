"""Performance of a model of numbers on a table: measures, bands of rows, double lift."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from rpte.audit import metrics
from rpte.audit.lift import as_predicted, band, double_lift, prediction_bands
from rpte.audit.metrics import Measures
from rpte.audit.number_metrics import RankedNumbers, lorenz, measured_numbers, rank_numbers
from rpte.figures.effect import Record
from rpte.model.model import Model
from rpte.model.target import NumberTarget
from rpte.report.cards import finite
from rpte.report.evidence import Evidence
from rpte.report.performance import LEAST, MOST_GROUPS, group_rows, number_bands
from rpte.table.column import UNSEEN
from rpte.table.inputs import Inputs
from rpte.utils.arrays import Array, Index

# Formulas in words, as the page prints them; y, unit and loss are filled in.
MEASURES = {
    "deviance_explained": (
        "Deviance explained",
        "1 - {loss} deviance of the model / that of the mean alone; 0: no better than the mean, "
        "1: perfect",
    ),
    "r2": (
        "R2",
        "1 - sum of squared errors / sum of squared distances of {y} from its mean; 0: no better "
        "than the mean, 1: perfect",
    ),
    "deviance": ("Mean deviance", "{loss} deviance of a row, weighted mean; lower is better"),
    "mae": ("Mean absolute error", "mean of |{y} - prediction| over rows, in units of {y}"),
    "rmse": (
        "Root mean squared error",
        "root of the mean of ({y} - prediction)², in units of {y}",
    ),
    "observed": ("Observed mean", "sum of {y} / {base}"),
    "expected": ("Predicted mean", "sum of predictions / {base}"),
    "calibration_ratio": (
        "Calibration ratio",
        "sum of predictions / sum of {y}; 1 is right, above 1 the model predicts too much",
    ),
    "calibration_slope": (
        "Calibration slope",
        "coefficient of the score in a fit of {y} on the score alone; 1 is ideal, below 1 "
        "predictions are too extreme",
    ),
    "gini": (
        "Gini index",
        "rows in order of their predicted mean: 1 - twice the area under the share of {y} over the "
        "share of {counted}; 0: the order says nothing",
    ),
    "gini_normalised": (
        "Normalised Gini index",
        "Gini index / that of the rows in order of {y} itself, which no order exceeds",
    ),
}
LOSS_NAMES = {
    "squared_error": "squared error", "poisson": "Poisson", "gamma": "gamma", "tweedie": "Tweedie",
}  # fmt: skip
Shown = Mapping[str, tuple[str, str]]  # names and formulas, by key
Statistic = Callable[[RankedNumbers, Iterable[str]], Measures]
Interval = list[float | None]  # value, 2.5% and 97.5% points
GROUP_KEYS = ("calibration_ratio", "deviance_explained", "gini")
COMPARED = ("deviance_explained", "r2", "gini", "calibration_ratio", "mae", "rmse")
GRID = np.linspace(0.0, 1.0, 101)
HISTOGRAM = 20
VARIABLE_BANDS = 8
MOST_UNREAD = 12  # variables that the model does not read, those with the largest residuals
UNKNOWN = "not in training"


def rows_of(model: Model, evidence: Evidence, inside: Index | slice = slice(None)) -> RankedNumbers:
    """Return rows of a table in the order of what a model of numbers predicts of them."""
    assert evidence.y is not None
    assert isinstance(model.target, NumberTarget)
    given = evidence.y, evidence.weight, evidence.exposure, evidence.offset
    some = [None if values is None else values[inside] for values in given]
    score = model.score(evidence.inputs.take(inside))
    return rank_numbers(model.target, score, *some)  # type: ignore[arg-type]


def number_performance(model: Model, evidence: Evidence, resamples: int) -> Record | None:
    """Return everything that is measured on the whole table; None without outcomes."""
    if evidence.y is None:
        return None
    rows = rows_of(model, evidence)
    shown = _names(rows.target, evidence)
    return {
        "rows": int((rows.weight > 0.0).sum()),
        "weight": float(rows.weight.sum()),
        "exposure": None if evidence.exposure is None else float(rows.amount.sum()),
        "total": float((rows.weight * rows.y).sum()),
        "training": evidence.training,
        "resamples": resamples,
        "constant": not _varies(rows),
        "negative": bool((rows.y < 0.0).any()),
        **_words(rows.target, evidence),
        "measures": _measures(rows, resamples, shown),
        "bands": [_lifted(rows, inside) for inside in prediction_bands(rows)],
        "lorenz": _lorenz(rows),
        "histogram": _histogram(rows),
        "variables": by_variable(model, evidence.inputs, rows),
        "unread_more": len(model.schema) - len(model.sources) > MOST_UNREAD,
        "against": [
            _against(rows, as_predicted(rows, name, mean), name, resamples, shown)
            for name, mean in evidence.against.items()
        ],
    }


def _varies(rows: RankedNumbers) -> bool:
    return rows.target.loss.varies(rows.y[rows.weight > 0.0])


def _with_ends(
    keys: Sequence[str], statistic: Statistic, rows: RankedNumbers, n: int
) -> dict[str, Interval]:
    """Return each of some measures with its interval over so many resamples, where there is one."""
    found = statistic(rows, keys)

    def values(sample: RankedNumbers) -> list[float | None]:
        return list(statistic(sample, keys).values())

    none = np.full(len(keys), np.nan)
    ends = metrics.bootstrap(rows, values, n) if _varies(rows) else (none, none)
    return {
        key: [None if v is None else finite(v) for v in (found[key], low, high)]
        for key, low, high in zip(keys, *ends, strict=True)
    }


def _words(target: NumberTarget, evidence: Evidence) -> dict[str, str]:
    """Return what bands count, what means are sums over, and what the share explained is called."""
    exposure = target.exposure or "exposure"
    counted = exposure if evidence.exposure is not None else "rows"
    if evidence.exposure is None and (evidence.weight != 1.0).any():
        counted = "weight"
    base = "number of rows" if counted == "rows" else f"sum of {counted}"
    explained = MEASURES["r2" if target.is_linear else "deviance_explained"][0]
    equal = "about equally many rows" if counted == "rows" else f"about equal {counted}"
    return {"counted": counted, "equal": equal, "base": base, "explained": explained}


def _names(target: NumberTarget, evidence: Evidence) -> Shown:
    """Return names and formulas of the measures; of squared error R2 is what is explained."""
    words = _words(target, evidence) | {"y": target.outcome}
    words["loss"] = LOSS_NAMES[target.loss.name]
    dropped = {"deviance"} if target.is_linear else set()
    if target.is_linear and evidence.offset is None:
        dropped.add("deviance_explained")
    return {
        key: (name, said.format(**words))
        for key, (name, said) in MEASURES.items()
        if key not in dropped
    }


def _measures(rows: RankedNumbers, resamples: int, shown: Shown) -> list[Record]:
    """Return each measure that is shown with its words and its interval."""
    found = _with_ends(list(shown), measured_numbers, rows, resamples)
    return [
        {"key": key, "name": name, "meaning": meaning, **_named(found[key])}
        for key, (name, meaning) in shown.items()
    ]


def _named(interval: Interval) -> Record:
    return dict(zip(("value", "low", "high"), interval, strict=True))


def _lifted(rows: RankedNumbers, inside: Index) -> Record:
    """Return a band of predictions; its lift is over the observed mean of all rows."""
    found = band(rows, inside)
    whole = float((rows.weight * rows.y).sum() / rows.amount.sum())
    return {**found, "lift": found["observed"] / whole if whole and found["rows"] else None}


def _lorenz(rows: RankedNumbers) -> Record | None:
    held = lorenz(rows, GRID)
    if held is None:
        return None
    return {"x": GRID.round(4).tolist(), "y": held.round(6).tolist()}


def _histogram(rows: RankedNumbers) -> Record:
    """Return how much exposure has which prediction; the outer hundredths are left out."""
    rate, amount = rows.rate[rows.order], rows.amount[rows.order]
    below = np.cumsum(amount) / amount.sum()
    last = len(rate) - 1
    low, high = (float(rate[min(int(np.searchsorted(below, q)), last)]) for q in (0.01, 0.99))
    if not low < high:
        return {"low": low, "high": high, "shares": [1.0]}
    inside = (rate >= low) & (rate <= high)
    shares, _ = np.histogram(rate[inside], HISTOGRAM, (low, high), weights=amount[inside])
    return {"low": low, "high": high, "shares": (shares / amount.sum()).round(6).tolist()}


def by_variable(model: Model, inputs: Inputs, rows: RankedNumbers) -> list[Record]:
    """Return observed and predicted means along each variable, those that the model reads first.

    Of the others the ones with the largest residuals are returned. Groups of few rows are not
    measured.
    """
    names = [name for name in inputs.schema.names if name in model.sources]
    beside = [name for name in inputs.schema.names if name not in model.sources]
    read = [_variable(inputs, name, rows, True) for name in names]
    others = [_variable(inputs, name, rows, False) for name in beside]
    told = [found for found in others if len(found["groups"]) > 1]  # not all missing
    strongest = sorted(told, key=lambda found: (-found["residual"], found["name"]))
    return [*read, *strongest[:MOST_UNREAD]]


def _variable(inputs: Inputs, name: str, rows: RankedNumbers, read: bool) -> Record:
    groups = []
    for group, inside in variable_groups(inputs, name):
        found = band(rows, inside)
        if 0 < found["rows"] < LEAST:
            found = {"rows": found["rows"], "exposure": found["exposure"]}
        if found["rows"]:
            groups.append({"group": group, **found})
    known = [g for g in groups if "observed" in g]
    weight = np.array([g["exposure"] for g in known])
    apart = np.array([g["residual"] for g in known])
    size = float(np.sqrt((weight * apart**2).sum() / weight.sum())) if len(known) else 0.0
    return {"name": name, "read": read, "residual": size, "groups": groups}


def variable_groups(inputs: Inputs, name: str) -> list[tuple[str, Index]]:
    """Return the rows of each level, or of bands of a number, of special codes and of gaps."""
    variable = inputs.schema[name]
    found = number_bands(inputs[name], VARIABLE_BANDS) if variable.kind == "number" else []
    if variable.levels:
        found += _levels(variable.levels, inputs.codes(name))
    gone = np.flatnonzero(inputs.is_missing(name))
    return [*found, ("missing", gone)] if len(gone) else found


def _levels(levels: tuple[str, ...], codes: Array) -> list[tuple[str, Index]]:
    """Return the rows of the most frequent levels, of all other ones, and of unknown ones."""
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    most = MOST_GROUPS if len(levels) > MOST_GROUPS + 1 else len(levels)  # one is not "all other"
    kept = np.sort(np.argsort(-counts, kind="stable")[:most])
    found = [(str(levels[code]), np.flatnonzero(codes == code)) for code in kept]
    rest = np.flatnonzero((codes >= 0) & ~np.isin(codes, kept))
    found += [(f"all other ({len(levels) - len(kept)})", rest)] if len(rest) else []
    strange = np.flatnonzero(codes == UNSEEN)
    return [*found, (UNKNOWN, strange)] if len(strange) else found


def _against(
    rows: RankedNumbers, other: RankedNumbers, name: str, resamples: int, shown: Shown
) -> Record:
    """Return a double lift, and the measures of both with an interval of their difference."""
    keys = [key for key in COMPARED if key in shown]

    def difference(sample: RankedNumbers, names: Iterable[str]) -> Measures:
        resampled = replace(other, weight=sample.weight)
        ours, theirs = (measured_numbers(each, names) for each in (sample, resampled))
        return {name: _less(ours[name], theirs[name]) for name in names}

    ours, theirs = (measured_numbers(each, keys) for each in (rows, other))
    apart = _with_ends(keys, difference, rows, resamples)
    measures = [
        {"key": key, "name": shown[key][0], "own": ours[key], "other": theirs[key]}
        | _named(apart[key])
        for key in keys
    ]
    return {"name": name, **double_lift(rows, other), "measures": measures}


def _less(value: float | None, other: float | None) -> float | None:
    return None if value is None or other is None else value - other


def number_groups(model: Model, evidence: Evidence, resamples: int) -> list[Record]:
    """Return performance within the groups of each column named."""
    if evidence.y is None:
        return []
    return [
        {
            "column": name,
            "in_model": name in model.sources,
            "groups": [
                _group(model, evidence, group, inside, resamples)
                for group, inside in group_rows(values)
            ],
        }
        for name, values in evidence.groups.items()
    ]


def _group(model: Model, evidence: Evidence, name: str, inside: Index, resamples: int) -> Record:
    rows = rows_of(model, evidence, inside)
    found = {"group": name, **band(rows, np.arange(len(inside)))}
    if found["rows"] < LEAST:
        return {key: found[key] for key in ("group", "rows", "exposure")}
    return found | _with_ends(GROUP_KEYS, measured_numbers, rows, resamples)
