"""Which display the `plot` of an estimator or a model asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rpte.errors import InputError, did_you_mean
from rpte.figures.subject import Subject
from rpte.plots.display import Display
from rpte.plots.effect import EffectDisplay
from rpte.plots.overview import OverviewDisplay
from rpte.plots.surface import SurfaceDisplay
from rpte.plots.tree import TreeDisplay


def draw(
    estimator: Any,
    names: Sequence[str],
    *,
    X: Any = None,
    sample_weight: Any = None,
    bootstrap: Any = None,
    reference: str | None = "mean",
    ax: Any = None,
) -> Display:
    """Draw an overview, a variable, two of them, or a tree; see `Model.plot`."""
    subject = Subject.of(estimator, "plot", X, sample_weight)
    _check(subject, names, bootstrap)
    if not names:
        return OverviewDisplay.of(subject, reference).plot(ax)
    if len(names) == 2:
        return SurfaceDisplay.of(subject, names[0], names[1], reference).plot(ax)
    if names[0] in subject.model.sources:
        return EffectDisplay.of(subject, names[0], bootstrap, reference).plot(ax)
    return TreeDisplay.of(subject, names[0]).plot(ax)


def _check(subject: Subject, names: Sequence[str], bootstrap: Any) -> None:
    """Refuse names that are none, and a bootstrap where no band is drawn."""
    sources = subject.model.sources
    trees = [tree.name for component in subject.model.components for tree in component.trees]
    if len(names) > 2:
        raise InputError(
            f"plot was given {len(names)} names; give none (an overview), a variable, two "
            "variables, or a tree"
        )
    known = [*sources, *trees] if len(names) == 1 else [*sources]
    for name in names:
        if name not in known:
            left_out = name in subject.model.schema.names
            why = "the fit left this variable out" if left_out else "no such variable or tree"
            has = f"it reads {', '.join(sources) or 'nothing'}"
            has += f", and its trees are {', '.join(trees)}" if trees and len(names) == 1 else ""
            raise InputError(
                f"the model does not read {name!r}{did_you_mean(name, known)} ({why}); {has}"
            )
    if bootstrap is not None and (len(names) != 1 or names[0] not in sources):
        raise InputError("bootstrap is for the effect of one variable: plot('age', bootstrap=...)")
