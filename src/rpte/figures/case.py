"""How one row comes to its score: bars from the base through all components, the largest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

from rpte.figures.marks import Axis, DotMark, Panel, Spot, TextMark, Tick
from rpte.figures.subject import unit_of
from rpte.figures.text import name, number, plain, ratio_ticks, signed
from rpte.model.class_explanation import ClassExplanation
from rpte.model.effect import NOTHING
from rpte.model.explain import Explanation, value_text
from rpte.model.target import AnyTarget, Target

MOST_BARS = 12
MOST_LABEL = 52  # characters of what stands beside a bar
PROBABILITIES = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)


class Bar(NamedTuple):
    """What one component, or some of them, adds to the score."""

    component: str
    label: str  # the values of the case
    value: float


@dataclass
class CaseFigure:
    """The score of one row as a sum; `CaseDisplay` describes the fields."""

    bars: list[Bar]
    base: float
    score: float
    start: str
    unit: str
    title: str
    notes: tuple[str, ...] = ()
    marks: Sequence[tuple[float, str]] = ()
    marks_name: str = ""

    @classmethod
    def of(cls, explained: Explanation | ClassExplanation) -> Self:
        """Return an explanation as a sum, not drawn yet."""
        if isinstance(explained, ClassExplanation):
            return cls._of_classes(explained)
        told = explained
        bars = [
            Bar(c.component, _given(told.inputs, c.sources), c.value)
            for c in sorted(told.components, key=lambda c: -abs(c.value))
        ]
        target = told.target
        title = target.caption(told.response)
        return cls(
            bars,
            told.intercept,
            told.score,
            told.start,
            unit_of(target),
            title[:1].upper() + title[1:],
            (*told.said_for, *told.flags),
            *_scale_of(target),
        )

    @classmethod
    def _of_classes(cls, explained: ClassExplanation) -> Self:
        """Return why a row is given one class and not another."""
        chosen, against = explained.chosen, explained.against
        ranked = sorted(explained.probabilities.items(), key=lambda pair: -pair[1])
        told = ", ".join(f"{label} {p:.1%}" for label, p in ranked[:5])
        found = cls.of(explained.difference)
        return replace(
            found,
            unit=f"log odds of {chosen} against {against}",
            title=f"Why {chosen} and not {against}",
            notes=(f"probabilities: {told}", *found.notes),
            marks_name="probability, of these two alone",
        )

    @property
    def note(self) -> str:
        """Further predictions, and what training did not have."""
        return "; ".join(self.notes)

    def shown(self) -> list[Bar]:
        """Return the bars that are drawn: those of zero, and the least of many, are folded."""
        largest = max((abs(bar.value) for bar in self.bars), default=0.0)
        kept = [bar for bar in self.bars if abs(bar.value) > NOTHING * largest]
        zeros = len(self.bars) - len(kept)
        more = kept[MOST_BARS - 1 :] if len(kept) > MOST_BARS else []
        drawn = kept[: len(kept) - len(more)]
        if more:
            drawn.append(Bar("", f"{len(more)} others", sum(bar.value for bar in more)))
        if zeros:
            drawn.append(Bar("", f"{zeros} other{'s' * (zeros > 1)}: 0", 0.0))
        return drawn

    def panel(self, width: int = 640) -> Panel:
        """Return the waterfall."""
        shown, at, ends = self.shown(), self.base, [self.base]
        for bar in shown:
            ends.append(ends[-1] + bar.value)
        last, (low, high) = len(shown) + 1, (min(ends), max(ends))
        room = ((high - low) or 1.0) * 0.16
        names = [self.start, *(name(bar.label, MOST_LABEL) for bar in shown), "score"]
        across = Axis(low - room, high + room, plain(self.unit))
        across.far_label, across.far_ticks = self._far(across)
        rows = Axis(last + 0.7, -0.7, "", [Tick(y, said) for y, said in enumerate(names)], True)
        said = ", ".join(f"{bar.label} {signed(bar.value)}" for bar in shown)
        label = f"Score as a sum: {self.start} {signed(self.base)}, {said}, score "
        height = 70 + 27 * (last + 1) + 34 * bool(across.far_ticks)
        panel = Panel(across, rows, f"{label}{signed(self.score)}; {self.title}", width, height)
        for y, bar in enumerate(shown, 1):
            if bar.value:
                panel.signed_bar(at, bar.value, y, 0.34)
                panel.marks.append(_number_beside(bar.value, at, y, across))
            panel.line([(at, y - 1), (at, y + 0.34)], "ink", 0.8)
            at += bar.value
            panel.spots.append(Spot(at, y, f"{bar.label}: {signed(bar.value)}, sum {signed(at)}"))
        panel.line([(at, last - 1), (at, last + 0.34)], "ink", 0.8)
        panel.line([(self.base, -0.34), (self.base, 0.34)], "ink", 1.6)
        panel.marks.append(DotMark([(self.score, last)], "ink", "diamond", 4.5))
        for y, value in ((0, self.base), (last, self.score)):
            panel.marks.append(TextMark(value, y, signed(value), "start", (9, 0), "h n"))
        return panel

    def _far(self, across: Axis) -> tuple[str, Sequence[tuple[float, str]]]:
        """Return a scale that reads scores as what they stand for."""
        if not self.marks_name:
            return "", ()
        if not self.marks:
            return self.marks_name, ratio_ticks(across.low, across.high)
        kept: list[tuple[float, str]] = []
        for at, text in self.marks:
            gap = (across.high - across.low) * 0.07
            if across.low <= at <= across.high and (not kept or at - kept[-1][0] > gap):
                kept.append((at, text))
        return self.marks_name, kept


def _number_beside(value: float, start: float, y: float, across: Axis) -> TextMark:
    """Return the number at the end of a bar, where the names leave room."""
    left = min(start, start + value)
    right = value > 0 or left < across.low + 0.2 * (across.high - across.low)
    at = max(start, start + value) if right else left
    return TextMark(at, y, signed(value), "start" if right else "end", (5 if right else -5, 0))


def _scale_of(target: AnyTarget) -> tuple[Sequence[tuple[float, str]], str]:
    if isinstance(target, Target):
        return [(target.score_for(p), f"{p:g}") for p in PROBABILITIES], target.response_name
    return (), target.response_name if target.multiplies else ""


def _given(inputs: Mapping[str, Any], sources: Sequence[str]) -> str:
    """Say the values of a component's variables in the case."""
    return ", ".join(f"{plain(s)} = {_value(inputs[s])}" for s in sources)


def _value(value: float | str | None) -> str:
    return number(value) if isinstance(value, float) else name(value_text(value), 20)
