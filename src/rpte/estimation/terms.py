"""From a vocabulary and trees to the terms of Stage 3: what is admitted, and its design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rpte.columns.kinds import is_true
from rpte.columns.limits import FREE, Permissions
from rpte.estimation.block_design import BlockDesign
from rpte.estimation.block_terms import BlockTerms
from rpte.estimation.candidate import Candidate
from rpte.estimation.design import Design
from rpte.estimation.ownership import ComponentRule, Ownership, admit
from rpte.rows.training_rows import TrainingRows
from rpte.structure.structure import Structure
from rpte.structure.tree import Condition, Tree, path_conditions
from rpte.table.schema import Schema
from rpte.table.table import Table
from rpte.utils.arrays import Floats, Index, Int8s, Int32s, Ints
from rpte.vocabulary.vocabulary import ORIGINAL, PAIR, Vocabulary


@dataclass(frozen=True, slots=True)
class TermSet:
    """The terms of Stage 3: trees, and the columns (d,) that are admitted as direct terms.

    Of several classes some of the `leaves` may be terms, by their numbers through all trees; None
    for all of them.
    """

    vocabulary: Vocabulary
    trees: tuple[Tree, ...]
    direct: Index
    leaves: Index | None = None
    numbers: tuple[int, ...] | None = None  # of the trees in the structure; None: the first ones
    signs: Int8s | None = None  # that direct terms must have for shapes not to turn, (d,)

    @property
    def tree_numbers(self) -> tuple[int, ...]:
        """Which trees of the structure these are."""
        return tuple(range(len(self.trees))) if self.numbers is None else self.numbers

    @property
    def leaf_counts(self) -> tuple[int, ...]:
        """Leaves per tree."""
        return tuple(tree.n_leaves for tree in self.trees)

    @property
    def leaf_terms(self) -> Index:
        """The leaves that are terms, by their numbers through all trees."""
        return np.arange(sum(self.leaf_counts)) if self.leaves is None else self.leaves

    def paths(self) -> list[tuple[Condition, ...]]:
        """Return the conditions on the way to each leaf that is a term."""
        every = [path for tree in self.trees for path in tree.paths()]
        return [every[number] for number in self.leaf_terms]

    def by_leaf(self, fit: Floats) -> list[Floats]:
        """Return what a fit, (q + 1,) or (K, q + 1), says in every leaf of each tree."""
        ends = np.cumsum([0, *self.leaf_counts])
        values = np.zeros((*fit.shape[:-1], ends[-1]))
        values[..., self.leaf_terms] = fit[..., 1 : 1 + len(self.leaf_terms)]
        return [values[..., a:b] for a, b in pairwise(ends)]

    def conditions(self, schema: Schema) -> Ints:
        """Return how many conditions a person reads for each term, shape (q,)."""
        leaves = [path_conditions(path, schema) for path in self.paths()]
        direct = [self.vocabulary.columns[j].conditions(schema) for j in self.direct]
        return np.array([*leaves, *direct], np.int64)

    def penalties(self, limits: Permissions) -> tuple[Floats, Int8s]:
        """Return the factor on the penalty of each term, and the sign that it may have, (q,).

        Where limits are by class, the sign in each class, (K, q).
        """
        paths = self.paths()
        if not limits.penalty and not limits.directions and not limits.by_class:
            count = len(paths) + len(self.direct)
            return np.ones(count), self._with_own(np.zeros(count, np.int8))
        columns = [self.vocabulary.columns[j] for j in self.direct]
        read = [{s for condition in path for s in condition.sources} for path in paths]
        factors = [limits.factor(sources) for sources in (*read, *(c.sources for c in columns))]
        if limits.by_class:
            free = (0,) * len(limits.classes)
            by_term = [free] * len(paths) + [limits.class_signs(c) or free for c in columns]
            by_class = np.array(by_term, np.int8).reshape(-1, len(free)).T
            return np.array(factors, np.float64), np.ascontiguousarray(by_class)
        signs = [0] * len(paths) + [limits.sign(column) or 0 for column in columns]
        return np.array(factors, np.float64), self._with_own(np.array(signs, np.int8))

    def _with_own(self, signs: Int8s) -> Int8s:
        """Return signs (q,) with those of shapes that must not turn where limits leave a choice."""
        if self.signs is None:
            return signs
        own = np.concatenate([np.zeros(len(signs) - len(self.signs), np.int8), self.signs])
        return np.where(signs == 0, own, signs).astype(np.int8)

    def carry(self, fit: Floats, before: TermSet) -> Floats:
        """Return a fit of some of these terms, whose trees are the first of these, as one of all.

        Both are intercept, leaves and direct terms, (q + 1,); or (K, q + 1), of several scores.
        """
        known, leaves = 1 + len(before.leaf_terms), 1 + len(self.leaf_terms)
        carried = np.zeros((*fit.shape[:-1], leaves + len(self.direct)))
        carried[..., 0] = fit[..., 0]
        same = np.isin(before.leaf_terms, self.leaf_terms)
        at = np.searchsorted(self.leaf_terms, before.leaf_terms[same])
        carried[..., 1 + at] = fit[..., 1:known][..., same]
        held = np.isin(before.direct, self.direct)
        places = np.searchsorted(self.direct, before.direct[held])
        carried[..., leaves + places] = fit[..., known:][..., held]
        return carried

    def active(self, fit: Floats) -> tuple[TermSet, Floats]:
        """Return the trees and direct terms that a fit uses, and the fit of these.

        Where some leaves are terms, those of the trees that stay.
        """
        ends, leaf_terms = np.cumsum([0, *self.leaf_counts]), self.leaf_terms
        used = [bool(values.any()) for values in self.by_leaf(fit)]
        trees = tuple(tree for tree, kept in zip(self.trees, used, strict=True) if kept)
        owner = np.searchsorted(ends, leaf_terms, side="right") - 1
        kept = np.flatnonzero(np.array(used, np.bool_)[owner])
        # Numbers count the leaves of the trees that stay.
        gone = np.cumsum([0, *np.where(used, 0, self.leaf_counts)])[:-1]
        leaves = None if self.leaves is None else leaf_terms[kept] - gone[owner[kept]]
        first = 1 + len(leaf_terms)
        said = fit[..., first:] != 0.0
        direct = np.flatnonzero(said if fit.ndim == 1 else said.any(axis=0))
        signs = None if self.signs is None else self.signs[direct]
        terms = TermSet(self.vocabulary, trees, self.direct[direct], leaves, signs=signs)
        return terms, fit[..., np.concatenate([[0], 1 + kept, first + direct])]


@dataclass(frozen=True, slots=True)
class Admission:
    """By which rules columns become direct terms; `paper` admits them in the published order."""

    policy: Ownership
    rule: ComponentRule
    paper: bool


def choose_terms(
    table: Table, structure: Structure, candidate: Candidate, admission: Admission
) -> TermSet:
    """Admit the direct terms of a candidate that the policy allows beside its trees.

    Under "component" a column that a tree splits on may also be a direct term: both are in the same
    component. Elsewhere a used column is used up (Algorithm 1, line 20). A direct term that equals
    a leaf, or all rows but a leaf, would say the same twice and is left out.
    """
    n_trees = min(candidate.n_trees, len(structure.trees))
    vocabulary, trees = structure.vocabulary, structure.trees[:n_trees]
    free_to_repeat = admission.policy == "component"
    used = frozenset() if free_to_repeat else frozenset().union(*structure.used[:n_trees])
    held = [j for j in np.flatnonzero(candidate.holds(vocabulary)).tolist() if j not in used]
    if candidate.apart:
        taken = {source for tree in trees for source in tree.sources}
        held = [j for j in held if not taken.intersection(vocabulary.columns[j].sources)]
    left = np.array(_without_leaves(table, structure, n_trees, held), np.intp)
    if free_to_repeat and not vocabulary.paired[left].any():
        return TermSet(vocabulary, trees, left)
    ranking = _ranking(table, structure, left, n_trees, admission)
    sources = [vocabulary.columns[j].sources for j in left]
    raw, owned = vocabulary.block[left] == ORIGINAL, [tree.sources for tree in trees]
    chosen = admit(admission.policy, sources, raw, owned, ranking, admission.rule)
    return TermSet(vocabulary, trees, left[chosen])


def _without_leaves(
    table: Table, structure: Structure, n_trees: int, which: list[int]
) -> list[int]:
    """Return the columns that are neither the rows of a leaf nor all rows but these."""
    vocabulary, rows = structure.vocabulary, structure.vocabulary.z.shape[1]
    counts = [tree.n_leaves for tree in structure.trees[:n_trees]]
    said = _leaf_indicators(structure.leaf_codes[:n_trees, :rows], counts)

    def repeats(j: int) -> bool:
        if not vocabulary.columns[j].binary:
            return False
        alike = said.get(np.packbits(vocabulary.z[j] > 0).tobytes(), [])
        if rows == table.n_rows or not alike:
            return bool(alike)
        whole = is_true(vocabulary.columns[j], table.inputs)
        return any(
            ((structure.leaf_codes[t] == leaf) == (whole == is_in)).all()
            for t, leaf, is_in in alike
        )

    return [j for j in which if not repeats(j)] if said else which


def _leaf_indicators(
    leaf_codes: Int32s, counts: Sequence[int]
) -> dict[bytes, list[tuple[int, int, bool]]]:
    """Return which (tree, leaf) has some rows, packed bits, or all but these (False)."""
    said: dict[bytes, list[tuple[int, int, bool]]] = {}
    for t, (codes, count) in enumerate(zip(leaf_codes, counts, strict=True)):
        for leaf in range(count):
            row = codes == leaf
            for is_in in (True, False):
                said.setdefault(np.packbits(row == is_in).tobytes(), []).append((t, leaf, is_in))
    return said


def _ranking(
    table: Table, structure: Structure, left: Index, n_trees: int, admission: Admission
) -> Index:
    """Return the order of admission; components admit one-source columns, then pairs in turn."""
    vocabulary = structure.vocabulary
    if admission.paper:  # patterns and pairs in their ranking, then raw variables
        return np.argsort(vocabulary.block[left] == ORIGINAL, kind="stable")
    if admission.policy == "strict":
        return _gradient_order(table, vocabulary, left, structure.score(n_trees))
    return np.argsort(vocabulary.block[left] == PAIR, kind="stable")


def _gradient_order(table: Table, vocabulary: Vocabulary, left: Index, score: Floats) -> Index:
    """Largest standardised gradient at the Stage 2 score first, ties by name."""
    found = table.loss.residuals(score, table.y, table.weight)
    residual, curvature = found.gradient, found.hessian
    held = vocabulary.z.shape[1] == table.n_rows
    z = vocabulary.z[left] if held else vocabulary.keep(left).on(table.inputs)
    z -= ((z @ curvature) / curvature.sum())[:, None]
    size = np.sqrt((z * z) @ curvature)
    gradient = np.abs(z @ residual) / np.where(size > 0, size, 1.0)
    names = [vocabulary.columns[j].name for j in left]
    rounded = np.round(gradient, 10)
    return np.array(sorted(range(len(left)), key=lambda i: (-rounded[i], names[i])), np.intp)


def make_design(
    table: Table, structure: Structure, terms: TermSet, limits: Permissions = FREE
) -> Design:
    """Return the Stage 3 problem of some terms on the structure's table, whose cells it holds."""
    codes = np.ascontiguousarray(structure.leaf_codes[list(terms.tree_numbers)])
    return _design(table, terms, codes, terms.vocabulary.z[terms.direct].T, limits)


def design_on(table: Table, terms: TermSet, limits: Permissions) -> Design:
    """Return the Stage 3 problem of some terms on a table that they were not learned from."""
    found = [tree.apply(table.inputs) for tree in terms.trees]
    codes = np.array(found, np.int32).reshape(len(found), table.n_rows)
    direct = terms.vocabulary.keep(terms.direct).on(table.inputs).T
    return _design(table, terms, codes, direct, limits)


def block_design(
    rows: TrainingRows, terms: TermSet, limits: Permissions, sample: TrainingRows | None
) -> BlockDesign:
    """Return the Stage 3 problem of some terms on rows that come in blocks.

    The `sample` of the rows is in memory, and stands for all until the end.
    """
    vocabulary, which = terms.vocabulary, terms.direct
    columns = [vocabulary.columns[j] for j in which]
    made = BlockTerms.of(terms.trees, columns, vocabulary.centre[which], vocabulary.scale[which])
    penalties = terms.penalties(limits)
    return BlockDesign(rows, made, terms.leaf_counts, *penalties, sample, rows.loss)


def _design(
    table: Table, terms: TermSet, leaf: Int32s, direct: Floats, limits: Permissions
) -> Design:
    rows, penalties = (table.y, table.weight), terms.penalties(limits)
    return Design(leaf, terms.leaf_counts, direct, *rows, *penalties, table.loss)
