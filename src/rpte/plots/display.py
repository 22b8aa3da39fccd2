"""What all displays are: plain numbers, a picture of them, and a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import pandas as pd


class Display:
    """A picture that knows its numbers.

    Attributes
    ----------
    ax_ : matplotlib Axes
        That were drawn on last; a picture of several panels has them in `axes_`.
    figure_ : matplotlib Figure
    """

    ax_: Any
    axes_: list[Any]
    figure_: Any

    def plot(self, ax: Any = None) -> Self:
        """Draw on some axes, or on a new figure."""
        raise NotImplementedError

    def frame(self) -> pd.DataFrame:
        """Return the numbers of the picture."""
        raise NotImplementedError

    def _drawn(self, ax: Any, *panels: Any) -> Self:
        self.ax_, self.figure_, self.axes_ = ax, ax.figure, list(panels) or [ax]
        return self
