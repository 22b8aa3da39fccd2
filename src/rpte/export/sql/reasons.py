"""Reasons in SQL: the layers of the query that find them, and the columns that tell them."""

from collections.abc import Iterator, Sequence
from functools import reduce

from sqlglot import exp

from rpte.audit.decisions.reasons import ReasonRule
from rpte.export.form import Missing
from rpte.export.reasons import Candidate
from rpte.export.sql.expressions import Columns, Expressions


class Reasons:
    """How one query finds and tells the reasons of a row, by a rule among candidates."""

    def __init__(self, sql: Expressions, rule: ReasonRule, candidates: Sequence[Candidate]) -> None:
        self.sql, self.rule, self.candidates = sql, rule, candidates
        self.numbered = list(enumerate(candidates, 1))
        self.against = rule.sign(sql.form.one_score("reasons")) > 0

    def layers(self) -> Iterator[tuple[str, Columns]]:
        """Yield what each layer of the query adds: name, and columns by name."""
        components = dict.fromkeys(candidate.component for candidate in self.candidates)
        gaps: Columns = [(f"gap_{name}", self._gap(name)) for name in components]
        shared = [(i, c) for i, c in self.numbered if c.alternatives]
        yield "gaps", gaps + [(f"gain_{i}", self._gain(c)) for i, c in shared]
        gains: dict[str, list[exp.Expr]] = {}
        for i, candidate in shared:
            gains.setdefault(candidate.component, []).append(self.sql.line(f"gain_{i}"))
        if gains:
            yield "gains", [(f"gains_{name}", _added(gains[name])) for name in gains]
        yield "weights", [(f"weight_{i}", self._weight(i, c)) for i, c in self.numbered]
        yield "ranks", [(f"rank_{i}", self._rank(i)) for i, _ in self.numbered]
        yield "firsts", [("first", self._at(1, self._weights(), enough=False))]

    def _weights(self) -> list[exp.Expr]:
        return [self.sql.line(f"weight_{i}") for i, _ in self.numbered]

    def _worse(self, value: exp.Expr, than: exp.Expr) -> exp.Expr:
        """Return by how much one number is worse for the case than another."""
        return value - than if self.against else than - value

    def _gap(self, component: str) -> exp.Expr:
        """Return what a component adds against the case, compared with the reference."""
        reference = self.sql.literal(self.rule.values[component])
        return self._worse(self.sql.line(component), reference)

    def _gain(self, candidate: Candidate) -> exp.Expr:
        """Return how much a component could improve by one variable alone."""
        now = self.sql.line(candidate.component)
        return self._worse(now, self._best([now, *map(self.sql.node, candidate.alternatives)]))

    def _best(self, values: list[exp.Expr]) -> exp.Expr:
        """Return the least of some numbers, the largest where the score counts for the case."""
        return self.sql.extreme(values, least=self.against)

    def _weight(self, place: int, candidate: Candidate) -> exp.Expr:
        """Return a variable's share of the gap, NULL where it is no reason."""
        zero, gap = self.sql.literal(0.0), self.sql.line(f"gap_{candidate.component}")
        counts = exp.and_(gap > zero, exp.not_(self.sql.line("score").is_(exp.null())))
        if self.rule.threshold is not None:
            counts = exp.and_(counts, self._is_adverse(self.rule.threshold))
        share: exp.Expr = gap
        if candidate.alternatives:
            gain = self.sql.line(f"gain_{place}")
            total = self.sql.line(f"gains_{candidate.component}")
            members = sum(c.component == candidate.component for c in self.candidates)
            part = exp.Mul(this=gap.copy(), expression=exp.Paren(this=gain / total))
            shared = exp.Case().when(gain > zero, part)
            even = gap * self.sql.literal(1.0 / members)
            share = exp.Case().when(total > zero, shared).else_(even)
        return exp.Case().when(counts, share)

    def _is_adverse(self, threshold: float) -> exp.Expr:
        """Return whether a case gets reasons, by its probability, mean or hazard ratio."""
        form, limit = self.sql.form, self.sql.literal(threshold)
        response = self.sql.line(form.response.name)
        if not self.against and form.response.name != "probability":
            return exp.LTE(this=response, expression=limit)
        chance = response if self.against else self.sql.literal(1.0) - response
        return exp.GTE(this=chance, expression=limit)

    def _rank(self, place: int) -> exp.Expr:
        """Return the place of a reason: by weight, equal ones in their order."""
        mine, one = self.sql.line(f"weight_{place}"), exp.Literal.number(1)
        ranks: list[exp.Expr] = [one]
        for other, weight in enumerate(self._weights(), 1):
            if other != place:
                larger = weight >= mine if other < place else weight > mine
                ranks.append(exp.Case().when(larger, one).else_(exp.Literal.number(0)))
        return exp.Case().when(exp.not_(mine.is_(exp.null())), _added(ranks))

    def told(self) -> Iterator[tuple[str, exp.Expr]]:
        """Yield the columns of the result: for each place the reason, its code and its weight."""
        codes = any(candidate.code for candidate in self.candidates)
        for place in range(1, self.rule.most + 1):
            yield f"reason_{place}", self._at(place, list(map(self._sentence, self.candidates)))
            if codes:
                said = [self.sql.text(candidate.code) for candidate in self.candidates]
                yield f"reason_{place}_code", self._at(place, said)
            yield f"reason_{place}_weight", self._at(place, self._weights())

    def _at(self, place: int, values: Sequence[exp.Expr], enough: bool = True) -> exp.Expr:
        """Return a value of the reason at one place, NULL if there are fewer reasons.

        If `enough`, it is NULL too where the reason weighs too little to be told.
        """
        if not values:
            return exp.null()
        case, least = exp.Case(), self.sql.literal(self.rule.least) * self.sql.line("first")
        for i, value in enumerate(values, 1):
            here: exp.Expr = self.sql.line(f"rank_{i}").eq(exp.Literal.number(place))
            if enough:
                weighs = exp.GTE(this=self.sql.line(f"weight_{i}"), expression=least.copy())
                here = exp.and_(here, weighs, copy=False)
            case = case.when(here, value, copy=False)
        return case

    def _sentence(self, candidate: Candidate) -> exp.Expr:
        said = self.sql.text(candidate.sentence)
        if candidate.missing == candidate.sentence:
            return said
        gone = self.sql.node(Missing(candidate.source))
        return exp.Case().when(gone, self.sql.text(candidate.missing)).else_(said)


def _added(numbers: Sequence[exp.Expr]) -> exp.Expr:
    return reduce(lambda left, right: exp.Add(this=left, expression=right), numbers)
