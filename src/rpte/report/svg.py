"""What all pictures share: colours, type and the document around the shapes.

A picture has its colours as attributes, so that it looks right alone and on white. Inside the
report they are replaced by those of the reader's colour scheme: `THEME` names them there.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

Drawing = tuple[int, int, str, str]  # width, height, label, body

RAISES, LOWERS, INK, FAINT, LINE = "#b3261e", "#1b6e4f", "#1c1b1f", "#6b6b6b", "#c9c9c9"
ACCENT, PAPER = "#1f5fa8", "#ffffff"
THEME = {
    RAISES: "raises",
    LOWERS: "lowers",
    INK: "ink",
    FAINT: "faint",
    LINE: "line",
    ACCENT: "accent",
    PAPER: "paper",
}
CHARACTER = 7.3  # advance of the font at its size, in pixels
STYLE = (
    "text{font:13px 'DejaVu Sans','Segoe UI',Helvetica,Arial,sans-serif;fill:" + INK + "}"
    ".h{font-weight:bold}.f{fill:" + FAINT + "}.n{font-size:12px}"
)


def svg_document(width: int, height: int, label: str, body: str) -> str:
    """Return a standalone SVG document on white; `label` is what a screen reader says."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">'
        f'<style>{STYLE}</style><rect width="100%" height="100%" fill="{PAPER}"/>'
        f"{body}</svg>\n"
    )


def svg_inline(width: int, height: int, label: str, body: str) -> str:
    """Return an SVG element for a page whose style sheet has the type and the colours."""
    return (
        f'<svg class="pic" viewBox="0 0 {width} {height}" style="--w:{width}px" role="img" '
        f'aria-label="{escape(label)}">{body}</svg>'
    )


def text_svg(x: float, y: float, text: str, look: str = "", anchor: str = "start") -> str:
    """Return a line of text; `look` are the classes of `STYLE`."""
    kind = f' class="{look}"' if look else ""
    place = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text{kind} x="{x:.1f}" y="{y:.1f}"{place}>{escape(text)}</text>'


def upright_svg(x: float, y: float, text: str) -> str:
    """Return the name of an axis, from below upwards."""
    turned = f'<g transform="translate({x:g} {y:.0f}) rotate(-90)">'
    return turned + text_svg(0, 0, text, "n f", "middle") + "</g>"


def path_svg(d: str, colour: str, width: float = 1.0, more: str = "") -> str:
    """Return an unfilled path."""
    return f'<path d="{d}" fill="none" stroke="{colour}" stroke-width="{width:g}"{more}/>'


def rect_svg(x: float, y: float, width: float, height: float, colour: str, more: str = "") -> str:
    """Return a filled rectangle."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'fill="{colour}"{more}/>'
    )


def box_svg(x: Sequence[float], y: float, half: float) -> str:
    """Return five quantiles as a small box plot: nine tenths, the middle half, the median."""
    whisker = path_svg(f"M{x[0]:.1f} {y:g}H{x[4]:.1f}", FAINT, 1.5)
    middle = rect_svg(x[1], y - half, max(x[3] - x[1], 1.0), 2 * half, FAINT)
    return whisker + middle + rect_svg(x[2] - 1, y - half - 2, 2, 2 * half + 4, INK)


def shortened(text: str, most: int) -> str:
    """Cut a text to at most so many characters, with an ellipsis where something is gone."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def signed_bar(
    x: float, y: float, width: float, value: float, largest: float, number: bool = True
) -> str:
    """Return a bar to the right (raises) or left (lowers) of its middle, with its number."""
    middle = x + width / 2
    axis = path_svg(f"M{middle:.1f} {y - 14:.1f}v28", LINE)
    if not value:
        return axis + (text_svg(middle + 4, y + 4, "0", "f") if number else "")
    length = max(abs(value) / largest * (width / 2 - 2), 1.0)
    colour, start = (RAISES, middle) if value > 0 else (LOWERS, middle - length)
    anchor, beside = ("end", middle - 4) if value > 0 else ("start", middle + 4)
    bar = axis + rect_svg(start, y - 8, length, 16, colour)
    return bar + text_svg(beside, y + 4, f"{value:+.3g}", "", anchor) if number else bar
