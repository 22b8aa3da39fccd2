"""Draw models of real tables: the README's docs/model.svg, and docs/published.svg.

The first is a default model whole, with one prediction taken apart: coronary heart disease among
462 men (the paper's set `saheart`, read from the folder of `benchmarks/data.py`). The second is the
published configuration on scikit-learn's breast cancer table.

Run: python docs/tools/make_picture.py
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from rpte import RPTEClassifier
from rpte.report.draw import draw_model

DOCS = Path(__file__).parents[1]
sys.path.insert(0, str(DOCS.parent / "benchmarks"))

from data import read  # noqa: E402

NAMES = {
    "Age": "age",
    "Famhist": "family history",
    "Tobacco": "tobacco",
    "Ldl": "LDL cholesterol",
    "Typea": "type-A score",
    "Sbp": "blood pressure",
    "Obesity": "obesity",
}
UNITS = {"age": " years", "tobacco": " kg", "blood pressure": " mmHg"}
MAN = 0  # the row that is taken apart
TIMES = "\N{MULTIPLICATION SIGN}"
SLOPE = re.compile(r"(log of )?(.*?), from (\S+) \(missing")
KEPT = re.compile(r".*? kept between (\S+) and (\S+), from (\S+) \(missing")

WIDTH, ROW, TOP, START, BOTTOM = 860, 50, 76, 32, 78
TERM = 14  # height of the line of a term
TEXT, CURVE, CURVE_WIDTH, VALUE, ZERO, BAR = 20, 330, 190, 545, 715, 90
STYLE = """
text { font: 14px 'DejaVu Sans', 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1c1b1f }
.title { font-size: 16px; font-weight: bold }
.name, .sum { font-weight: bold }
.small { font-size: 11.5px; fill: #5f5f5f }
.page { fill: #ffffff; stroke: #d7d7d7 }
.rule { stroke: #c9c9c9 }
.curve { fill: none; stroke: #1f5fa8; stroke-width: 2 }
.raises { fill: #b3261e } .lowers { fill: #1b6e4f }
.dot { stroke: #ffffff; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6e6e6 } .small { fill: #a8a8a8 } .page { fill: #14171c; stroke: #363b42 }
  .rule { stroke: #454b54 } .curve { stroke: #6ea8e6 } .dot { stroke: #14171c }
  .raises { fill: #f2857c } .lowers { fill: #58c08f }
}
"""


@dataclass(frozen=True)
class Line:
    """One variable: its terms in words, what each of its values adds, and what one man's adds."""

    name: str
    terms: list[str]
    values: list[float]
    adds: list[float]
    value: float
    added: float

    @property
    def height(self) -> int:
        """What the name and its terms need, one below the other."""
        return max(ROW, 24 + TERM * len(self.terms))


def lines_of(clf: RPTEClassifier, X: pd.DataFrame) -> list[Line]:
    """Return the components of the model, one variable each, in the order of the file."""
    rules = clf.rules_
    return [_line(clf, X, name, part) for name, part in rules.groupby("component", sort=False)]


def _line(clf: RPTEClassifier, X: pd.DataFrame, component: str, rules: pd.DataFrame) -> Line:
    ((source,),) = {tuple(sources) for sources in rules["sources"]}
    column = X[source]
    few = sorted(column.unique())
    values = few if len(few) == 2 else np.linspace(column.min(), column.max(), 61).tolist()
    rows = pd.concat([X.iloc[[MAN]]] * len(values), ignore_index=True).assign(**{source: values})
    texts = [text.replace(source, NAMES[source]) for text in rules["conditions"]]
    yes_no = values == [0, 1]
    terms = [_term(*pair, yes_no) for pair in zip(texts, rules["coefficient"], strict=True)]
    return Line(
        NAMES[source],
        terms,
        values,
        [_added(one, component) for one in clf.explain(rows)],
        column.iloc[MAN],
        _added(clf.explain(X.iloc[[MAN]])[0], component),
    )


def _added(explanation, component: str) -> float:
    return next(c.value for c in explanation.components if c.component == component)


def _term(text: str, coefficient: float, yes_no: bool) -> str:
    """Write a term: per unit between its limits, as a slope from its centre, or its condition."""
    kept, found = KEPT.match(text), SLOPE.match(text)
    if kept is not None and yes_no:
        return f"{coefficient:+.3g} if yes"
    if kept is not None:
        low, high, centre = kept.groups()
        return f"{coefficient:+.3g} per unit from {low} to {high}, 0 at {centre}"
    if found is None:
        return f"{coefficient:+.3g} if {text}"
    what, centre = found[2], float(found[3])
    if found[1]:
        return f"{coefficient:+.3g} {TIMES} log({what} / {centre:g})"
    from_centre = f"({what} {'-' if centre > 0 else '+'} {abs(centre):g})" if centre else what
    return f"{coefficient:+.3g} {TIMES} {from_centre}"


def draw_sum(clf: RPTEClassifier, X: pd.DataFrame) -> str:
    """Return the picture of a model whose components have one variable each."""
    lines = lines_of(clf, X)
    explanation = clf.explain(X.iloc[[MAN]])[0]
    first = TOP + START
    tops = [first + sum(line.height for line in lines[:k]) for k in range(len(lines) + 1)]
    height = tops[-1] + BOTTOM
    largest = max(abs(v) for line in lines for v in line.adds)
    body = [_head(len(X)), _start(explanation.intercept, TOP)]
    body += [_row(line, y, largest) for line, y in zip(lines, tops, strict=False)]
    body.append(_foot(explanation.score, explanation.probability, tops[-1]))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="A whole model: {len(lines)} '
        f'variables, what each value adds, and one prediction as their sum"><style>{STYLE}</style>'
        f'<rect class="page" x="0.5" y="0.5" width="{WIDTH - 1}" height="{height - 1}" rx="6"/>\n'
        + "\n".join(body)
        + "</svg>\n"
    )


def _text(x: float, y: float, text: str, look: str = "", anchor: str = "start") -> str:
    kind = f' class="{look}"' if look else ""
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _head(men: int) -> str:
    title = f"The whole model: coronary heart disease, learned from {men} men"
    return "\n".join(
        [
            _text(TEXT, 30, title, "title"),
            _text(TEXT, 60, "what is read", "small"),
            _text(CURVE, 60, "what each value adds", "small"),
            _text(VALUE, 60, "one man", "small"),
            _text(ZERO, 60, "adds to his log odds", "small", "middle"),
            f'<path class="rule" d="M{TEXT} {TOP - 8}H{WIDTH - TEXT}"/>',
        ]
    )


def _row(line: Line, y: float, largest: float) -> str:
    middle = y + line.height / 2
    shown = _shown(line, line.value) + UNITS.get(line.name, "")
    return "\n".join(
        [
            _text(TEXT, y + (17 if len(line.terms) > 1 else 22), line.name, "name"),
            *(
                _text(TEXT, y + (31 if len(line.terms) > 1 else 38) + TERM * k, term, "small")
                for k, term in enumerate(line.terms)
            ),
            _curve(line, middle, largest),
            _text(VALUE, middle + 5, shown),
            _bar(line.added, middle, largest),
        ]
    )


def _shown(line: Line, value: float) -> str:
    """Write a value; the two of a variable that is 0 or 1 are no and yes."""
    return ("no", "yes")[int(value)] if line.values == [0, 1] else f"{value:g}"


def _curve(line: Line, middle: float, largest: float) -> str:
    """Draw what every value adds, with a dot at the man's; levels are bars."""
    scale = (ROW / 2 - 3) / largest
    out = [f'<path class="rule" d="M{CURVE} {middle}h{CURVE_WIDTH}"/>']
    look = "raises" if line.added > 0 else "lowers"
    if len(line.values) == 2:
        step = CURVE_WIDTH / len(line.values)
        points = [(CURVE + step * (k + 0.5), middle - v * scale) for k, v in enumerate(line.adds)]
        out += [f'<path class="curve" d="M{x - 24:.1f} {h:.1f}h48"/>' for x, h in points]
        out += [
            _text(x, middle + 15, _shown(line, value), "small", "middle")
            for value, (x, _) in zip(line.values, points, strict=True)
        ]
        x, h = points[line.values.index(line.value)]
    else:
        low, high = line.values[0], line.values[-1]
        across, up = (*line.values, line.value), (*line.adds, line.added)
        *curve, (x, h) = [
            (CURVE + CURVE_WIDTH * (value - low) / (high - low), middle - added * scale)
            for value, added in zip(across, up, strict=True)
        ]
        path = "L".join(f"{a:.1f} {b:.1f}" for a, b in curve)
        out.append(f'<path class="curve" d="M{path}"/>')
    out.append(f'<circle class="dot {look}" cx="{x:.1f}" cy="{h:.1f}" r="5"/>')
    return "\n".join(out)


def _bar(added: float, middle: float, largest: float) -> str:
    length = BAR * abs(added) / largest
    look, x = ("raises", ZERO) if added > 0 else ("lowers", ZERO - length)
    place, anchor = (ZERO + length + 6, "start") if added > 0 else (ZERO - length - 6, "end")
    return (
        f'<path class="rule" d="M{ZERO} {middle - ROW / 2 + 4}v{ROW - 8}"/>'
        f'<rect class="{look}" x="{x:.1f}" y="{middle - 8}" width="{length:.1f}" height="16"/>'
        + _text(place, middle + 5, f"{added:+.2f}", "", anchor)
    )


def _start(intercept: float, y: float) -> str:
    """Draw the line that every sum begins with."""
    return _text(TEXT, y + 20, "everyone starts at", "name") + _text(
        ZERO, y + 20, f"{intercept:+.2f}", "", "middle"
    )


def _foot(score: float, probability: float, y: float) -> str:
    says = "Nothing else enters, and no variable is in two rows: anyone can add it up again."
    risk = f"1 / (1 + exp({-score:+.2f})) = {probability:.0%} risk"
    return "\n".join(
        [
            f'<path class="rule" d="M{TEXT} {y + 6}H{WIDTH - TEXT}"/>',
            _text(TEXT, y + 32, "the sum", "name"),
            _text(ZERO, y + 32, f"{score:+.2f}", "sum", "middle"),
            _text(TEXT, y + 62, says, "small"),
            _text(WIDTH - TEXT, y + 62, risk, "sum", "end"),
        ]
    )


def draw_default() -> str:
    """Return the picture of the default model of all rows."""
    X, y = read("paper12/saheart")
    return draw_sum(RPTEClassifier().fit(X, y), X)


def draw_published() -> str:
    """Return the picture of the published configuration."""
    data = load_breast_cancer(as_frame=True)
    y = data.target.map({0: "malignant", 1: "benign"}).astype(object)
    return draw_model(RPTEClassifier.paper(positive="malignant").fit(data.data, y).model_)


def main() -> None:
    """Write both pictures."""
    (DOCS / "model.svg").write_text(draw_default(), encoding="utf-8")
    (DOCS / "published.svg").write_text(draw_published(), encoding="utf-8")


if __name__ == "__main__":
    main()
