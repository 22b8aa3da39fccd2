"""What all pictures share: colours, type and the document around the shapes."""

from __future__ import annotations

from html import escape

RAISES, LOWERS, INK, FAINT, LINE = "#b3261e", "#1b6e4f", "#1c1b1f", "#6b6b6b", "#c9c9c9"
STYLE = (
    "text{font:13px 'DejaVu Sans','Segoe UI',Helvetica,Arial,sans-serif;fill:" + INK + "}"
    ".h{font-weight:bold}.f{fill:" + FAINT + "}.n{font-size:12px}"
)


def svg_document(width: int, height: int, label: str, body: str) -> str:
    """Return a standalone SVG document on white; `label` is what a screen reader says."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">'
        f'<style>{STYLE}</style><rect width="100%" height="100%" fill="#ffffff"/>'
        f"{body}</svg>\n"
    )
