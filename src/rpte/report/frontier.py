"""The trade-off between conditions and validated deviance, as a model tells it, drawn twice.

`frontier_drawing` is the picture, `plot_frontier` the same for a terminal of any width.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rpte.errors import InputError
from rpte.model.classes import ClassesModel
from rpte.model.model import Model
from rpte.report import svg

WORTH_A_LOOK = 0.75  # share explained from which on a model sets the scale
SQUEEZED = 2.0  # times the scale that all models would need
LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT, RIGHT, BOTTOM = 76, 64, 560, 300, 84, 60  # of the picture
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
        return sorted({round(at) for at in svg.ticks(0, last, most)}), last


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
    return svg.document(*frontier_drawing(frontier))


def frontier_drawing(frontier: Frontier) -> svg.Drawing:
    """Return the picture of the frontier.

    Points with bars of one standard error either way; the line is the best within each number of
    conditions; an arrow stands for a point above the scale.
    """
    low, high = frontier.scale()
    marks, last = frontier.condition_ticks(8)
    heights, foot, points = svg.ticks(low, high, 6), TOP + PLOT_HEIGHT, frontier.points

    def across(miu: float) -> float:
        return LEFT + 12 + miu / last * (PLOT_WIDTH - 24)

    def down(deviance: float) -> float:
        return TOP + 10 + (high - deviance) / (high - low) * (PLOT_HEIGHT - 20)

    body = [_frame(points, high)]
    names = {at: f"{at:.{svg.decimals(heights)}f}" for at in heights}
    body += [_level(down(at), name, frontier.share(at)) for at, name in names.items()]
    for miu in marks:
        body.append(svg.path(f"M{across(miu):.1f} {foot}v5", svg.INK))
        body.append(svg.text(across(miu), foot + 20, str(miu), "n", "middle"))
    places = [(across(p.miu), max(down(p.deviance), TOP)) for p in points]
    steps = "".join(f"H{x:.1f}V{y:.1f}" for x, y in places[1:])
    body.append(svg.path(f"M{places[0][0]:.1f} {places[0][1]:.1f}{steps}", svg.LINE, 1.5))
    for point, (x, y) in zip(points, places, strict=True):
        above = point.deviance > high
        if not above:
            ends = min(down(point.ends[0]), foot), max(down(point.ends[1]), TOP)
            body.append(svg.path(f"M{x:.1f} {ends[1]:.1f}V{ends[0]:.1f}", svg.INK))
        body.append(_sign(point, x, y, above))
    label = f"Validated deviance against conditions for {len(points)} models"
    return LEFT + PLOT_WIDTH + RIGHT, foot + BOTTOM, label, "".join(body)


def _frame(points: Sequence[FrontierPoint], top: float) -> str:
    """Return the title, the names of the axes, the meaning of the signs and the box."""
    signs = ["▲ above the scale"] if any(p.deviance > top for p in points) else []
    signs += [f"◆ chosen: MIU {p.miu}, deviance {p.deviance:.4f}" for p in points if p.chosen]
    end, foot, right = LEFT + PLOT_WIDTH, TOP + PLOT_HEIGHT, LEFT + PLOT_WIDTH + RIGHT - 8
    return (
        svg.text(LEFT, 24, "What fewer conditions cost", "h")
        + svg.text(right, 24, "; ".join(signs), "", "end")
        + svg.text(LEFT, TOP - 10, "validated deviance; bars: one standard error", "f n")
        + svg.text(right, TOP - 10, "share explained", "f n", "end")
        + svg.text((LEFT + end) / 2, foot + 46, "conditions in the model (MIU)", "", "middle")
        + svg.path(f"M{LEFT} {TOP}H{end}V{foot}H{LEFT}z", svg.LINE)
    )


def _level(y: float, deviance: str, share: float) -> str:
    line = svg.path(f"M{LEFT} {y:.1f}h{PLOT_WIDTH}", svg.LINE, 1, ' stroke-dasharray="1 3"')
    explained = f"{share:.1%}" if 0 < share <= 1 else ""
    right = svg.text(LEFT + PLOT_WIDTH + 8, y + 4, explained, "f n")
    return line + svg.text(LEFT - 8, y + 4, deviance, "n", "end") + right


def _sign(point: FrontierPoint, x: float, y: float, above: bool) -> str:
    colour = svg.ACCENT if point.chosen else svg.INK
    if above:
        return f'<path d="M{x - 5:.1f} {y + 9:.1f}h10l-5 -8z" fill="{colour}"/>'
    if point.chosen:
        return f'<path d="M{x:.1f} {y - 8:.1f}l8 8l-8 8l-8 -8z" fill="{colour}"/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'


def plot_frontier(frontier: Frontier, width: int) -> str:
    """Return the plot of `frontier_drawing` as lines of at most `width` characters."""
    low, high = frontier.scale()
    heights = svg.ticks(low, high, 6)
    names = {_line(at, low, high): f"{at:.{svg.decimals(heights)}f}" for at in heights}
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
