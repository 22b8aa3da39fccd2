"""Maps of signed numbers: shades from blue to red, and numbers or contour lines on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from rpte.plots import style
from rpte.utils.arrays import Floats

MOST_WRITTEN = 160  # cells that have their number in them


def shaded(
    ax: Any,
    across: Floats,
    up: Floats,
    cells: Floats,
    written: bool,
    largest: float | None = None,
) -> Any:
    """Draw cells (rows, columns) between edges; what says it in print are numbers, or contours.

    The deepest shade is that of `largest`. Dashed contour lines are below zero.
    """
    largest = (float(np.abs(cells).max()) if largest is None else largest) or 1.0
    look = {"cmap": "RdBu_r", "vmin": -largest, "vmax": largest}
    mesh = ax.pcolormesh(across, up, cells, shading="flat", rasterized=True, **look)
    if written and cells.size <= MOST_WRITTEN:
        for (row, column), value in np.ndenumerate(cells):
            x = (across[column] + across[column + 1]) / 2
            y = (up[row] + up[row + 1]) / 2
            deep = abs(value) > 0.6 * largest
            ax.text(
                x,
                y,
                style.signed(float(value)),
                ha="center",
                va="center",
                fontsize=style.NOTE - 1,
                color="white" if deep else "black",
            )
    elif min(cells.shape) > 1 and np.ptp(cells) > 0:
        middle = (across[1:] + across[:-1]) / 2, (up[1:] + up[:-1]) / 2
        lines = ax.contour(*middle, cells, 7, colors="black", linewidths=0.7)
        ax.clabel(
            lines, fontsize=style.NOTE - 1, fmt=lambda v: f"{v:+g}".replace("-", "\N{MINUS SIGN}")
        )
    style.open_frame(ax, "left", "bottom")
    return mesh
