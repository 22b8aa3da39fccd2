"""What a fit returns: the model, and those beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rpte.model.causes import CausesModel
from rpte.model.classes import ClassesModel
from rpte.model.model import Model
from rpte.utils.progress import Watch


@dataclass(frozen=True, slots=True)
class Learned:
    """The model, and the models along the frontier of conditions and validated deviance."""

    model: Model | ClassesModel | CausesModel
    frontier: tuple[Model | ClassesModel, ...] = ()

    def each(self, change: Callable[[Any], Any]) -> Learned:
        """Return the same with other models: those of causes one by one, then the frontier."""
        if isinstance(self.model, CausesModel):
            model = self.model.changed(change)
        else:
            model = change(self.model)
        return Learned(model, tuple(change(other) for other in self.frontier))

    def with_training(self, told: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Learned:
        """Return the same with another record of the training in each model."""
        return self.each(lambda model: replace(model, training=told(model.training)))

    def stopped_by(self, watch: Watch) -> Learned:
        """Let every model say that the clock has stopped the search, if it has."""
        watch.end()
        if watch.stopped is None:
            return self

        def told(training: Mapping[str, Any]) -> dict[str, Any]:
            return {**training, "validation": {**training["validation"], **watch.record()}}

        return self.with_training(told)


def unconverged_text(model: Model | ClassesModel | CausesModel) -> str | None:
    """Return what to say of a model whose coefficients are not the optimum; None if they are."""
    models = model.models if isinstance(model, CausesModel) else (model,)
    objectives = [each.training["objective"] for each in models]
    missed = [each for each in objectives if each is not None and not each["converged"]]
    if not missed:
        return None
    worst = max(missed, key=lambda each: float(each["kkt_residual"] / each["tolerance"]))
    return (
        f"Stage 3 did not converge: the largest residual of the optimality conditions is "
        f"{worst['kkt_residual']:.3g}, {worst['tolerance']:.3g} is allowed. The coefficients are "
        f"not the optimum at l1={worst['l1']:.3g}, and verify will say so. Fit with a larger "
        f"penalty, such as l1={2.0 * worst['l1']:.3g}, or leave out columns that give the target "
        "away"
    )
