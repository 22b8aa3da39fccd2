"""Reasons in SQL: the layers of the query that find them, and the columns that tell them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from rpte.audit.decisions.reasons import ReasonRule
from rpte.export.form import Missing
from rpte.export.reasons import Candidate

if TYPE_CHECKING:
    from rpte.export.sql.expressions import Expressions

MOST_ARGUMENTS = 50  # of LEAST; SQLite takes no more than some hundred
Columns = list[tuple[str, exp.Expr]]


class Reasons:
    """How one query finds and tells the reasons of a row.

    Parameters
    ----------
    ways : Expressions
    rule : ReasonRule
    candidates : sequence of Candidate
    """

    def __init__(
        self, ways: Expressions, rule: ReasonRule, candidates: Sequence[Candidate]
    ) -> None:
        self.ways, self.rule, self.candidates = ways, rule, candidates
        self.against = rule.sign(ways.form.model) > 0

    def own(self, name: str) -> exp.Column:
        """Return a column of the query's own."""
        return self.ways.column(self.ways.prefix + name)

    def layers(self) -> Iterator[tuple[str, Columns]]:
        """Yield what each layer of the query adds: name, and columns by name."""
        components = dict.fromkeys(candidate.component for candidate in self.candidates)
        gaps = [(f"gap_{name}", self._gap(name)) for name in components]
        gains = [
            (f"gain_{i}", self._gain(candidate))
            for i, candidate in enumerate(self.candidates, 1)
            if candidate.alternatives
        ]
        yield "gaps", gaps + gains
        totals = [(f"gains_{name}", self._total(name)) for name in components]
        shared = [(name, total) for name, total in totals if total is not None]
        if shared:
            yield "gains", shared
        numbered = list(enumerate(self.candidates, 1))
        yield "weights", [(f"weight_{i}", self._weight(i, c)) for i, c in numbered]
        yield "ranks", [(f"rank_{i}", self._rank(i)) for i, _ in numbered]
        yield "firsts", [("first", self._at(1, [self.own(f"weight_{i}") for i, _ in numbered]))]

    def _gap(self, component: str) -> exp.Expr:
        """Return what a component adds against the case, compared with the reference."""
        sides = self.ways.line(component), self.ways.literal(self.rule.values[component])
        left, right = sides if self.against else sides[::-1]
        return exp.Sub(this=left, expression=right)

    def _gain(self, candidate: Candidate) -> exp.Expr:
        """Return how much a component could improve by one variable alone."""
        now = self.ways.line(candidate.component)
        best = self._best([now.copy(), *map(self.ways.node, candidate.alternatives)])
        left, right = (now, best) if self.against else (best, now)
        return exp.Sub(this=left, expression=right)

    def _best(self, values: list[exp.Expr]) -> exp.Expr:
        """Return the least of some numbers, the largest where the score counts for the case."""
        names = ("MIN", "MAX") if self.ways.dialect == "sqlite" else ("LEAST", "GREATEST")
        name = names[0] if self.against else names[1]
        while len(values) > 1:
            parts = [values[i : i + MOST_ARGUMENTS] for i in range(0, len(values), MOST_ARGUMENTS)]
            values = [
                exp.Anonymous(this=name, expressions=part) if len(part) > 1 else part[0]
                for part in parts
            ]
        return values[0]

    def _total(self, component: str) -> exp.Expr | None:
        """Return the sum of a component's gains, None if it reads one variable."""
        gains: list[exp.Expr] = [
            self.own(f"gain_{i}")
            for i, candidate in enumerate(self.candidates, 1)
            if candidate.component == component and candidate.alternatives
        ]
        if not gains:
            return None
        total = gains[0]
        for gain in gains[1:]:
            total = exp.Add(this=total, expression=gain)
        return total

    def _weight(self, place: int, candidate: Candidate) -> exp.Expr:
        """Return a variable's share of the gap, NULL where it is no reason."""
        zero, gap = self.ways.literal(0.0), self.own(f"gap_{candidate.component}")
        scored = exp.not_(self.ways.line("score").is_(exp.null()))
        counts = exp.and_(exp.GT(this=gap, expression=zero), scored, copy=False)
        if self.rule.threshold is not None:
            counts = exp.and_(counts, self._is_adverse(self.rule.threshold), copy=False)
        share: exp.Expr = gap.copy()
        if candidate.alternatives:
            gain, total = self.own(f"gain_{place}"), self.own(f"gains_{candidate.component}")
            members = sum(c.component == candidate.component for c in self.candidates)
            ratio = exp.Div(this=gain.copy(), expression=total.copy())
            part = exp.Mul(this=gap.copy(), expression=exp.Paren(this=ratio))
            shared = exp.Case().when(exp.GT(this=gain, expression=zero.copy()), part)
            even = exp.Mul(this=gap.copy(), expression=self.ways.literal(1.0 / members))
            share = exp.Case().when(exp.GT(this=total, expression=zero.copy()), shared).else_(even)
        return exp.Case().when(counts, share)

    def _is_adverse(self, threshold: float) -> exp.Expr:
        against: exp.Expr = self.ways.line("probability")
        if not self.against:
            against = exp.Sub(this=self.ways.literal(1.0), expression=against)
        return exp.GTE(this=against, expression=self.ways.literal(threshold))

    def _rank(self, place: int) -> exp.Expr:
        """Return the place of a reason: by weight, equal ones in their order."""
        mine = self.own(f"weight_{place}")
        rank: exp.Expr = exp.Literal.number(1)
        for other in range(1, len(self.candidates) + 1):
            if other == place:
                continue
            above = exp.GTE if other < place else exp.GT
            larger = above(this=self.own(f"weight_{other}"), expression=mine.copy())
            one, none = exp.Literal.number(1), exp.Literal.number(0)
            rank = exp.Add(this=rank, expression=exp.Case().when(larger, one).else_(none))
        return exp.Case().when(exp.not_(mine.is_(exp.null())), rank)

    def _at(self, place: int, values: Sequence[exp.Expr]) -> exp.Expr:
        """Return the value of the reason at one place, NULL if there are fewer."""
        case = exp.Case()
        for i, value in enumerate(values, 1):
            here = exp.EQ(this=self.own(f"rank_{i}"), expression=exp.Literal.number(place))
            case = case.when(here, value, copy=False)
        return case

    def told(self) -> Iterator[tuple[str, exp.Expr]]:
        """Yield the columns of the result: for each place the reason, its code and its weight."""
        numbered = list(enumerate(self.candidates, 1))
        codes = any(candidate.code for candidate in self.candidates)
        for place in range(1, self.rule.most + 1):
            texts = [self._sentence(candidate) for candidate in self.candidates]
            yield f"reason_{place}", self._if_told(place, texts)
            if codes:
                said = [self.ways.text(candidate.code) for candidate in self.candidates]
                yield f"reason_{place}_code", self._if_told(place, said)
            weights = [self.own(f"weight_{i}") for i, _ in numbered]
            yield f"reason_{place}_weight", self._if_told(place, weights)

    def _if_told(self, place: int, values: Sequence[exp.Expr]) -> exp.Expr:
        """Return a value of the reason at one place, NULL if it weighs too little to be told."""
        if not self.candidates:
            return exp.null()
        case = exp.Case()
        least = exp.Mul(this=self.ways.literal(self.rule.least), expression=self.own("first"))
        for i, value in enumerate(values, 1):
            here = exp.EQ(this=self.own(f"rank_{i}"), expression=exp.Literal.number(place))
            enough = exp.GTE(this=self.own(f"weight_{i}"), expression=least.copy())
            case = case.when(exp.and_(here, enough, copy=False), value, copy=False)
        return case

    def _sentence(self, candidate: Candidate) -> exp.Expr:
        said = self.ways.text(candidate.sentence)
        if candidate.missing == candidate.sentence:
            return said
        gone = self.ways.node(Missing(candidate.source))
        return exp.Case().when(gone, self.ways.text(candidate.missing)).else_(said)
