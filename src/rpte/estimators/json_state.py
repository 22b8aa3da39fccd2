"""How a fitted estimator is kept by `skops`, `pickle` and `joblib`: its models as file texts.

Beside the parameters nothing is stored but the texts of model files, which are checked when they
are read back; the training rows that pictures average over stay behind. So a file of `skops` needs
trust in `TRUSTED` and no other type of this library, and a text that was changed is refused by its
hash, as `rpte.load` would.
"""

from typing import Any

# For `skops.io.load(file, trusted=...)`; `Limits` only where there are any.
TRUSTED = [
    "rpte.estimators.classifier.RPTEClassifier",
    "rpte.estimators.regressor.RPTERegressor",
    "rpte.estimators.survival.RPTESurvival",
    "rpte.columns.limits.Limits",
]

ROWS = "_training_rows"  # the attribute with some training rows: never stored, and gone in copies


class JSONStateMixin:
    """For an estimator with `model_` and `frontier_models_`, once it is fitted."""

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = {**super().__getstate__()}  # type: ignore[dict-item]
        state.pop(ROWS, None)
        if "model_" in state:
            from rpte.model.file import to_text

            state["model_"] = to_text(state["model_"])
            state["frontier_models_"] = [to_text(model) for model in state["frontier_models_"]]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "model_" in state:
            from rpte.model.file import from_text

            others = tuple(from_text(text) for text in state["frontier_models_"])
            state = {**state, "model_": from_text(state["model_"]), "frontier_models_": others}
        super().__setstate__(state)  # type: ignore[misc]
