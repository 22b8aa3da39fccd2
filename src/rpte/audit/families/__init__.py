"""The readers of model families, and how the family of a model is found.

A reader is a function `(model, X, columns) -> Terms`. A family is recognised by the
modules and names of the classes a model's type descends from, so that subclasses are found and no
package is imported to find them. Only `rpte.audit.load` imports from here.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from rpte.audit.columns import Columns, unfold
from rpte.audit.terms import Terms


@dataclass(frozen=True, slots=True)
class Family:
    """A model family: its name, the base class that tells it, and the function that reads it."""

    name: str
    module: str  # of the base class, or a package that contains it
    base: str | None  # name of the base class; None for every class of that package
    reader: str  # module inside this package and function in it

    def claims(self, cls: type) -> bool:
        """Tell whether `cls` is the base class of this family."""
        inside = f"{cls.__module__}.".startswith(f"{self.module}.")
        return inside and self.base in (None, cls.__name__)

    def read(self, *given: Any) -> Any:
        """Call the reader, imported now."""
        module, function = self.reader.split(".")
        return getattr(import_module(f"{__name__}.{module}"), function)(*given)


OWN = Family("rpte", "rpte.model", None, "additive.own")
PIPELINE = Family("pipeline", "sklearn.pipeline", "Pipeline", "")
BOOSTING, HIST_BOOSTING = "gradient boosting", "histogram gradient boosting"
FAMILIES = (
    PIPELINE,
    Family("tree", "sklearn.tree", "BaseDecisionTree", "sklearn_trees.single"),
    Family("forest", "sklearn.ensemble", "ForestClassifier", "sklearn_trees.forest"),
    Family("forest", "sklearn.ensemble", "ForestRegressor", "sklearn_trees.forest"),
    Family(BOOSTING, "sklearn.ensemble", "BaseGradientBoosting", "sklearn_trees.boosting"),
    Family(HIST_BOOSTING, "sklearn.ensemble", "BaseHistGradientBoosting", "sklearn_trees.hist"),
    Family("linear", "sklearn.linear_model", None, "additive.linear"),
    Family("linear", "sklearn.svm", "LinearSVC", "additive.linear"),
    Family("linear", "sklearn.svm", "LinearSVR", "additive.linear"),
    Family("XGBoost", "xgboost", "XGBModel", "boosters.xgboost"),
    Family("XGBoost", "xgboost", "Booster", "boosters.xgboost"),
    Family("LightGBM", "lightgbm", "LGBMModel", "boosters.lightgbm"),
    Family("LightGBM", "lightgbm", "Booster", "boosters.lightgbm"),
    Family("EBM", "interpret.glassbox", "EBMModel", "additive.ebm"),
    Family("RuleFit", "imodels", "RuleFit", "additive.rulefit"),
    Family("FIGS", "imodels", "FIGS", "additive.figs"),
)


def read(model: Any, X: Any | None, columns: Columns | None = None) -> tuple[str, Terms]:
    """Return the family of a model and its terms; `columns` describes X if a pipeline made it."""
    family = find_family(model)
    if family is PIPELINE:
        return read(*unfold(model, X, columns))
    if family is not OWN:
        return family.name, family.read(model, X, columns)
    if columns is not None and (columns.conditions > 1).any():
        raise TypeError(
            "the pipeline gives the model columns that stand for sets of more than 8 levels, which "
            "the model counts as one condition; pass the raw table to the model instead"
        )
    return family.name, family.read(model, X)


def find_family(model: Any) -> Family:
    """Find the family of a model, or say what is supported."""
    kept = getattr(model, "model_", model)  # by one of our estimators
    if any(OWN.claims(cls) for part in (model, kept) for cls in type(part).__mro__):
        return OWN
    for cls in type(model).__mro__:
        for family in FAMILIES:
            if family.claims(cls):
                return family
    known = ", ".join(dict.fromkeys(["rpte", *(family.name for family in FAMILIES)]))
    raise TypeError(
        f"no counting rule for {type(model).__module__}.{type(model).__qualname__}; the families "
        f"counted are {known}. Pass the fitted model inside it (such as best_estimator_), or a "
        "Pipeline that ends in a counted model"
    )
