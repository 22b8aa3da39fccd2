"""The columns that a scikit-learn Pipeline makes: the variable each comes from, and how it counts.

Only transformers on a list are followed, because a step that mixes columns would make a condition
read more raw variables than it seems to; everything else is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rpte.columns.units import fitted, level_set_conditions
from rpte.utils.arrays import Array, Ints, Mask


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table that a pipeline made; arrays of shape (n_columns,)."""

    source: Ints  # position of the raw variable that each column comes from
    conditions: Ints  # of one test on it: 1, more for a set of many levels
    slope: Mask  # it says something in every row, not only where it is not zero

    @staticmethod
    def raw(n_columns: int) -> Columns:
        """Describe a table as it came."""
        ones = np.ones(n_columns, dtype=np.int64)
        return Columns(np.arange(n_columns), ones, ones.astype(bool))

    def __len__(self) -> int:
        return len(self.source)

    def take(self, which: ArrayLike) -> Columns:
        """Select columns by position or mask."""
        index = np.asarray(which)
        if index.size == 0:  # an empty list has no integer dtype to index with
            index = index.astype(np.int64)
        return Columns(self.source[index], self.conditions[index], self.slope[index])

    def with_slope(self, slope: bool) -> Columns:
        """Say of all columns whether they are slopes."""
        return Columns(self.source, self.conditions, np.full(len(self), slope))


def conditions_of(columns: Columns | None, index: ArrayLike) -> Ints:
    """Count the conditions of one test on each of the columns `index`; 1 in a table as it came."""
    positions = np.asarray(index, dtype=np.int64)
    return np.ones_like(positions) if columns is None else columns.conditions[positions]


def concatenate(parts: Sequence[Columns]) -> Columns:
    """Put columns side by side."""
    every = [(p.source, p.conditions, p.slope) for p in (Columns.raw(0), *parts)]
    return Columns(*(np.concatenate(same) for same in zip(*every, strict=True)))


def unfold(model: Any, X: Any | None, columns: Columns | None) -> tuple[Any, Any | None, Columns]:
    """Return a fitted Pipeline's final model, rows and columns; `columns` are those it is given."""
    if columns is None:
        columns = Columns.raw(fitted(model, "n_features_in_"))
    for name, step in model.steps[:-1]:
        columns = follow(step, name, columns)
    if X is not None and len(model.steps) > 1:
        X = model[:-1].transform(X)
    final = model.steps[-1][1]
    taken = getattr(final, "n_features_in_", len(columns))
    if taken != len(columns):
        raise TypeError(
            f"the steps make {len(columns)} columns by their fitted attributes, but "
            f"{type(final).__qualname__} was fitted on {taken}; a step cannot be followed, so "
            "count the final model alone on its own columns"
        )
    return final, X, columns


def follow(step: Any, name: str, columns: Columns) -> Columns:
    """Describe the columns after a fitted step of this name, or "passthrough", "drop" or None."""
    if step is None or (isinstance(step, str) and step == "passthrough"):
        return columns
    if isinstance(step, str) and step == "drop":
        return columns.take([])
    for cls in type(step).__mro__:
        rule = RULES.get(f"{cls.__module__.split('._')[0]}.{cls.__name__}")
        if rule is not None:
            return rule(step, name, columns)
    raise refusal(step, name, "is not known to treat every column by itself")


def refusal(step: Any, name: str, why: str) -> TypeError:
    """Make the error for a step that cannot be followed."""
    return TypeError(
        f"step {name!r} ({type(step).__qualname__}) {why}, so its columns cannot be "
        "counted by raw variable; use column-wise steps (one-hot or ordinal encoding, simple "
        "imputation, scaling, selection), or count the final model alone on its own columns"
    )


def _to_slopes(step: Any, name: str, columns: Columns) -> Columns:
    """Make slopes: every value may have become non-zero."""
    return columns.with_slope(True)


def _scaler(step: Any, name: str, columns: Columns) -> Columns:
    """Follow a scaler: without centring, a zero stays zero and an indicator an indicator."""
    centred = getattr(step, "with_mean", False) or getattr(step, "with_centering", False)
    return columns.with_slope(True) if centred else columns


def _function(step: Any, name: str, columns: Columns) -> Columns:
    """Follow a function only if it is numpy's own, element by element."""
    if step.func is None:
        return columns
    if isinstance(step.func, np.ufunc) and step.func.nin == step.func.nout == 1:
        return columns.with_slope(True)
    raise refusal(step, name, f"calls {step.func!r}, which may mix columns")


def _selected(step: Any, name: str, columns: Columns) -> Columns:
    return columns.take(step.get_support())


def _imputer(step: Any, name: str, columns: Columns) -> Columns:
    """Follow an imputer: it drops columns without any value, and may append missing flags."""
    kept = columns
    if not step.keep_empty_features:
        # scikit-learn marks a column without any value by a statistic of NaN, which is not itself.
        kept = columns.take([statistic == statistic for statistic in step.statistics_])
    if step.indicator_ is None:
        return kept
    return concatenate([kept, _missing_flags(step.indicator_, name, columns)])


def _missing_flags(step: Any, name: str, columns: Columns) -> Columns:
    return columns.take(step.features_).with_slope(False)


def _target_encoder(step: Any, name: str, columns: Columns) -> Columns:
    """Follow a target encoder: one column per variable, and per class where there are several."""
    repeats = len(step.classes_) if step.target_type_ == "multiclass" else 1
    return columns.take(np.repeat(np.arange(len(columns)), repeats)).with_slope(True)


def _bins(step: Any, name: str, columns: Columns) -> Columns:
    """Follow a discretizer: a code per variable, or an indicator per interval."""
    if step.encode == "ordinal":
        return columns.with_slope(True)
    return columns.take(np.repeat(np.arange(len(columns)), step.n_bins_)).with_slope(False)


def _one_hot(step: Any, name: str, columns: Columns) -> Columns:
    """Follow a one-hot encoder: an indicator per level, one for the set of infrequent levels."""
    none = [None] * len(step.categories_)
    infrequent = getattr(step, "infrequent_categories_", none)
    dropped = none if step.drop_idx_ is None else step.drop_idx_
    counts = [
        _level_conditions(*variable)
        for variable in zip(step.categories_, infrequent, dropped, strict=True)
    ]
    source = np.repeat(columns.source, [len(c) for c in counts])
    conditions = np.asarray(list(chain.from_iterable(counts)), dtype=np.int64)
    return Columns(source, conditions, np.zeros(len(source), dtype=bool))


def _level_conditions(levels: Array, infrequent: Array | None, dropped: int | None) -> list[int]:
    """Conditions of the indicator columns of one variable, the infrequent set last."""
    n_rare = 0 if infrequent is None else len(infrequent)
    conditions = [1] * (len(levels) - n_rare)
    if n_rare:
        conditions.append(level_set_conditions(n_rare, len(levels)))
    if dropped is not None:
        rare = infrequent is not None and levels[dropped] in infrequent
        conditions.pop(-1 if rare else 0)
    return conditions


def _column_transformer(step: Any, name: str, columns: Columns) -> Columns:
    """Follow each part of a ColumnTransformer on its own columns, in the order of the output."""
    inputs = step._transformer_to_input_indices
    parts = []
    for part_name, part, _ in step.transformers_:
        where = step.output_indices_[part_name]
        if where.stop > where.start:
            found = follow(part, f"{name}.{part_name}", columns.take(inputs[part_name]))
            parts.append((where.start, found))
    return concatenate([found for _, found in sorted(parts, key=lambda part: part[0])])


def _union(step: Any, name: str, columns: Columns) -> Columns:
    return concatenate([follow(t, f"{name}.{key}", columns) for key, t in step.transformer_list])


def _steps(step: Any, name: str, columns: Columns) -> Columns:
    """Follow a pipeline of transformers."""
    for step_name, part in step.steps:
        columns = follow(part, f"{name}.{step_name}", columns)
    return columns


Rule = Callable[[Any, str, Columns], Columns]

# Keyed by public package and class; a class found here vouches for its subclasses.
RULES: dict[str, Rule] = {
    "sklearn.compose.ColumnTransformer": _column_transformer,
    "sklearn.feature_selection.SelectorMixin": _selected,
    "sklearn.impute.MissingIndicator": _missing_flags,
    "sklearn.impute.SimpleImputer": _imputer,
    "sklearn.pipeline.FeatureUnion": _union,
    "sklearn.pipeline.Pipeline": _steps,
    "sklearn.preprocessing.Binarizer": lambda step, name, columns: columns.with_slope(False),
    "sklearn.preprocessing.FunctionTransformer": _function,
    "sklearn.preprocessing.KBinsDiscretizer": _bins,
    # A zero stays zero.
    "sklearn.preprocessing.MaxAbsScaler": lambda step, name, columns: columns,
    "sklearn.preprocessing.MinMaxScaler": _to_slopes,
    "sklearn.preprocessing.OneHotEncoder": _one_hot,
    "sklearn.preprocessing.OrdinalEncoder": _to_slopes,
    "sklearn.preprocessing.PowerTransformer": _to_slopes,
    "sklearn.preprocessing.QuantileTransformer": _to_slopes,
    "sklearn.preprocessing.RobustScaler": _scaler,
    "sklearn.preprocessing.StandardScaler": _scaler,
    "sklearn.preprocessing.TargetEncoder": _target_encoder,
}
