"""What fewer conditions cost: the validated deviance of the models that training compared."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from rpte.plots import style
from rpte.plots.display import Display
from rpte.plots.subject import Subject
from rpte.report.frontier import Frontier, read_frontier

if TYPE_CHECKING:
    import pandas as pd


@dataclass
class FrontierDisplay(Display):
    """The trade-off between conditions and validated deviance, as found in training.

    Parameters
    ----------
    frontier : Frontier
        One point for each model that no other beats.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rpte import FrontierDisplay, RPTEClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> display = FrontierDisplay.from_estimator(RPTEClassifier().fit(X.iloc[:, :4], y))
    >>> list(display.frame())
    ['miu', 'components', 'deviance', 'error', 'chosen', 'explained']
    """

    frontier: Frontier

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Take the frontier from a fitted estimator or a model, and draw it."""
        model = Subject.of(estimator, "plot_frontier").model
        return cls(read_frontier(model)).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the models as points with one standard error, on some axes or a new figure."""
        ax = style.axes_or_new(ax, (6.4, 4.2))
        chosen = [p for p in self.frontier.points if p.chosen]
        note = "validated deviance of the models that training compared; bars: one standard error"
        low, high = self.frontier.scale()
        if any(p.deviance > high for p in self.frontier.points):
            note += "; triangles lie above the scale"
        room = (high - low) * 0.05
        ax.set_ylim(low - room, high + room)
        self._points(ax, high)
        for point in chosen:
            right = point.miu > sum(ax.get_xlim()) / 2  # there the label would cross the axis
            ax.annotate(
                f"chosen: {point.miu} conditions", (point.miu, point.deviance),
                (-8 if right else 8, 8), textcoords="offset points",
                ha="right" if right else "left", fontsize=style.TEXT,
            )  # fmt: skip
        style.open_frame(ax, "left", "bottom")
        ax.set_xlabel("conditions in the model", fontsize=style.TEXT)
        ax.set_ylabel("validated deviance", fontsize=style.TEXT)
        ax.grid(axis="y", linewidth=0.4, alpha=0.4)
        self._explained(ax)
        style.headline(ax, "What fewer conditions cost", note)
        return self._drawn(ax)

    def _points(self, ax: Any, high: float) -> None:
        first, second = style.palette(ax)[:2]
        points = self.frontier.points
        inside = [p for p in points if p.deviance <= high]
        ax.step([p.miu for p in points], [p.deviance for p in points], where="post",
                color=style.ink(), linewidth=0.8, alpha=0.6, zorder=1)  # fmt: skip
        for point in inside:
            look = (second, "D", 8) if point.chosen else (first, "o", 5)
            ax.errorbar(point.miu, point.deviance, point.error, color=look[0], marker=look[1],
                        markersize=look[2], linewidth=1.0, zorder=3)  # fmt: skip
        above = [p.miu for p in points if p.deviance > high]
        top = [ax.get_ylim()[1]] * len(above)
        ax.plot(above, top, marker="^", color=first, markersize=7, clip_on=False, linestyle="none")

    def _explained(self, ax: Any) -> None:
        """Add an axis that reads a deviance as a share of what can be explained."""
        frontier = self.frontier
        if not frontier.explainable:
            return
        low, high = ax.get_ylim()
        marks: list[tuple[float, str]] = []
        for percent in (*range(0, 90, 10), 90, 95, 98, 99, 100):
            at = frontier.null_deviance - percent / 100 * frontier.explainable
            gap = (high - low) * 0.06
            if low <= at <= high and all(abs(at - other) > gap for other, _ in marks):
                marks.append((at, f"{percent}%"))
        side = ax.secondary_yaxis("right")
        side.set_yticks([at for at, _ in marks], [text for _, text in marks])
        side.set_ylabel("share of the best model's gain", fontsize=style.TEXT)
        side.tick_params(labelsize=style.TEXT, width=0.7, length=3)
        for spine in side.spines.values():
            spine.set_visible(False)

    def frame(self) -> pd.DataFrame:
        """Return one row for each model; `explained` is its share of the best model's gain."""
        import pandas as pd

        found = [
            {**asdict(p), "explained": self.frontier.share(p.deviance)}
            for p in self.frontier.points
        ]
        return pd.DataFrame(found)
