"""The frontier as an SVG picture."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from rpte.report.frontier import Frontier, FrontierPoint, condition_ticks, decimals, ticks
from rpte.report.svg import ACCENT, INK, LINE, svg_document

LEFT, TOP, PLOT_WIDTH, PLOT_HEIGHT, RIGHT, BOTTOM = 76, 64, 560, 300, 84, 60


def draw_frontier(frontier: Frontier) -> str:
    """Return the frontier as an SVG document."""
    return svg_document(*frontier_drawing(frontier))


def frontier_drawing(frontier: Frontier) -> tuple[int, int, str, str]:
    """Return the picture of the frontier: width, height, label, body.

    Points with bars of one standard error either way; the line is the best within each number of
    conditions; an arrow stands for a point above the scale.
    """
    low, high = frontier.scale()
    marks, last = condition_ticks(frontier, 8)

    def across(miu: float) -> float:
        return LEFT + 12 + miu / last * (PLOT_WIDTH - 24)

    def down(deviance: float) -> float:
        return TOP + 10 + (high - deviance) / (high - low) * (PLOT_HEIGHT - 20)

    heights = ticks(low, high, 6)
    body = [_frame(), _legend(frontier.points, high)]
    names = [f"{at:.{decimals(heights)}f}" for at in heights]
    body += [
        _level(down(at), name, frontier.share(at)) for at, name in zip(heights, names, strict=True)
    ]
    body += [_mark(across(miu), str(miu)) for miu in marks]
    places = [(across(p.miu), max(down(p.deviance), TOP)) for p in frontier.points]
    body.append(_stairs(places))
    for point, (x, y) in zip(frontier.points, places, strict=True):
        above = point.deviance > high
        ends = None if above else (down(point.high), down(point.low))
        body.append(_bar(x, ends) + _sign(point, x, y, above))
    width, height = LEFT + PLOT_WIDTH + RIGHT, TOP + PLOT_HEIGHT + BOTTOM
    label = f"Validated deviance against conditions for {len(frontier.points)} models"
    return width, height, label, "".join(body)


def _text(x: float, y: float, text: str, look: str = "", anchor: str = "middle") -> str:
    return (
        f'<text class="{look}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
    )


def _frame() -> str:
    end, foot = LEFT + PLOT_WIDTH, TOP + PLOT_HEIGHT
    return "".join(
        [
            _text(LEFT, 24, "What fewer conditions cost", "h", "start"),
            _text(LEFT, TOP - 10, "validated deviance; bars: one standard error", "f n", "start"),
            _text(end + RIGHT - 8, TOP - 10, "share explained", "f n", "end"),
            _text((LEFT + end) / 2, foot + 46, "conditions in the model (MIU)"),
            f'<rect x="{LEFT}" y="{TOP}" width="{PLOT_WIDTH}" height="{PLOT_HEIGHT}" '
            f'fill="none" stroke="{LINE}"/>',
        ]
    )


def _legend(points: Sequence[FrontierPoint], top: float) -> str:
    signs = ["▲ above the scale"] if any(p.deviance > top for p in points) else []
    signs += [f"◆ chosen: MIU {p.miu}, deviance {p.deviance:.4f}" for p in points if p.chosen]
    return _text(LEFT + PLOT_WIDTH + RIGHT - 8, 24, "; ".join(signs), "", "end")


def _level(y: float, deviance: str, share: float) -> str:
    line = f'<path d="M{LEFT} {y:.1f}h{PLOT_WIDTH}" stroke="{LINE}" stroke-dasharray="1 3"/>'
    explained = f"{share:.1%}" if 0 < share <= 1 else ""
    right = _text(LEFT + PLOT_WIDTH + 8, y + 4, explained, "f n", "start")
    return line + _text(LEFT - 8, y + 4, deviance, "n", "end") + right


def _mark(x: float, text: str) -> str:
    foot = TOP + PLOT_HEIGHT
    return f'<path d="M{x:.1f} {foot}v5" stroke="{INK}"/>' + _text(x, foot + 20, text, "n")


def _stairs(places: Sequence[tuple[float, float]]) -> str:
    (x, y), *others = places
    steps = "".join(f"H{x:.1f}V{y:.1f}" for x, y in others)
    return f'<path d="M{x:.1f} {y:.1f}{steps}" fill="none" stroke="{LINE}" stroke-width="1.5"/>'


def _sign(point: FrontierPoint, x: float, y: float, above: bool) -> str:
    colour = ACCENT if point.chosen else INK
    if above:
        return f'<path d="M{x - 5:.1f} {y + 9:.1f}h10l-5 -8z" fill="{colour}"/>'
    if point.chosen:
        return f'<path d="M{x:.1f} {y - 8:.1f}l8 8l-8 8l-8 -8z" fill="{colour}"/>'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'


def _bar(x: float, ends: tuple[float, float] | None) -> str:
    if ends is None:
        return ""
    top, foot = max(ends[0], TOP), min(ends[1], TOP + PLOT_HEIGHT)
    return f'<path d="M{x:.1f} {top:.1f}V{foot:.1f}" stroke="{INK}"/>'
