"""One reader per model family, and how the family of a model is found.

A reader is a module with `terms(model, X, columns) -> Terms`. A family is recognised by the
modules and names of the classes a model's type descends from, so that subclasses are found and no
package is imported to find them. Only `rpte.audit.load` imports from here.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from rpte.audit.columns import Columns
from rpte.audit.terms import Terms

OWN = "rpte.model"


@dataclass(frozen=True, slots=True)
class Family:
    """A model family: its name, the base class that tells it, and the module that reads it.

    Parameters
    ----------
    name : str
    module : str
        Module of the base class, or a package that contains it.
    base : str or None
        Name of the base class; None for every class of that package.
    reader : str
        Module inside this package.
    """

    name: str
    module: str
    base: str | None
    reader: str

    def claims(self, cls: type) -> bool:
        """Tell whether `cls` is the base class of this family."""
        inside = f"{cls.__module__}.".startswith(f"{self.module}.")
        return inside and self.base in (None, cls.__name__)


FAMILIES = (
    Family("pipeline", "sklearn.pipeline", "Pipeline", "pipeline"),
    Family("tree", "sklearn.tree", "BaseDecisionTree", "sklearn_tree"),
    Family("forest", "sklearn.ensemble", "ForestClassifier", "sklearn_forest"),
    Family("forest", "sklearn.ensemble", "ForestRegressor", "sklearn_forest"),
    Family("gradient boosting", "sklearn.ensemble", "BaseGradientBoosting", "sklearn_boosting"),
    Family(
        "histogram gradient boosting",
        "sklearn.ensemble",
        "BaseHistGradientBoosting",
        "sklearn_hist",
    ),
    Family("linear", "sklearn.linear_model", None, "linear"),
    Family("linear", "sklearn.svm", "LinearSVC", "linear"),
    Family("linear", "sklearn.svm", "LinearSVR", "linear"),
    Family("XGBoost", "xgboost", "XGBModel", "xgb"),
    Family("XGBoost", "xgboost", "Booster", "xgb"),
    Family("LightGBM", "lightgbm", "LGBMModel", "lgbm"),
    Family("LightGBM", "lightgbm", "Booster", "lgbm"),
    Family("EBM", "interpret.glassbox", "EBMModel", "ebm"),
    Family("RuleFit", "imodels", "RuleFit", "rulefit"),
    Family("FIGS", "imodels", "FIGS", "figs"),
)


def read(model: Any, X: Any | None, columns: Columns | None = None) -> tuple[str, Terms]:
    """Find the family of a model and read its terms.

    Parameters
    ----------
    model : object
    X : table, optional
        Rows as the model takes them.
    columns : Columns, optional
        What the columns of X are, if a pipeline made them.

    Returns
    -------
    family : str
    terms : Terms
    """
    if is_own(model):
        return "rpte", _read_own(model, X, columns)
    family = find_family(model)
    reader = import_module(f"{__name__}.{family.reader}")
    if family.reader == "pipeline":
        return read(*reader.unfold(model, X, columns))
    terms: Terms = reader.terms(model, X, columns)
    return family.name, terms


def is_own(model: Any) -> bool:
    """Tell whether a model, or the `model_` an estimator keeps, is one of ours."""
    owner = Family("rpte", OWN, None, "own")
    kept = getattr(model, "model_", model)
    return any(owner.claims(cls) for part in (model, kept) for cls in type(part).__mro__)


def find_family(model: Any) -> Family:
    """Find the family of a model, or say what is supported."""
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


def _read_own(model: Any, X: Any | None, columns: Columns | None) -> Terms:
    if columns is not None and (columns.conditions > 1).any():
        raise TypeError(
            "the pipeline gives the model columns that stand for sets of more than 8 levels, which "
            "the model counts as one condition; pass the raw table to the model instead"
        )
    terms: Terms = import_module(f"{__name__}.own").terms(model, X)
    return terms
