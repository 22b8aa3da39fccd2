"""Draw the steps of the default for docs/method.md, from one fit of a made-up table.

The table has 2,000 loans, whose truth is known: four variables act alone, debt counts where income
is low, two variables say nothing.

Run: python docs/tools/make_method.py
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

from rpte import RPTEClassifier
from rpte.columns.kinds import Hinge, Level, Scale, Step
from rpte.figures.marks import Axis, Tick, chart
from rpte.figures.svg import (
    ACCENT,
    COLOURS,
    FAINT,
    INK,
    LINE,
    STYLE,
    Drawing,
    Place,
    document,
    drawing,
    path,
    rect,
    text,
)
from rpte.figures.text import named_ticks
from rpte.fit.structure_learner import Discovery
from rpte.selection import frontier
from rpte.selection.comparison import Comparison, Evaluation

FOLDER = Path(__file__).parents[1] / "method"
ORANGE, TEAL = "#b85c00", "#007a5e"
DARK = {
    COLOURS["ink"]: "#e6e6e6", FAINT: "#a8a8a8", LINE: "#454b54", ACCENT: "#6ea8e6",
    COLOURS["paper"]: "#14171c", ORANGE: "#f0a35e", TEAL: "#4fc3a1",
}  # fmt: skip
LOOKS = {
    "values": (FAINT, "2 3", "values, logs, levels alone"),
    "levels": (ACCENT, "", "and single values of numbers"),
    "curves": (TEAL, "9 3", "and hinges, distances"),
    "steps": (ORANGE, "5 3", "and steps, sets of levels"),
}
TIMES = "\N{MULTIPLICATION SIGN}"
RISKY = ["farmer", "trader", "waiter"]
JOBS = ["clerk", "driver", "nurse", "student", "teacher", *RISKY]
PARTS: dict[tuple[str, ...], Callable[..., np.ndarray]] = {  # the truth: log odds of default
    ("age",): lambda age: 0.06 * np.maximum(30 - age, 0) + 0.025 * np.maximum(age - 55, 0),
    ("late",): lambda late: 0.9 * (late > 0) + 0.3 * np.minimum(late, 3),
    ("job",): lambda job: 0.8 * np.isin(job, RISKY),
    ("years",): lambda years: -0.05 * np.minimum(years, 10),
    ("debt", "income"): lambda debt, income: 0.07 * np.maximum(debt - 45, 0) * (income < 2600),
}
LOW, HIGH = 2000, 4000  # incomes at which the effect of debt is drawn


class Plot:
    """A chart of the library with more SVG on it."""

    def __init__(self, *given: Any) -> None:
        self.panel, self.body = chart(*given), []

    def line(self, points: Sequence, colour: str, width: float = 2.0, dash: str = "") -> None:
        """Draw a line through points."""
        self.panel.line(points, colour, width, _dashes(dash))

    def dot(self, x: float, y: float, colour: str, size: float) -> None:
        """Draw a dot."""
        self.panel.dot(x, y, colour, size)

    def across(self, x: float) -> float:
        """Return the place of a value on the picture."""
        return Place.of(self.panel).across(x)

    def down(self, y: float) -> float:
        """Return the place of a value on the picture."""
        return Place.of(self.panel).down(y)

    def drawing(self, label: str) -> Drawing:
        """Return the chart with what was put on it."""
        width, height, _, drawn = drawing(self.panel)
        return width, height, label, drawn + "".join(self.body)


def _dashes(dash: str) -> tuple[float, ...]:
    return tuple(map(float, dash.split()))


def loans(n: int = 2000, seed: int = 1) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the table and the outcomes."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": np.clip(rng.gamma(9, 5, n), 18, 85).round(),
            "income": np.exp(rng.normal(7.9, 0.45, n)).round(-1),
            "debt": np.clip(rng.normal(40, 18, n), 0, 95).round(),
            "years": np.minimum(rng.exponential(6, n), 40).round(1),
            "late": rng.poisson(0.5, n),
            "job": rng.choice(sorted(JOBS), n),
            "calls": rng.poisson(4, n),
            "region": rng.choice(["north", "south", "east", "west"], n),
        }
    )
    score = -2.3 + sum(part(*(X[name] for name in names)) for names, part in PARTS.items())
    return X, np.where(rng.random(n) < 1 / (1 + np.exp(-score)), "default", "paid")


@dataclass(frozen=True)
class Example:
    """The table, its default model, and what was found and compared on the way."""

    X: pd.DataFrame
    y: np.ndarray
    clf: RPTEClassifier
    found: Discovery
    compared: Comparison

    @classmethod
    def fitted(cls) -> Example:
        """Fit the default, and keep what its search returns."""
        X, y = loans()
        kept: list[tuple[Discovery, Comparison]] = []
        search = frontier.select

        def select(*given, **named):
            kept.append(search(*given, **named))
            return kept[-1]

        with patch.object(frontier, "select", select):
            clf = RPTEClassifier(positive="default", shapes="free").fit(X, y)
        return cls(X, y, clf, *kept[0])

    def added(self, rows: pd.DataFrame, component: str) -> np.ndarray:
        """Return what a component adds for some rows."""
        return np.array(
            [
                next(c.value for c in one.components if c.component == component)
                for one in self.clf.explain(rows)
            ]
        )

    def rows(self, **cells: Sequence) -> pd.DataFrame:
        """Return the first row again and again, with other cells."""
        size = len(next(iter(cells.values())))
        return pd.concat([self.X.iloc[[0]]] * size, ignore_index=True).assign(**cells)


def picture(width: int, height: int, label: str, body: str) -> str:
    """Return a document that follows the reader's colour scheme."""
    swaps = "".join(
        f'[fill="{light}"]{{fill:{dark}}}[stroke="{light}"]{{stroke:{dark}}}'
        for light, dark in DARK.items()
    )
    dark = f"text{{fill:{DARK[INK]}}}.f{{fill:{DARK[FAINT]}}}{swaps}"
    style = f"{STYLE}.s{{font-size:11px}}@media(prefers-color-scheme:dark){{{dark}}}"
    return document(width, height, label, body).replace(STYLE, style)


def at(x: float, y: float, body: str) -> str:
    """Move a part of a picture."""
    return f'<g transform="translate({x:g} {y:g})">{body}</g>'


def draw_shapes(example: Example) -> str:
    """Step 1: what one number offers, and a category."""
    names = ("value", "log", "distance", "hinges", "steps")
    panels = [_shape_panel(example, name) for name in names]
    panels.append(_levels_panel(example))
    body = "".join(
        at(16 + 250 * (k % 3), 12 + 164 * (k // 3), panel) for k, panel in enumerate(panels)
    )
    return picture(760, 344, "The shapes of one number, and sets of levels of a category", body)


def _shape_panel(example: Example, kind: str) -> str:
    columns = [c for c in example.found.structure.vocabulary.columns if c.sources == ("years",)]
    used = set(example.clf.rules_["conditions"])
    low, high = 0.0, 30.0
    grid = np.linspace(low, high, 601)
    titles = {"value": "years: its value", "log": "its log, because it is skewed"}
    if kind == "value":
        curves = [(grid, False)]
    elif kind in ("log", "distance"):
        (scale,) = [c for c in columns if isinstance(c, Scale) and c.formula == kind]
        (about,) = scale.numbers
        logs = np.log(np.maximum(grid, about))
        curves = [(logs if kind == "log" else np.abs(grid - about), False)]
        titles["distance"] = f"its distance from the median, {about:g}"
    elif kind == "hinges":
        hinges = [c for c in columns if isinstance(c, Hinge)]
        sides = {"above": 1.0, "below": -1.0}
        curves = [
            (np.maximum(sides[c.side] * (grid - c.knot), 0) / high, c.text in used) for c in hinges
        ]
        titles[kind] = f"hinges at {len(hinges) // 2} knots"
    else:
        steps = [c for c in columns if isinstance(c, Step)]
        curves = [(1.0 * (grid > c.threshold), c.text in used) for c in steps]
        titles[kind] = "steps at these"
        chosen = [c.text for c in steps if c.text in used]
        titles[kind] += f"; kept:{chosen[0].removeprefix('years')}" if chosen else ""
    return _mini(titles[kind], grid, curves)


def _mini(title: str, grid: np.ndarray, curves: list[tuple[np.ndarray, bool]]) -> str:
    """Draw curves of one number; those in the model stand out."""
    width, height, top = 222, 128, 22
    foot, parts = height - 4, [text(0, 10, title, "n")]
    alone = len(curves) == 1
    for values, kept in sorted(curves, key=lambda curve: curve[1]):
        span = (values - values.min()) / np.ptp(values) if alone else values
        points = [
            f"{width * k / (len(grid) - 1):.1f} {foot - (foot - top) * v:.1f}"
            for k, v in enumerate(span)
        ]
        slim = [points[k] for k in _corners(span)]
        colour = ORANGE if kept else ACCENT
        way = "M" + "L".join(slim)
        drawn = path(way, colour, 2.5 if kept or alone else 1)
        parts.append(drawn if kept or alone else drawn.replace("/>", f"{FADED}/>"))
    parts.append(path(f"M0 {foot}H{width}", INK))
    parts += [
        text(width * v / grid[-1], foot + 15, name, "s f", "middle" if v else "start")
        for v, name in named_ticks(0, grid[-1], 3)
    ]
    return "".join(parts)


FADED = ' stroke-opacity="0.55"'


def _corners(span: np.ndarray) -> list[int]:
    """Return the places where a curve bends."""
    bends = np.flatnonzero(np.abs(np.diff(span, 2)) > 1e-7) + 1
    few = bends if len(bends) < 20 else np.arange(0, len(span), 10)
    return [0, *few.tolist(), len(span) - 1]


def _levels_panel(example: Example) -> str:
    """Draw the rate of each job, and the sets of jobs that labels make."""
    rates = pd.Series(example.y == "default").groupby(example.X["job"]).mean().sort_values()
    columns = example.found.structure.vocabulary.columns
    sets = [c for c in columns if isinstance(c, Level) and len(c.levels) > 1]
    sets = [set(c.levels) for c in sets if c.sources == ("job",)]
    kept = {frozenset(s) for s in sets if _in_words(s) in set(example.clf.rules_["conditions"])}
    parts = [text(0, 10, "job: its levels, and sets of alike ones", "n")]
    low, high = rates.min() - 0.02, rates.max() + 0.02
    for k, (job, rate) in enumerate(rates.items()):
        y = 26 + 12.5 * k
        x = 62 + 90 * (rate - low) / (high - low)
        parts += [text(52, y + 4, job, "s", "end"), path(f"M60 {y}H154", LINE, 0.7)]
        parts.append(f'<circle cx="{x:.1f}" cy="{y}" r="3.5" fill="{ACCENT}"/>')
        for number, jobs in enumerate(sets):
            if job in jobs:
                colour = ORANGE if frozenset(jobs) in kept else ACCENT
                parts.append(rect(164 + 14 * number, y - 5, 9, 10, colour))
    parts.append(text(62, 139, f"{low:.0%}", "s f", "start"))
    parts.append(text(152, 139, f"{high:.0%}", "s f", "end"))
    parts.append(text(164, 139, "sets", "s f"))
    return "".join(parts)


def _in_words(levels: set[str]) -> str:
    return Level("job", tuple(sorted(levels))).text


def draw_families(example: Example) -> str:
    """Step 2: validated deviance along the penalty paths of the families."""
    paths = {
        key: list(found)
        for key, found in groupby(example.compared.evaluations[1:], key=_family_and_ratio)
        if key is not None
    }
    every = [e.deviance for found in paths.values() for e in found]
    top = min(every) + 0.6 * (max(every) - min(every))
    plot = Plot(
        (0.0, 3.0), (min(every) - 0.004, top), "the largest penalty, divided by 10 so many times",
        "validated deviance", 470, 320,
    )  # fmt: skip
    for (family, ratio), found in paths.items():
        colour, dash, _ = LOOKS[family]
        points = [(np.log10(found[0].penalty.l1 / e.penalty.l1), e.deviance) for e in found]
        plot.line([p for p in points if p[1] <= top], colour, 2.2 if ratio == 1 else 1, dash)
        costs = example.compared.costs(found)
        if ratio == 1:
            plot.dot(*points[int(np.argmin(costs))], colour, 4.5)
    rows = [text(486, 40, "family of shapes (the dot: its best model)", "n f")]
    for k, (family, (colour, dash, said)) in enumerate(LOOKS.items()):
        tried = [e for key, found in paths.items() if key[0] == family for e in found]
        best = tried[int(np.argmin(example.compared.costs(tried)))]
        y = 66 + 46 * k
        rows.append(path(f"M486 {y - 4}h34", colour, 2.4, _dashes(dash)))
        rows.append(text(528, y, said, "n"))
        rows.append(text(528, y + 17, f"{best.deviance:.4f} at {best.miu} conditions", "n f"))
    rows.append(text(486, 262, "thin: the same with a ridge share", "n f"))
    body = plot.drawing("")[3] + "".join(rows)
    label = "Validated deviance of four families of shapes along their penalties"
    return picture(760, 324, label, body)


def _family_and_ratio(evaluation: Evaluation) -> tuple[str, float] | None:
    candidate = evaluation.penalty.candidate
    if candidate.n_trees or candidate.n_pairs or candidate.max_conditions:
        return None
    return candidate.shape_family, evaluation.penalty.l1_ratio


def draw_product(example: Example) -> str:
    """Step 3: what single variables leave of two variables, and what the model adds for them."""
    table, start = example.found.table, example.found.structure.start
    left = pd.DataFrame({name: table.inputs[name] for name in ("debt", "income")})
    left["residual"] = table.y - 1 / (1 + np.exp(-start))
    edges = {name: left[name].quantile(np.arange(6) / 5).tolist() for name in ("debt", "income")}
    edges["income"][-1], edges["debt"][-1] = 5600, 90
    cells = [
        (d, i, 100 * left["residual"][_inside(left, d, i)].mean())
        for d in pairwise(edges["debt"])
        for i in pairwise(edges["income"])
    ]
    rules = example.clf.rules_
    (component,) = rules["component"][rules["sources"].map(len) == 2].unique()
    debts, incomes = np.linspace(0, 90, 37), np.linspace(edges["income"][0], 5600, 60)
    a, b = np.meshgrid((debts[1:] + debts[:-1]) / 2, (incomes[1:] + incomes[:-1]) / 2)
    added = example.added(example.rows(debt=a.ravel(), income=b.ravel()), component)
    added = (added - example.added(example.X, component).mean()).reshape(a.shape)
    fields = []
    for k, debt in enumerate(pairwise(debts)):
        for value, same in groupby(range(len(a)), key=lambda r, k=k: round(added[r, k], 6)):
            places = list(same)
            fields.append((debt, (incomes[places[0]], incomes[places[-1] + 1]), value))
    titles = (
        "What single variables leave, in percentage points",
        "What the model adds for both in the end, log odds",
    )
    body = at(0, 0, _map(titles[0], cells, 25, True)) + at(380, 0, _map(titles[1], fields, 2.5))
    label = "Debt and income: residuals in 25 cells, and the effect that the model has for them"
    return picture(760, 350, label, body)


def _inside(frame: pd.DataFrame, debt: tuple, income: tuple) -> pd.Series:
    found = pd.Series(True, index=frame.index)
    for name, (low, high), end in (("debt", debt, 90), ("income", income, 5600)):
        found &= (frame[name] >= low) & ((frame[name] < high) | (high == end))
    return found


def _map(title: str, fields: list, full: float, numbers: bool = False) -> str:
    """Draw rectangles whose colour tells a value: orange above 0, blue below."""
    plot = Plot((0, 90), (fields[0][1][0], 5600), "debt, % of income", "income", 370, 320)
    parts = [text(56, 14, title, "n")]
    for (a, b), (c, d), value in fields:
        x, y = plot.across(a), plot.down(d)
        width, height = plot.across(b) - x, plot.down(c) - y
        more = f' fill-opacity="{min(abs(value) / full, 1):.2f}"'
        parts.append(rect(x, y, width + 0.2, height, ORANGE if value > 0 else ACCENT, more))
        if numbers:
            parts.append(
                text(
                    x + width / 2,
                    y + height / 2 + 4,
                    f"{value:+.0f}".replace("-0", "0").replace("+0", "0"),
                    "s",
                    "middle",
                )
            )
    parts.append(at(0, 8, plot.drawing("")[3]))
    return parts[0] + at(0, 8, "".join(parts[1:-1])) + parts[-1]


def draw_cost(example: Example) -> str:
    """Step 4: validated deviance, and with the price of the conditions, against conditions."""
    compared = example.compared
    every = compared.evaluations
    costs = dict(zip(map(id, every), compared.costs(every), strict=True))
    chosen = compared.ranked(None)[0]
    low, top, most = min(e.deviance for e in every) - 0.003, chosen.deviance + 0.022, 60
    plot = Plot((0, most), (low, top), "conditions to read", "validated deviance", 760, 340)
    for e in every:
        if e.miu <= most and e.deviance <= top:
            long = e.penalty.candidate.max_conditions is not None
            plot.dot(e.miu, e.deviance, ACCENT if long else FAINT, 3 if long else 2)
    best = compared.frontier(range(most + 1))
    best = [e for e in best if e.miu <= most and e.deviance <= top and e in every]
    plot.line(_stairs([(e.miu, e.deviance) for e in best], most), ACCENT)
    full = compared.explained()
    prices = [(m, e.deviance + full * compared.price.of(m)) for e, m in _within(best, most)]
    plot.line(prices, ORANGE, 2.2, "6 3")
    x, y = plot.across(chosen.miu), plot.down(costs[id(chosen)])
    line = f'fill="none" stroke="{ORANGE}" stroke-width="2.5"'
    ring = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="7" {line}/>'
    words = [
        text(x + 6, y + 40, f"chosen: {chosen.miu} conditions", "h"),
        path(f"M{x + 1:.1f} {y + 9:.1f}L{x + 5:.1f} {y + 26:.1f}", ORANGE, 1.5),
        text(740, plot.down(prices[-1][1]) - 8, "with the price of the conditions", "n", "end"),
        text(740, plot.down(best[-1].deviance) + 16, "least deviance within so many", "n", "end"),
    ]
    label = f"Validated deviance against conditions; with the price, {chosen.miu} are best"
    key = "".join(
        f'<circle cx="{x}" cy="15" r="{3 if colour == ACCENT else 2}" fill="{colour}"/>'
        + text(x + 9, 19, said, "n f")
        for x, colour, said in (
            (60, FAINT, "along penalty paths"),
            (240, ACCENT, "of given lengths"),
        )
    )
    body = plot.drawing("")[3] + ring + "".join(words)
    return picture(760, 366, label, key + at(0, 22, body))


def _stairs(points: list[tuple[float, float]], most: int) -> list[tuple[float, float]]:
    """Return a line that falls where a better model begins."""
    ends = [*(x for x, _ in points[1:]), most]
    return [p for (x, y), end in zip(points, ends, strict=True) for p in ((x, y), (end, y))]


def _within(best: list[Evaluation], most: int) -> list[tuple[Evaluation, int]]:
    """Return for each model the numbers of conditions between it and the next one."""
    ends = [*(e.miu for e in best[1:]), most + 1]
    return [(e, m) for e, end in zip(best, ends, strict=True) for m in range(e.miu, end)]


def draw_model(example: Example) -> str:
    """Step 5: the whole model beside the truth, and the frontier."""
    groups = list(example.clf.rules_.groupby("component", sort=False))
    panels = [_component(example, name, rules) for name, rules in groups]
    panels.append(_frontier(example))
    body = "".join(at(380 * (k % 2), 26 + 236 * (k // 2), p) for k, p in enumerate(panels))
    key = path("M56 13h30", ACCENT, 2.2) + text(
        94, 17, "what the model adds to the log odds", "n f"
    )
    key += path("M400 13h30", ORANGE, 1.6, (5, 4))
    key += text(438, 17, "the truth", "n f")
    height = 26 + 236 * ((len(panels) + 1) // 2)
    return picture(760, height, "Every component of the model beside the truth", key + body)


def _component(example: Example, component: str, rules: pd.DataFrame) -> str:
    names = tuple(sorted({name for sources in rules["sources"] for name in sources}))
    first = example.X[names[0]]
    jobs = names == ("job",)
    counts = first.nunique() < 10
    values = sorted(first.unique()) if counts else np.linspace(first.min(), first.max(), 401)
    truth = PARTS.get(names, lambda *cells: np.zeros(len(cells[0])))
    means = example.added(example.X, component).mean(), truth(*(example.X[n] for n in names)).mean()
    plot = Plot((0, len(values) - 1) if jobs else (values[0], values[-1]), (-1.2, 3.2), names[0],
                "", 380, 200)  # fmt: skip
    lines = []
    for other in (LOW, HIGH) if len(names) == 2 else (None,):
        cells = {names[0]: values} | ({names[1]: [other] * len(values)} if other else {})
        rows = example.rows(**cells)
        true = truth(*(rows[n] for n in names)) - means[1]
        lines.append((example.added(rows, component) - means[0], true, other))
    for model, true, other in lines:
        if not jobs:
            plot.line([(values[k], model[k]) for k in _corners(model)], ACCENT, 2.2)
            plot.line([(values[k], true[k]) for k in _corners(np.array(true))], ORANGE, 1.6, "5 4")
        if other:
            last = len(values) - 1 if other == HIGH else 3 * len(values) // 4
            x, y = plot.across(values[last]), plot.down(model[last])
            down, aside = (16, 0) if other == HIGH else (0, 12)
            plot.body.append(text(x - aside, y + down, f"income {other:,}", "s", "end"))
    body = _jobs(plot, values, lines[0]) if jobs else plot.drawing("")[3]
    numbers = zip(rules["conditions"], rules["step"].notna(), strict=True)
    terms = [f"{TIMES} " * number + t.split(" (missing")[0] for t, number in numbers]
    said = [f"{b:+.3g}  {t}" for t, b in zip(terms, rules["coefficient"], strict=True)]
    notes = "".join(text(56, 33 + 15 * (k - len(said)), s, "s") for k, s in enumerate(said, 1))
    return at(0, 32, body) + notes


def _jobs(plot: Plot, values: Sequence[str], line: tuple) -> str:
    """Draw the levels of a category: the model's as dots, the truth as short lines."""
    order = np.argsort(line[0], kind="stable")
    names = [Tick(k, values[j], True) for k, j in enumerate(order)]
    plot.panel.x = Axis(-0.5, len(values) - 0.5, "", names)
    for k, j in enumerate(order):
        plot.line([(k - 0.3, line[1][j]), (k + 0.3, line[1][j])], ORANGE, 1.6, "5 4")
        plot.dot(k, line[0][j], ACCENT, 4)
    return plot.drawing("")[3]


def _frontier(example: Example) -> str:
    """Draw the models that are kept beside the chosen one."""
    shown = example.clf.frontier_
    values, errors = shown["deviance"], shown["error"]
    most = float(shown["miu"].max())
    plot = Plot((-0.5, most + 1), (values.min() - 0.015, values.max() + 0.01), "conditions",
                "", 380, 200)  # fmt: skip
    plot.line(list(zip(shown["miu"], values, strict=True)), FAINT, 1.2)
    for miu, value, error in zip(shown["miu"], values, errors, strict=True):
        plot.panel.interval(miu, value - error, value + error, FAINT)
        plot.dot(miu, value, ORANGE if miu == example.clf.audit().miu else ACCENT, 4)
    return at(0, 32, plot.drawing("")[3]) + text(56, 33, "the frontier: validated deviance", "n")


PICTURES = {
    "shapes": draw_shapes,
    "families": draw_families,
    "product": draw_product,
    "cost": draw_cost,
    "model": draw_model,
}


def main() -> None:
    """Write all pictures."""
    example = Example.fitted()
    for name, draw in PICTURES.items():
        (FOLDER / f"{name}.svg").write_text(draw(example), encoding="utf-8")


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    main()
