"""The trade-off between conditions and validated deviance, as a model tells it.

`frontier_panel` is the picture, `plot_frontier` the same for a terminal of any width.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rpte.errors import InputError
from rpte.figures import svg
from rpte.figures.marks import Axis, DotMark, Panel, Spot, TextMark
from rpte.figures.text import decimals, ticks, widened
from rpte.model.classes import ClassesModel
from rpte.model.model import Model
from rpte.model.summary import counted

WORTH_A_LOOK = 0.75  # share explained from which on a model sets the scale
SQUEEZED = 2.0  # times the scale that all models would need
LINES = 16  # of the plot in a terminal
POINT, CHOSEN, ABOVE, BAR = "●", "◆", "▲", "│"
ASCII = str.maketrans("●◆▲│┤└─┬", "o#^|++-+")  # for terminals without these characters


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """One model of the frontier."""

    miu: int
    components: int
    deviance: float
    error: float
    chosen: bool

    @property
    def ends(self) -> tuple[float, float]:
        """One standard error less, and one more."""
        return self.deviance - self.error, self.deviance + self.error


@dataclass(frozen=True, slots=True)
class Frontier:
    """The points by rising conditions, and what their shares and the choice are measured by."""

    points: tuple[FrontierPoint, ...]
    null_deviance: float
    explainable: float  # deviance between the base rate and the best model found
    price: float  # share of it that one more condition must explain

    def scale(self) -> tuple[float, float]:
        """Return the range of deviance to draw, so that the models worth a look can be told apart.

        Models that explain little go off the scale where they would squeeze at least three others,
        the chosen one among these.
        """
        seen = [p for p in self.points if p.chosen or self.share(p.deviance) >= WORTH_A_LOOK]
        low, high = _range(self.points)
        if len(seen) >= 3:
            floor, top = _range(seen)
            low, high = (floor, top) if high - low > SQUEEZED * (top - floor) else (low, high)
        return (low, high) if high > low else (low, low + 1.0)

    def share(self, deviance: float) -> float:
        """Return the share of the explainable deviance that a validated deviance explains."""
        return (self.null_deviance - deviance) / self.explainable if self.explainable else 0.0

    def condition_ticks(self, most: int) -> tuple[list[int], int]:
        """Return round numbers of conditions, and the number at which the axis ends."""
        last = max(1, *(p.miu for p in self.points))
        return sorted({round(at) for at in ticks(0, last, most)}), last


def _range(points: Sequence[FrontierPoint]) -> tuple[float, float]:
    return min(p.ends[0] for p in points), max(p.ends[1] for p in points)


def read_frontier(model: Model | ClassesModel) -> Frontier:
    """Return the frontier that a model tells of; if it has none, say why and what to do."""
    selection = model.training["selection"]
    if selection is None or not selection["frontier"] or not selection["null_deviance"]:
        raise InputError(f"this model has no frontier: {_why_none(model)}")
    chosen, names = selection["chosen"].items(), ("miu", "components", "deviance", "error")
    points = tuple(
        FrontierPoint(**{n: at[n] for n in names}, chosen=all(at.get(n) == v for n, v in chosen))
        for at in selection["frontier"]
    )
    null = selection["null_deviance"]
    explainable = max(null - min(p.deviance for p in points), 0.0)
    return Frontier(points, null, explainable, selection["price"])


def _why_none(model: Model | ClassesModel) -> str:
    settings = model.settings
    if not settings["reassign"]:
        return "reassign=False keeps the trees' own leaf values; fit without it, with l1='cv'"
    if settings["l1"] != "cv":
        return (
            f"its penalty was given, l1={settings['l1']!r}, so no other model was compared with "
            "it; fit with l1='cv', the default of RPTEClassifier (RPTEClassifier.paper takes it "
            "too)"
        )
    return "no rows of both classes could be held out, so nothing was validated; give more cases"


def draw_frontier(frontier: Frontier) -> str:
    """Return the frontier as an SVG document."""
    panel = frontier_panel(frontier)
    panel.title = f"What fewer conditions cost: {frontier_note(frontier)}"
    panel.height += svg.TITLE_ROOM
    return svg.document(*svg.drawing(panel))


def frontier_note(frontier: Frontier) -> str:
    """Return the caption of the picture."""
    note = "bars: one standard error"
    if any(p.deviance > frontier.scale()[1] for p in frontier.points):
        note += "; triangles lie above the scale"
    return note


def frontier_panel(frontier: Frontier, width: int = 640) -> Panel:
    """Return the picture of the frontier.

    Points with bars of one standard error either way; the line is the best within each number of
    conditions; a triangle stands for a point above the scale.
    """
    low, high = frontier.scale()
    foot, top = widened(low, high, 0.05)
    points, (round_ones, last) = frontier.points, frontier.condition_ticks(8)
    places = [(float(p.miu), min(p.deviance, top)) for p in points]
    said = "; ".join(f"{p.miu} conditions {p.deviance:.4f}" for p in points)
    panel = Panel(
        Axis(-0.03 * last, 1.05 * last, "conditions in the model"),
        Axis(foot, top, "validated deviance"),
        f"Validated deviance against conditions for {len(points)} models: {said}",
        width,
        360,
    )
    panel.x.ticks = [(miu, f"{miu:,}") for miu in round_ones]
    panel.y.far_label = "share of the best model's gain"
    panel.y.far_ticks = _explained(frontier, foot, top)
    steps = [places[0]]
    for x, y in places[1:]:
        steps += [(x, steps[-1][1]), (x, y)]
    panel.line(steps, "line", 1.5)
    for point, (x, y) in zip(points, places, strict=True):
        above = point.deviance > high
        if not above:
            panel.interval(x, *point.ends, "ink", 1.0)
        sign = "triangle" if above else "diamond" if point.chosen else "circle"
        colour = "raises" if point.chosen else "accent"
        panel.marks.append(DotMark([(x, y)], colour, sign, 5.0 if point.chosen else 3.5))
        explained = f", {frontier.share(point.deviance):.1%} of the best gain"
        said = f"{point.miu} conditions: deviance {point.deviance:.4f} ± {point.error:.4f}"
        panel.spots.append(Spot(x, y, said + explained + ", chosen" * point.chosen))
        if point.chosen:
            right = point.miu > last / 2  # there the label would cross the axis
            words = f"chosen: {counted(point.miu, 'condition')}, deviance {point.deviance:.4f}"
            shift = (-9.0 if right else 9.0, 12.0)
            panel.marks.append(TextMark(x, y, words, "end" if right else "start", shift))
    return panel


def _explained(frontier: Frontier, low: float, high: float) -> list[tuple[float, str]]:
    """Return a scale that reads a deviance as a share of what can be explained."""
    found: list[tuple[float, str]] = []
    for percent in (*range(0, 90, 10), 90, 95, 98, 99, 100) if frontier.explainable else ():
        at = frontier.null_deviance - percent / 100 * frontier.explainable
        gap = (high - low) * 0.06
        if low <= at <= high and all(abs(at - other) > gap for other, _ in found):
            found.append((at, f"{percent}%"))
    return found


def plot_frontier(frontier: Frontier, width: int) -> str:
    """Return the plot of `frontier_panel` as lines of at most `width` characters."""
    low, high = frontier.scale()
    heights = ticks(low, high, 6)
    names = {_line(at, low, high): f"{at:.{decimals(heights)}f}" for at in heights}
    margin = max(len(name) for name in [*names.values(), ""]) + 1
    marks, last = frontier.condition_ticks(max(2, (width - margin) // 10))
    room = max(20, width - margin - 2 - len(str(marks[-1])))
    cells = [[" "] * (room + 1) for _ in range(LINES)]
    for point in sorted(frontier.points, key=lambda p: p.chosen):  # the chosen one on top
        _put(cells, point, round(point.miu / last * room), (low, high))
    lines = [
        f"{names.get(row, ''):>{margin}}{'┤' if row in names else BAR}{''.join(cells[row])}"
        for row in range(LINES)
    ]
    legend = _legend("".join(lines))
    places = {round(miu / last * room): str(miu) for miu in marks}
    labels = ""
    for x, text in places.items():
        labels = labels.ljust(x) + text
    lines += [
        " " * margin + "└" + "".join("┬" if x in places else "─" for x in range(room + 1)),
        " " * (margin + 1) + labels,
        " " * (margin + 1) + "conditions in the model (MIU)".center(room + 1),
    ]
    return "\n".join(line.rstrip() for line in ["validated deviance", *lines, "", legend])


def _line(deviance: float, low: float, high: float) -> int:
    return round((high - deviance) / (high - low) * (LINES - 1))


def _put(cells: list[list[str]], point: FrontierPoint, x: int, scale: tuple[float, float]) -> None:
    low, high = scale
    if point.deviance > high:
        cells[0][x] = ABOVE
        return
    at, reach = _line(point.deviance, low, high), round(point.error / (high - low) * (LINES - 1))
    for row in range(max(at - reach, 0), min(at + reach, LINES - 1) + 1):
        if cells[row][x] == " ":
            cells[row][x] = BAR
    cells[at][x] = CHOSEN if point.chosen else POINT


def _legend(drawn: str) -> str:
    meaning = {POINT: "model", CHOSEN: "chosen", BAR: "standard error", ABOVE: "above the scale"}
    bars = drawn.count(BAR) + drawn.count("┤") > LINES
    shown = [s for s in meaning if (bars if s == BAR else s in drawn)]
    return "   ".join(f"{s} {meaning[s]}" for s in shown)
