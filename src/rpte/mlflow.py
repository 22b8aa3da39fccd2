"""MLflow: models are saved, logged and loaded as with MLflow's own flavours.

The JSON model file is stored: loading runs no code, and `rpte verify` can read it. Signature and
input example come from the model's schema. As a pyfunc the model gives, for each row, the more
probable class, the probability of the positive class and the score, and with
``params={"contributions": True}`` every contribution.

MLflow refuses whole numbers for a column of doubles, and pandas categories for a column of strings,
all of which the model reads without loss. So every column of the signature has type ``any``; its
content is described under ``flavors: rpte: inputs`` of the MLmodel file, and the model itself
refuses what it cannot read, by name.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rpte import __version__
from rpte.errors import InputError
from rpte.export.parity import expected, known_columns
from rpte.model.file import content_hash, load, to_dict
from rpte.model.model import Model
from rpte.model.versions import NEWEST
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
FILE = "model.json"
RESULTS = ("prediction", "probability", "score")


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
    model : Model or fitted RPTEClassifier
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
        inputs={variable.name: _description(variable) for variable in _read(found)},
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
    model : Model or fitted RPTEClassifier
    name : str
    **others
        Of `save_model`, or of `mlflow.models.Model.log`, such as `registered_model_name`.
    """
    import rpte.mlflow

    return Saved.log(
        artifact_path=None, name=name, flavor=rpte.mlflow, model=model_of(model), **others
    )


def load_model(model_uri: str | Path, dst_path: str | None = None) -> Model:
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
    return load(Path(place) / flavors[FLAVOR_NAME]["data"])


def model_of(model: Any) -> Model:
    """Return the model of a fitted classifier, or a model as it is."""
    found = getattr(model, "model_", model)
    if isinstance(found, Model):
        return found
    kind = type(model).__name__
    fault = "is not fitted: call fit first" if kind == "RPTEClassifier" else "is no model of rpte"
    raise InputError(f"a {kind} {fault}; give a Model or a fitted RPTEClassifier")


def signature_of(model: Model) -> ModelSignature:
    """Return what goes in and comes out: the columns that the model reads, and its results."""
    label = model.classes[0]
    kinds = {bool: "boolean", int: "long", float: "double", str: "string"}
    results = [ColSpec(kinds[type(label)], "prediction")]
    results += [ColSpec("double", name) for name in RESULTS[1:]]
    named = model.schema.named
    return ModelSignature(
        inputs=Schema([ColSpec(AnyType(), v.name if named else None) for v in _read(model)]),
        outputs=Schema(results),
        params=ParamSchema([ParamSpec("contributions", "boolean", False)]),
    )


def example_of(model: Model) -> pd.DataFrame:
    """Return one row that the model reads: the median of each number, a level of each category."""
    import pandas as pd

    row = {variable.name: _typical(model, variable) for variable in _read(model)}
    names = list(row) if model.schema.named else range(len(row))
    return pd.DataFrame([list(row.values())], columns=names)


def _read(model: Model) -> list[Variable]:
    """Return the variables that a table must have; of an array, or if none is read, all."""
    read = {source for component in model.components for source in component.sources}
    every = not read or not model.schema.named
    return [v for v in model.schema.variables if v.name in read or every]


def _description(variable: Variable) -> str:
    levels = ", ".join(variable.levels)
    if variable.kind == "number":
        return f"number, or one of the codes {levels}" if levels else "number"
    return f"category: {levels}"


def _typical(model: Model, variable: Variable) -> float | str:
    if variable.kind == "category":
        return variable.levels[0]
    for column in model.data["profile"] or ():
        if column["name"] == variable.name and column["quantiles"]:
            known = [value for value in column["quantiles"] if value is not None]
            return float(known[len(known) // 2]) if known else 0.0
    return 0.0


class _Scored:
    """What MLflow calls as a pyfunc."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def predict(self, data: Any, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Return class, probability and score of each row, and on request every contribution."""
        import pandas as pd

        rows = known_columns(self.model, data)
        lines = {"prediction": self.model.predict(rows), **expected(self.model, rows)}
        asked = (params or {}).get("contributions", False)
        shown = list(dict.fromkeys([*RESULTS, *lines])) if asked else list(RESULTS)
        index = getattr(data, "index", None)
        return pd.DataFrame({name: lines[name] for name in shown}, index=index)


def _load_pyfunc(path: str) -> _Scored:
    """Load what `save_model` stored; MLflow calls it."""
    return _Scored(load(path))
