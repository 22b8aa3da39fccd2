"""How much each variable moves the score, as bars."""

from collections.abc import Sequence

from rpte.figures.marks import Axis, BoxMark, Panel, Spot, TextMark, Tick
from rpte.figures.text import name, number, share

MOST_BARS = 20
ROW = 25  # pixels of a bar
ABOUT = "mean absolute contribution"


def importance_panel(
    sizes: Sequence[tuple[str, float]], unit: str, most: int = MOST_BARS, width: int = 512
) -> Panel:
    """Return a bar for each variable, the largest first, and one for all beyond the `most`."""
    total = sum(size for _, size in sizes) or 1.0
    shown = list(sizes if len(sizes) <= most else sizes[: most - 1])
    if len(shown) < len(sizes):
        rest = sizes[len(shown) :]
        shown.append((f"{len(rest)} others", sum(size for _, size in rest)))
    names = [
        Tick(y, name(source, 28 if width > 400 else 20)) for y, (source, _) in enumerate(shown)
    ]
    largest = max((size for _, size in shown), default=0.0) or 1.0
    said = "; ".join(f"{source} {number(float(f'{size:.2g}'))}" for source, size in sizes)
    panel = Panel(
        Axis(0.0, largest * 1.16, "" if width < 400 else f"{ABOUT} to {unit}"),
        Axis(len(shown) - 0.4, -0.6, "", names, True),
        f"{ABOUT.capitalize()} to {unit}: {said}",
        width,
        60 + ROW * len(shown),
    )
    for y, (source, size) in enumerate(shown):
        part = share(size / total)
        panel.marks.append(BoxMark((0.0, size), (y - 0.32, y + 0.32)))
        panel.marks.append(TextMark(size, y, part, "start", (5, 0)))
        panel.spots.append(Spot(size, y, f"{source}: {size:.3g}, {part} of all"))
    return panel
