"""`rpte schema`: the published format of model files."""

from __future__ import annotations

import json

import typer


def schema() -> None:
    """Print the JSON Schema (draft 2020-12) that every model file obeys.

    Example: rpte schema > rpte-model.schema.json
    """
    from rpte.model.format import SCHEMA

    typer.echo(json.dumps(SCHEMA, indent=1))
