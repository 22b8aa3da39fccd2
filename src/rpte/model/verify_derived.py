"""Checks that what scores a case follows from the training table, for cases that it does not hold.

Supports and optimality say what the model does with the training rows. Where a threshold stands
between two of them, which side a missing cell takes that none of them has, what a level counts as
that none of them shows: these decide other cases, and are derived again here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rpte.columns.kinds import Column, Interval, Level, Missing, Pair
from rpte.model.check import NOT_CHECKED, Check, checked
from rpte.model.derivation import LearnedFrom, TrainingTable, learned_from
from rpte.model.ledger import DERIVED, UNMET_MISSING, withdrawn
from rpte.model.parts import DirectTerm, TreeTerms
from rpte.structure.gaps import largest_copy, pair_gap
from rpte.structure.tree import Branch, Split
from rpte.table.decimals import thresholds_between
from rpte.table.table import Table
from rpte.utils.arrays import Index, Mask

if TYPE_CHECKING:
    from rpte.model.model import Model

ROUNDING = 1e-9


def derived_checks(model: Model, table: Table) -> list[Check]:
    """Return these checks on the training rows under the model's schema, equal ones merged."""
    gone = withdrawn(model)
    if UNMET_MISSING in gone or DERIVED in gone:  # estimated again on another table
        return []
    found = learned_from(model, table)
    tests = _tests_of(model, found.whole)
    if found.terms is None:
        met = unmet_missing(found.whole.paper, [(test, None) for test in tests])
        rows = model.training["validation"]["learned_from_rows"]
        evidence = (
            f"{DERIVED}: the terms were found on {rows} distinct rows of whole groups, or of each "
            "cause, which the file does not keep; between which training values they stand is "
            "proved by supports and optimality, not where between them"
        )
        return [variables(model, table), met, Check(NOT_CHECKED, True, evidence)]
    learned = tests if found.terms is found.whole else _tests_of(model, found.terms)
    return [
        variables(model, table),
        unmet_missing(found.whole.paper, list(zip(tests, learned, strict=True))),
        derived_numbers(model, found, learned),
    ]


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


@dataclass(frozen=True, slots=True)
class Test:
    """A test of a tree, and the rows of a table on both sides of it."""

    tree: TreeTerms
    split: Split
    data: TrainingTable
    yes: Index
    no: Index

    def lacks_missing(self) -> bool:
        """Tell whether no row that reaches the test has a missing value for it."""
        rows, column = np.concatenate([self.yes, self.no]), self.split.column
        if self.split.threshold is None:
            return not self.data.table.inputs.is_missing(column.sources[0])[rows].any()
        return not np.isnan(self.data.cells(column)[rows]).any()

    def heavier(self) -> bool | None:
        """Tell whether the yes side is heavier; None where both weigh the same."""
        weight = self.data.table.weight
        sides = float(weight[self.yes].sum()), float(weight[self.no].sum())
        if abs(sides[0] - sides[1]) <= ROUNDING * (1.0 + sum(sides)):
            return None
        return sides[0] > sides[1]


def _tests_of(model: Model, data: TrainingTable) -> list[Test]:
    return [test for tree in model.trees for test in _tests(tree, data)]


def _tests(tree: TreeTerms, data: TrainingTable) -> Iterator[Test]:
    """Yield every test of a tree with the rows on both sides of it."""
    stack: list[tuple[Branch | int, Index]] = [(tree.tree.root, np.arange(data.table.n_rows))]
    while stack:
        node, inside = stack.pop()
        if isinstance(node, Branch):
            holds = _holds(node.split, data)[inside]
            yes, no = inside[holds], inside[~holds]
            stack += [(node.no, no), (node.yes, yes)]
            yield Test(tree, node.split, data, yes, no)


def _holds(split: Split, data: TrainingTable) -> Mask:
    cells = data.cells(split.column)
    if split.threshold is None:
        return cells > 0.0
    return ~(cells > split.threshold) if split.missing_holds else cells <= split.threshold


def unmet_missing(paper: bool, tests: Sequence[tuple[Test, Test | None]]) -> Check:
    """A test that met no missing value sends missing (and a level never seen) to the heavier side.

    The published configuration fills in the centre of the column instead. Each test comes with all
    training rows, and with the rows that terms were found on, if these are known.
    """
    sides = [(test, _missing_side(test, learned)) for test, learned in tests]
    faults = [
        f"{test.tree.name} sends missing {test.split.column.text} to the wrong side"
        for test, wanted in sides
        if wanted not in (None, test.split.missing_holds)
    ]
    looked = sum(wanted is not None for _, wanted in sides)
    rule = "that of the column's centre" if paper else "the side with more rows"
    found = f"{looked} tests met no missing value in training; they send it to {rule}"
    return checked(UNMET_MISSING, faults, found)


def _missing_side(test: Test, learned: Test | None) -> bool | None:
    """Return whether missing has to be on the yes side; None where the table does not say.

    All rows decide for a threshold; centres and sets of levels are those of the rows that terms
    were found on.
    """
    split, paper = test.split, test.data.paper
    if split.threshold is None or paper:
        return None if learned is None else _learned_side(learned)
    if not test.lacks_missing():
        return None
    side = test.heavier()
    if side is not None or learned is None or not _has_whole_weights(test):
        return side
    # Of sides that weigh the same the sample's stays, and of these the yes side.
    side = learned.heavier()
    return True if side is None and _has_whole_weights(learned) else side


def _learned_side(test: Test) -> bool | None:
    """Return the side of missing of a set of levels, or in the published configuration."""
    split, data = test.split, test.data
    if split.threshold is None and not _is_level_set(split.column, data):
        return None
    if data.paper:
        if data.is_root(split.column):
            return None
        return data.location(split.column)[0] <= (split.threshold or 0.0)
    return test.heavier() if test.lacks_missing() else None


def _has_whole_weights(test: Test) -> bool:
    weight = test.data.table.weight
    return bool((weight == np.rint(weight)).all())


def _is_level_set(column: Column, data: TrainingTable) -> bool:
    """Tell whether a test is on a category as a whole; then levels not listed go with missing."""
    return (
        isinstance(column, Level)
        and not data.paper
        and data.table.schema[column.source].kind == "category"
    )


def derived_numbers(model: Model, found: LearnedFrom, tests: list[Test]) -> Check:
    """Thresholds, sets of levels, knots, edges, centres and scales follow from the table."""
    assert found.terms is not None
    stored = model.training["validation"].get("learned_from_rows")
    if stored != found.rows:
        return Check(DERIVED, False, _other_sample(stored, found.rows))
    faults = [
        f"{test.tree.name} tests {test.split.column.text}{fault}"
        for test in tests
        for fault in _test_faults(test)
    ]
    for term in model.direct:
        wrong = _term_faults(found.terms, term)
        faults += [f"{term.name}, {term.text}: {fault}" for fault in wrong]
    where = "" if stored is None else f" on the {stored} distinct rows that terms were found on"
    evidence = (
        f"{len(tests)} tests, each between neighbouring training values, and "
        f"{len(model.direct)} direct terms{where}"
    )
    return checked(DERIVED, faults, evidence)


def _other_sample(stored: int | None, rows: int | None) -> str:
    said, drawn = ("all rows" if n is None else f"a sample of {n} rows" for n in (stored, rows))
    return (
        f"the file says that terms were found on {said}, and the table gives {drawn}; give the "
        "rows and weights as they were fitted, recurring rows not merged"
    )


def _test_faults(test: Test) -> Iterator[str]:
    data, split, yes, no = test.data, test.split, test.yes, test.no
    if not len(yes) or not len(no):
        yield ", which no training row passes" if len(no) else ", which every training row passes"
        return
    if split.threshold is None:
        if not _is_test(data, split.column, yes, no):
            yield ", which is no test that the table offers"
        return
    if not data.offers(split.column) and not data.is_root(split.column):
        yield ", which is no column that the table offers"
    # Pairs of lookahead are never filled, not even in the published configuration.
    codings = [True, False] if data.paper and data.is_root(split.column) else [data.paper]
    allowed = [t for filled in codings for t in _thresholds(data, split, filled, yes, no)]
    if split.threshold not in allowed:
        yield f" against {split.threshold!r}; between the training values stands {allowed[:1]}"


def _is_test(data: TrainingTable, column: Column, yes: Index, no: Index) -> bool:
    """Tell whether a tree may test a 0/1 column in a node."""
    special = bool(data.table.schema[column.sources[0]].levels)
    number = data.table.schema[column.sources[0]].kind == "number"
    if isinstance(column, Interval) and column.unbounded:
        return special and not data.paper
    if isinstance(column, Missing):
        return not (number and (special or data.paper))
    if not _is_level_set(column, data):
        return data.offers(column)
    # Levels that the node never met go with missing, so none of them is listed.
    assert isinstance(column, Level)
    codes = data.table.inputs.codes(column.source)
    listed = np.unique(codes[yes])
    return len(listed) == len(column.levels) and bool((codes[no] >= 0).any())


def _thresholds(
    data: TrainingTable, split: Split, filled: bool, yes: Index, no: Index
) -> tuple[float, ...]:
    """Return what a threshold that parts these rows has to be."""
    x = data.filled(split.column) if filled else data.cells(split.column)
    inside = np.concatenate([x[yes], x[no]])
    below, above = inside[inside <= split.threshold], inside[inside > split.threshold]
    if not len(below):
        return ()
    if not len(above):
        return _all_values(data, split) if not filled else ()
    near = float(below.max()), float(above.min())
    ends = data.bins(split.column, filled).around(*near)
    if not isinstance(split.column, Pair):
        return thresholds_between(*ends, data.paper)
    gap = pair_gap(split.column, data.table.inputs, (x <= ends[0], x >= ends[1]), ends)
    earlier = data.bins(split.column, filled, joined=False).around(*near)
    return (
        thresholds_between(*ends, data.paper, gap)[0],
        thresholds_between(*earlier, data.paper)[-1],
    )


def _all_values(data: TrainingTable, split: Split) -> tuple[float, ...]:
    """Return what parts all values of a pair from the rows that have none."""
    if not isinstance(split.column, Pair) or split.missing_holds:
        return ()
    most = float(data.bins(split.column, False).high[-1])
    return largest_copy(split.column, data.table.inputs, most), most


def _term_faults(data: TrainingTable, term: DirectTerm) -> Iterator[str]:
    if not data.offers(term.column):
        yield "no column that the table offers"
    elif not term.column.binary:
        centre, scale = data.location(term.column)
        if not np.isclose(term.centre, centre, rtol=ROUNDING, atol=ROUNDING * scale):
            yield f"the centre is {centre!r}, not {term.centre!r}"
        if not np.isclose(term.scale, scale, rtol=ROUNDING, atol=0.0):
            yield f"the scale is {scale!r}, not {term.scale!r}"
