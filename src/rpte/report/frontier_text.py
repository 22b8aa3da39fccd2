"""The frontier as a plot of characters, for a terminal of any width, with or without colour."""

from __future__ import annotations

from rpte.report.frontier import Frontier, FrontierPoint, condition_ticks, decimals, ticks

HEIGHT = 16
POINT, CHOSEN, ABOVE, BAR = "●", "◆", "▲", "│"
ASCII = str.maketrans("●◆▲│┤└─┬", "o#^|++-+")  # for terminals without these characters


def plot_frontier(frontier: Frontier, width: int) -> str:
    """Return the plot as lines of at most `width` characters.

    Conditions to the right, validated deviance upwards, bars of one standard error where they are
    as long as a line.
    """
    low, high = frontier.scale()
    heights = ticks(low, high, 6)
    names = {_row(at, low, high): f"{at:.{decimals(heights)}f}" for at in heights}
    margin = max(len(name) for name in [*names.values(), ""]) + 1
    marks, last = condition_ticks(frontier, max(2, (width - margin) // 10))
    room = max(20, width - margin - 2 - len(str(marks[-1])))
    cells = [[" "] * (room + 1) for _ in range(HEIGHT)]
    for point in sorted(frontier.points, key=lambda p: p.chosen):  # the chosen one on top
        _put(cells, point, round(point.miu / last * room), (low, high))
    lines = [
        f"{names.get(row, ''):>{margin}}{'┤' if row in names else BAR}{''.join(cells[row])}"
        for row in range(HEIGHT)
    ]
    places = {round(miu / last * room): str(miu) for miu in marks}
    axis = "".join("┬" if x in places else "─" for x in range(room + 1))
    title = "conditions in the model (MIU)"
    lines += [
        " " * margin + "└" + axis,
        " " * (margin + 1) + _labels(places),
        " " * (margin + 1) + title.center(room + 1),
    ]
    drawn = "".join(lines[:HEIGHT])
    return "\n".join(line.rstrip() for line in ["validated deviance", *lines, "", _legend(drawn)])


def _row(deviance: float, low: float, high: float) -> int:
    return round((high - deviance) / (high - low) * (HEIGHT - 1))


def _put(cells: list[list[str]], point: FrontierPoint, x: int, scale: tuple[float, float]) -> None:
    low, high = scale
    if point.deviance > high:
        cells[0][x] = ABOVE
        return
    at, reach = _row(point.deviance, low, high), round(point.error / (high - low) * (HEIGHT - 1))
    for row in range(max(at - reach, 0), min(at + reach, HEIGHT - 1) + 1):
        if cells[row][x] == " ":
            cells[row][x] = BAR
    cells[at][x] = CHOSEN if point.chosen else POINT


def _labels(places: dict[int, str]) -> str:
    line = ""
    for x, text in places.items():
        line = line.ljust(x) + text
    return line


def _legend(drawn: str) -> str:
    meaning = {
        POINT: "model",
        CHOSEN: "chosen",
        BAR: "standard error",
        ABOVE: "above the scale",
    }
    bars = drawn.count(BAR) + drawn.count("┤") > HEIGHT
    shown = [s for s in meaning if (bars if s == BAR else s in drawn)]
    return "   ".join(f"{s} {meaning[s]}" for s in shown)
