"""What all pictures share: colours, type and the document around the shapes.

A picture has its colours as attributes, so that it looks right alone and on white. Inside the
report they are replaced by those of the reader's colour scheme: `THEME` names them there.
"""

from __future__ import annotations

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


def path_svg(d: str, colour: str, width: float = 1.0, more: str = "") -> str:
    """Return an unfilled path."""
    return f'<path d="{d}" fill="none" stroke="{colour}" stroke-width="{width:g}"{more}/>'


def rect_svg(x: float, y: float, width: float, height: float, colour: str, more: str = "") -> str:
    """Return a filled rectangle."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'fill="{colour}"{more}/>'
    )


def shortened(text: str, most: int) -> str:
    """Cut a text to at most so many characters, with an ellipsis where something is gone."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
