"""Who may explain a raw variable: the four ownership policies for direct terms.

Trees are source-disjoint by construction (Stage 2). This file decides which of the remaining
columns enter Stage 3 as direct terms, and tells the components of the terms that are left.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rpte.columns.limits import FREE, Permissions
from rpte.utils.arrays import Index, Mask

Ownership = Literal["paper", "separate", "strict", "component"]
Sources = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ComponentRule:
    """What a component may become: at most `largest` sources, which the limits let meet."""

    largest: int
    limits: Permissions = FREE


@dataclass(slots=True, eq=False)
class _Part:
    """Sources that terms have joined."""

    sources: list[str]
    trees: int = 0


class Components:
    """Sources joined by the terms that read them, with the trees each part holds."""

    def __init__(self) -> None:
        self._part: dict[str, _Part] = {}

    def part(self, source: str) -> _Part:
        """Return the part that holds `source`."""
        found = self._part.get(source)
        if found is None:
            found = self._part[source] = _Part([source])
        return found

    def join(self, sources: Iterable[str], trees: int = 0) -> None:
        """Join the parts of some sources; `trees` counts a tree that reads them all."""
        parts = {id(part): part for part in map(self.part, sources)}.values()
        first, *others = sorted(parts, key=lambda part: -len(part.sources))
        for other in others:
            first.sources += other.sources
            first.trees += other.trees
            for source in other.sources:
                self._part[source] = first
        first.trees += trees

    def allows(self, sources: Iterable[str], rule: ComponentRule) -> bool:
        """Tell whether the joined part has at most one tree, few enough sources, and may be."""
        parts = {id(part): part for part in map(self.part, sources)}.values()
        if len(parts) == 1:
            return True
        if sum(len(part.sources) for part in parts) > rule.largest:
            return False
        members = [source for part in parts for source in part.sources]
        return sum(part.trees for part in parts) <= 1 and rule.limits.may_interact(members)


class Joining:
    """Which of some terms may still be taken, when each of those taken joins its sources.

    Those of each of the groups `together` are joined from the start. `trees` are the numbers of the
    trees that terms are leaves of, -1 for none: no part of the sources holds two trees.
    """

    def __init__(
        self,
        sources: Sequence[Sources],
        policy: Ownership,
        rule: ComponentRule,
        together: Sequence[Sources] = (),
        trees: Sequence[int] = (),
    ) -> None:
        self._sources, self._rule, self._joined = sources, rule, Components()
        self._trees, self._grown = trees, set[int]()
        self._bound = [j for j, of in enumerate(sources) if len(set(of)) > 1]
        if policy != "component":
            self._bound = []
        self.allowed = np.ones(len(sources), np.bool_)
        self._join(together)

    def _join(self, groups: Iterable[Sources], trees: int = 0) -> None:
        """Join the sources of each group, and rule out terms that would then join too many."""
        for group in groups:
            self._joined.join(group, trees)
        for i in self._bound:
            if self.allowed[i]:
                self.allowed[i] = self._joined.allows(self._sources[i], self._rule)

    def take(self, j: int) -> None:
        """Take a term, and rule out those that would then join too many sources."""
        self.allowed[j] = False
        tree = self._trees[j] if len(self._trees) else -1
        new = tree >= 0 and tree not in self._grown
        self._grown |= {tree}
        if new or len(set(self._sources[j])) > 1:
            self._join([self._sources[j]], int(new))


def components(parts: Sequence[Sources]) -> list[list[int]]:
    """Return the connected groups of parts (trees or direct terms) that share sources.

    Examples
    --------
    >>> components([("a", "b"), ("c",), ("b",)])
    [[0, 2], [1]]
    """
    joined = Components()
    for sources in parts:
        joined.join(sources)
    groups: dict[int, list[int]] = {}
    for number, sources in enumerate(parts):
        groups.setdefault(id(joined.part(sources[0])), []).append(number)
    return sorted(groups.values())


def admit(
    policy: Ownership,
    columns: Sequence[Sources],
    raw: Mask,
    trees: Sequence[Sources],
    ranking: Index,
    rule: ComponentRule,
) -> Index:
    """Return which columns enter Stage 3 as direct terms: (m,) positions in `columns`, ascending.

    `columns` and `trees` are the sources of each column that no tree used, and of each tree; `raw`
    (k,) are values, levels and missing flags, one group per variable for the strict rule; `ranking`
    (k,) is the order in which columns are admitted where order decides.
    """
    owned = {source for sources in trees for source in sources}
    free = [int(j) for j in ranking if not owned.intersection(columns[j])]
    if policy == "paper":
        chosen = list(range(len(columns)))
    elif policy == "separate":
        chosen = free
    elif policy == "strict":
        chosen = _strict(columns, raw, free)
    else:
        chosen = _by_component(columns, trees, ranking, rule)
    return np.array(sorted(chosen), np.intp)


def _strict(columns: Sequence[Sources], raw: Mask, order: list[int]) -> list[int]:
    """Admit greedily; a source's first owner keeps it, a variable's raw columns come together."""
    owner: dict[str, object] = {}
    chosen = []
    for j in order:
        me: object = ("raw", columns[j][0]) if raw[j] else j
        if all(owner.get(source, me) == me for source in columns[j]):
            owner.update(dict.fromkeys(columns[j], me))
            chosen.append(j)
    return chosen


def _by_component(
    columns: Sequence[Sources], trees: Sequence[Sources], ranking: Index, rule: ComponentRule
) -> list[int]:
    """Admit one-source terms always, two-source terms while parts stay small and hold one tree."""
    joined = Components()
    for sources in trees:
        joined.join(sources, trees=1)
    chosen = [j for j in range(len(columns)) if len(set(columns[j])) == 1]
    for j in ranking:
        if len(set(columns[j])) > 1 and joined.allows(columns[j], rule):
            joined.join(columns[j])
            chosen.append(j)
    return chosen
