"""Checks that what scores a case follows from the training table, for cases that it does not hold.

Supports and optimality say what the model does with the training rows. Where a threshold stands
between two of them, which side a missing cell takes that none of them has, what a level counts as
that none of them shows: these decide other cases, and are derived again here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rpte.model.check import Check, checked
from rpte.model.derivation import Grounds
from rpte.model.ledger import DERIVED, UNMET_MISSING, withdrawn
from rpte.model.parts import DirectTerm, TreeTerms
from rpte.model.verify_stage2 import stage2_checks
from rpte.model.verify_structure import direct_of, trees_of
from rpte.structure.gaps import largest_copy, pair_gap
from rpte.structure.tree import Branch, Split
from rpte.table.decimals import thresholds_between
from rpte.table.table import Table
from rpte.vocabulary.columns import Column, Interval, Level, Missing, Pair

if TYPE_CHECKING:
    from rpte.model.model import Model

Floats = NDArray[np.float64]
Places = NDArray[np.intp]
ROUNDING = 1e-9


def derived_checks(model: Model, table: Table) -> list[Check]:
    """Return the checks of this file.

    Parameters
    ----------
    model : Model
    table : Table
        The training rows under the model's schema, equal ones merged.
    """
    gone = withdrawn(model)
    if UNMET_MISSING in gone or DERIVED in gone:  # estimated again on another table
        return []
    sample = model.training["validation"].get("learned_from_rows")
    grounds = Grounds(table, model.settings, sample is not None)
    tests = [(tree, *test) for tree in trees_of(model) for test in _tests(tree, grounds)]
    checks = [variables(model, table), unmet_missing(grounds, tests)]
    if sample is not None:
        return [*checks, _not_derived(sample)]
    checks.append(derived_numbers(model, grounds, tests))
    return [*checks, *stage2_checks(model, table)]


def _not_derived(sample: int) -> Check:
    evidence = (
        f"{DERIVED}: the terms were found on a sample of {sample} distinct rows; between which "
        "training values they stand is proved by supports and optimality, not where between them"
    )
    return Check("not checked", True, evidence)


def variables(model: Model, table: Table) -> Check:
    """Variables had gaps where the schema says so, and every level of a category had cases."""
    faults = []
    for variable in model.schema.variables:
        found = bool(table.inputs.is_missing(variable.name).any())
        if found != variable.has_missing:
            word = "has" if found else "has no"
            faults.append(f"{variable.name} {word} missing cells")
        if variable.kind == "category":
            seen = np.bincount(np.maximum(table.inputs.codes(variable.name), -1) + 1)
            empty = [name for k, name in enumerate(variable.levels, 1) if not seen[k : k + 1].any()]
            faults += [f"{variable.name} is never {name}" for name in empty[:1]]
    return checked("variables and levels", faults, f"{len(model.schema)} variables")


def _tests(tree: TreeTerms, grounds: Grounds) -> Iterator[tuple[Split, Places, Places]]:
    """Yield every test of a tree with the training rows on both sides of it."""
    stack: list[tuple[Branch | int, Places]] = [(tree.tree.root, np.arange(grounds.table.n_rows))]
    while stack:
        node, inside = stack.pop()
        if isinstance(node, Branch):
            holds = _holds(node.split, grounds)[inside]
            yes, no = inside[holds], inside[~holds]
            stack += [(node.no, no), (node.yes, yes)]
            yield node.split, yes, no


def _holds(split: Split, grounds: Grounds) -> NDArray[np.bool_]:
    cells = grounds.cells(split.column)
    if split.threshold is None:
        return cells > 0.0
    return ~(cells > split.threshold) if split.missing_holds else cells <= split.threshold


Test = tuple[TreeTerms, Split, Places, Places]


def unmet_missing(grounds: Grounds, tests: list[Test]) -> Check:
    """A test that met no missing value sends missing (and a level never seen) to the heavier side.

    The published configuration fills in the centre of the column instead.
    """
    faults: list[str] = []
    looked = 0
    for tree, split, yes, no in tests:
        wanted = _missing_side(grounds, split, yes, no)
        if wanted is None:
            continue
        looked += 1
        if wanted != split.missing_holds:
            faults.append(f"{tree.name} sends missing {split.column.text} to the wrong side")
    rule = "that of the column's centre" if grounds.paper else "the heavier side"
    return checked(UNMET_MISSING, faults, f"{looked} tests met none and send it to {rule}")


def _missing_side(grounds: Grounds, split: Split, yes: Places, no: Places) -> bool | None:
    """Return whether missing has to be on the yes side; None where the table does not say."""
    if split.threshold is None and not _is_level_set(split.column, grounds):
        return None
    if grounds.paper:
        return (
            None
            if grounds.is_root(split.column)
            else grounds.centre(split.column) <= (split.threshold or 0.0)
        )
    rows = np.concatenate([yes, no])
    if split.threshold is None:
        met = grounds.table.inputs.is_missing(split.column.sources[0])[rows]
    else:
        met = np.isnan(grounds.cells(split.column)[rows])
    return None if met.any() else _heavier(grounds, split, yes, no)


def _heavier(grounds: Grounds, split: Split, yes: Places, no: Places) -> bool | None:
    """Tell whether the yes side is heavier; of equal sides a threshold takes this one."""
    weight = grounds.table.weight
    sides = float(weight[yes].sum()), float(weight[no].sum())
    if abs(sides[0] - sides[1]) > ROUNDING * (1.0 + sum(sides)):
        return sides[0] > sides[1]
    whole = bool((weight == np.rint(weight)).all())
    return True if whole and split.threshold is not None and not grounds.sampled else None


def _is_level_set(column: Column, grounds: Grounds) -> bool:
    """Tell whether a test is on a category as a whole; then levels not listed go with missing."""
    return (
        isinstance(column, Level)
        and not grounds.paper
        and grounds.table.schema[column.source].kind == "category"
    )


def derived_numbers(model: Model, grounds: Grounds, tests: list[Test]) -> Check:
    """Thresholds, sets of levels, knots, edges, centres and scales follow from the table."""
    faults = [
        f"{tree.name} tests {split.column.text}{fault}"
        for tree, split, yes, no in tests
        for fault in _test_faults(grounds, split, yes, no)
    ]
    for term in direct_of(model):
        faults += [f"{term.name}, {term.text}: {fault}" for fault in _term_faults(grounds, term)]
    evidence = (
        f"{len(tests)} tests, each between neighbouring training values, and "
        f"{len(direct_of(model))} direct terms"
    )
    return checked(DERIVED, faults, evidence)


def _test_faults(grounds: Grounds, split: Split, yes: Places, no: Places) -> Iterator[str]:
    if not len(yes) or not len(no):
        yield ", which no training row passes" if len(no) else ", which every training row passes"
        return
    if split.threshold is None:
        if not _is_test(grounds, split.column, yes, no):
            yield ", which is no test that the table offers"
        return
    if not grounds.offers(split.column) and not grounds.is_root(split.column):
        yield ", which is no column that the table offers"
    codings = _codings(grounds, split)
    allowed = [t for filled in codings for t in _thresholds(grounds, split, filled, yes, no)]
    if split.threshold not in allowed:
        yield f" against {split.threshold!r}; between the training values stands {allowed[:1]}"


def _is_test(grounds: Grounds, column: Column, yes: Places, no: Places) -> bool:
    """Tell whether a tree may test a 0/1 column in a node."""
    special = bool(grounds.table.schema[column.sources[0]].levels)
    number = grounds.table.schema[column.sources[0]].kind == "number"
    if isinstance(column, Interval) and column.unbounded:
        return special and not grounds.paper
    if isinstance(column, Missing):
        return not (number and (special or grounds.paper))
    if not _is_level_set(column, grounds):
        return grounds.offers(column)
    # Levels that the node never met go with missing, so none of them is listed.
    assert isinstance(column, Level)
    codes = grounds.table.inputs.codes(column.source)
    listed = np.unique(codes[yes])
    return len(listed) == len(column.levels) and bool((codes[no] >= 0).any())


def _codings(grounds: Grounds, split: Split) -> list[bool]:
    """Return how a column may have been coded; pairs of lookahead are never filled."""
    if not grounds.paper:
        return [False]
    return [True, False] if grounds.is_root(split.column) else [True]


def _thresholds(
    grounds: Grounds, split: Split, filled: bool, yes: Places, no: Places
) -> tuple[float, ...]:
    """Return what a threshold that parts these rows has to be."""
    x = grounds.filled(split.column) if filled else grounds.cells(split.column)
    inside = np.concatenate([x[yes], x[no]])
    below, above = inside[inside <= split.threshold], inside[inside > split.threshold]
    if not len(below):
        return ()
    if not len(above):
        return _all_values(grounds, split) if not filled else ()
    near = float(below.max()), float(above.min())
    ends = grounds.bins(split.column, filled).around(*near)
    if not isinstance(split.column, Pair):
        return thresholds_between(*ends, grounds.paper)
    gap = pair_gap(split.column, grounds.table.inputs, (x <= ends[0], x >= ends[1]), ends)
    earlier = grounds.bins(split.column, filled, joined=False).around(*near)
    return (
        thresholds_between(*ends, grounds.paper, gap)[0],
        thresholds_between(*earlier, grounds.paper)[-1],
    )


def _all_values(grounds: Grounds, split: Split) -> tuple[float, ...]:
    """Return what parts all values of a pair from the rows that have none."""
    if not isinstance(split.column, Pair) or split.missing_holds:
        return ()
    most = float(grounds.bins(split.column, False).high[-1])
    return largest_copy(split.column, grounds.table.inputs, most), most


def _term_faults(grounds: Grounds, term: DirectTerm) -> Iterator[str]:
    if not grounds.offers(term.column):
        yield "no column that the table offers"
    elif not term.column.binary:
        centre, scale = grounds.location(term.column)
        if not np.isclose(term.centre, centre, rtol=ROUNDING, atol=ROUNDING * scale):
            yield f"the centre is {centre!r}, not {term.centre!r}"
        if not np.isclose(term.scale, scale, rtol=ROUNDING, atol=0.0):
            yield f"the scale is {scale!r}, not {term.scale!r}"
