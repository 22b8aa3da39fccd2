"""MLflow: models are saved, logged and loaded as with MLflow's own flavours.

The JSON model file is stored: loading runs no code, and `rpte verify` can read it. Signature and
input example come from the model's schema. As a pyfunc the model gives, for each row, the more
probable class, the probability of the positive class and the score, and with
``params={"contributions": True}`` every contribution.

Of several classes it gives the most probable one and, for every class, its probability and score
(``probability_<class>``, ``score_<class>``); contributions are those to the score of each class
(``D1_<class>``).

Of a number the prediction is the mean for the exposure and the offset of the row, which are columns
of the signature that may be left out; beside it stand the mean for one unit of exposure without
offset, and the score. A model that was fitted on an array has no names for them: its prediction is
the mean for one unit.

MLflow refuses whole numbers for a column of doubles, and pandas categories for a column of strings,
all of which the model reads without loss. So every column of the signature has type ``any``; its
content is described under ``flavors: rpte: inputs`` of the MLmodel file, and the model itself
refuses what it cannot read, by name.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rpte import __version__
from rpte.errors import InputError
from rpte.export.form import RESPONSES, Horizon
from rpte.export.parity import NOT_PARTS, expected, known_columns
from rpte.export.survival import horizons_of, survival_options
from rpte.model.classes import ClassesModel
from rpte.model.file import AnyModel, content_hash, load_one, to_dict
from rpte.model.model import Model
from rpte.model.survival import SurvivalTarget
from rpte.model.target import NumberTarget
from rpte.model.versions import NEWEST
from rpte.table.inputs import column_names
from rpte.table.numbers import named
from rpte.table.schema import Variable

try:
    import mlflow
    from mlflow.models import Model as Saved
    from mlflow.models import ModelSignature
    from mlflow.models.model import ModelInfo
    from mlflow.types import ColSpec, ParamSchema, ParamSpec, Schema
    from mlflow.types.schema import AnyType
except ImportError as error:
    raise ImportError(
        "rpte.mlflow needs MLflow; install it with pip install 'rpte[mlflow]'"
    ) from error

if TYPE_CHECKING:
    import pandas as pd

FLAVOR_NAME = "rpte"
OURS = ("RPTEClassifier", "RPTERegressor", "RPTESurvival")
FILE = "model.json"
WITHOUT = {  # what may be left out, by role
    "exposure": "exposure, above 0; the mean is for one unit of it where the column is not there",
    "offset": "offset, added to the score; 0 where the column is not there",
}


def save_model(
    model: Any,
    path: str | Path,
    *,
    mlflow_model: Any = None,
    signature: Any = None,
    input_example: Any = None,
    pip_requirements: Any = None,
    **others: Any,
) -> None:
    """Save a model in a folder that MLflow reads.

    Parameters
    ----------
    model : Model, or fitted RPTEClassifier, RPTERegressor or RPTESurvival
    path : str or Path
        A folder that does not exist, or is empty.
    mlflow_model : mlflow.models.Model, optional
        The flavour is added to it.
    signature : mlflow.models.ModelSignature, optional
        `signature_of` the model if None; False for none.
    input_example : optional
        `example_of` the model if None.
    pip_requirements : list of str, optional
        This version of the library if None.
    **others
        As `mlflow.pyfunc.save_model` has them, such as `metadata`.
    """
    found = model_of(model)
    saved = mlflow_model or Saved()
    saved.add_flavor(
        FLAVOR_NAME,
        data=f"data/{FILE}",
        rpte_version=__version__,
        model_hash=content_hash(to_dict(found, NEWEST)),
        inputs={
            **{variable.name: _description(variable) for variable in _read(found)},
            **{name: WITHOUT[role] for role, name in _beside(found).items()},
        },
    )
    with tempfile.TemporaryDirectory() as folder:
        found.save(Path(folder) / FILE)
        mlflow.pyfunc.save_model(
            str(path),
            loader_module="rpte.mlflow",
            data_path=str(Path(folder) / FILE),
            mlflow_model=saved,
            signature=signature_of(found) if signature is None else signature,
            input_example=example_of(found) if input_example is None else input_example,
            pip_requirements=pip_requirements or [f"rpte=={__version__}"],
            **others,
        )


def log_model(model: Any, name: str = "model", **others: Any) -> ModelInfo:
    """Log a model to the active run, or to a new one.

    Parameters
    ----------
    model : Model, or fitted RPTEClassifier, RPTERegressor or RPTESurvival
    name : str
    **others
        Of `save_model`, or of `mlflow.models.Model.log`, such as `registered_model_name`.
    """
    import rpte.mlflow

    return Saved.log(
        artifact_path=None, name=name, flavor=rpte.mlflow, model=model_of(model), **others
    )


def load_model(model_uri: str | Path, dst_path: str | None = None) -> AnyModel:
    """Return a model that was saved or logged.

    Parameters
    ----------
    model_uri : str or Path
        A folder, or a place that MLflow knows: ``models:/...``, ``runs:/...``.
    dst_path : str, optional
        A folder to download to.
    """
    place = mlflow.artifacts.download_artifacts(artifact_uri=str(model_uri), dst_path=dst_path)
    flavors = Saved.load(place).flavors
    if FLAVOR_NAME not in flavors:
        raise InputError(
            f"{model_uri} holds no model of rpte; its flavours are {sorted(flavors)}: load it with "
            "one of these"
        )
    return load_one(Path(place) / flavors[FLAVOR_NAME]["data"], "mlflow")


def model_of(model: Any) -> AnyModel:
    """Return the model of a fitted classifier or regressor, or a model as it is."""
    found = getattr(model, "model_", model)
    if isinstance(found, (Model, ClassesModel)):
        return found
    kind = type(model).__name__
    ours = kind in OURS
    fault = "is not fitted: call fit first" if ours else "is no model of rpte"
    raise InputError(f"a {kind} {fault}; give a Model or a fitted {' or '.join(OURS)}")


def signature_of(model: AnyModel) -> ModelSignature:
    """Return what goes in and comes out: the columns that the model reads, and its results."""
    kinds = {bool: "boolean", int: "long", float: "double", str: "string"}
    number = isinstance(model.target, (NumberTarget, SurvivalTarget))
    kind = "double" if number else kinds[type(model.classes[0])]
    first, *others = results_of(model)
    named = model.schema.named
    columns = [ColSpec(AnyType(), v.name if named else None) for v in _read(model)]
    columns += [ColSpec(AnyType(), name, required=False) for name in _beside(model).values()]
    params = [ParamSpec("contributions", "boolean", False)]
    if isinstance(model.target, SurvivalTarget):
        params.append(ParamSpec("horizons", "double", [], (-1,)))
    return ModelSignature(
        inputs=Schema(columns),
        outputs=Schema([ColSpec(kind, first), *(ColSpec("double", name) for name in others)]),
        params=ParamSchema(params),
    )


def results_of(model: AnyModel) -> tuple[str, ...]:
    """Return the names of what is always given."""
    if isinstance(model, ClassesModel):
        each = (f"{what}_{label}" for what in ("probability", "score") for label in model.classes)
        return "prediction", *each
    return "prediction", RESPONSES[model.task], "score"


def _beside(model: AnyModel) -> dict[str, str]:
    """Return the columns of the exposure and the offset, by role, that a named table may have."""
    target = model.target
    if not isinstance(target, NumberTarget) or not model.schema.named:
        return {}
    named = {"exposure": target.exposure, "offset": target.offset}
    return {role: name for role, name in named.items() if name is not None}


def example_of(model: AnyModel) -> pd.DataFrame:
    """Return one row that the model reads: the median of each number, a level of each category."""
    import pandas as pd

    row = {variable.name: _typical(model, variable) for variable in _read(model)}
    names = list(row) if model.schema.named else range(len(row))
    return pd.DataFrame([list(row.values())], columns=names)


def _read(model: AnyModel) -> list[Variable]:
    """Return the variables that a table must have; of an array, or if none is read, all."""
    read = {source for component in model.components for source in component.sources}
    every = not read or not model.schema.named
    return [v for v in model.schema.variables if v.name in read or every]


def _description(variable: Variable) -> str:
    levels = ", ".join(variable.levels)
    if variable.kind == "number":
        return f"number, or one of the codes {levels}" if levels else "number"
    return f"number, {' or '.join(variable.levels)}" if variable.numeric else f"category: {levels}"


def _typical(model: AnyModel, variable: Variable) -> float | str:
    if variable.kind == "category":
        return float(variable.levels[0]) if variable.numeric else variable.levels[0]
    for column in model.data["profile"] or ():
        if column["name"] == variable.name and column["quantiles"]:
            known = [value for value in column["quantiles"] if value is not None]
            return float(known[len(known) // 2]) if known else 0.0
    return 0.0


class _Scored:
    """What MLflow calls as a pyfunc."""

    def __init__(self, model: AnyModel) -> None:
        self.model = model

    def predict(self, data: Any, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Return class, probability and score of each row, and on request every contribution.

        Of a number the mean, for the exposure and offset of each row where the data has them. Of a
        time until an event the score and the hazard ratio, and survival at the horizons.
        """
        import pandas as pd

        given = params or {}
        times = {"horizons": list(given.get("horizons", ()))}
        horizons = horizons_of(self.model, survival_options(self.model, times))
        lines = _lines(self.model, data, horizons)
        always = *results_of(self.model), *(at.name for at in horizons)
        asked = given.get("contributions", False)
        shown = list(dict.fromkeys([*always, *lines])) if asked else list(always)
        index = getattr(data, "index", None)
        return pd.DataFrame({name: lines[name] for name in shown}, index=index)


def _lines(model: AnyModel, data: Any, horizons: Sequence[Horizon]) -> dict[str, Any]:
    """Return everything that the model tells of each row, by name."""
    if isinstance(model, ClassesModel):
        return _lines_of_classes(model, known_columns(model.outline, data))
    rows, there = known_columns(model, data), column_names(data) or {}
    beside = {role: name for role, name in _beside(model).items() if name in there}
    given = {role: named(data, name) for role, name in beside.items()}
    if isinstance(model.target, NumberTarget):  # as the signature says of columns not there
        for role, neutral in (("exposure", 1.0), ("offset", 0.0)):
            if getattr(model.target, role) is not None:
                given.setdefault(role, neutral)
    return {"prediction": model.predict(rows, **given), **expected(model, rows, horizons)}


def _lines_of_classes(model: ClassesModel, rows: Any) -> dict[str, Any]:
    lines: dict[str, Any] = {"prediction": model.predict(rows)}
    for label, p in zip(model.classes, model.predict_proba(rows).T, strict=True):
        lines[f"probability_{label}"] = p
    each = {label: expected(m, rows) for label, m in zip(model.classes, model.models, strict=True)}
    lines |= {f"score_{label}": told["score"] for label, told in each.items()}
    for label, told in each.items():
        parts = {name: line for name, line in told.items() if name not in NOT_PARTS}
        lines |= {f"{name}_{label}": line for name, line in parts.items()}
    return lines


def _load_pyfunc(path: str) -> _Scored:
    """Load what `save_model` stored; MLflow calls it."""
    return _Scored(load_one(path, "mlflow"))
