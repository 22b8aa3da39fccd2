"""`rpte audit`: how much there is to read, in a model and in its predictions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from rpte.cli.options import AsJson, MaybeTable, Missing, ModelFile
from rpte.cli.tables import rows_for
from rpte.cli.terminal import console, print_json, table_of
from rpte.model.file import load
from rpte.model.model import Model


def audit(
    model: ModelFile, table: MaybeTable = None, missing: Missing = None, as_json: AsJson = False
) -> None:
    """Count the audit load: terms (MU), conditions in the model (MIU), and the bound on them.

    With a table also the conditions that are read for one prediction (IIU): mean, median, most.

    Example: rpte audit model.json cases.csv
    """
    loaded = load(model)
    rows = None
    if table is not None:
        rows = rows_for(loaded, table, missing, allow_unknown=True).inputs
    found = _record(loaded, rows)
    if as_json:
        print_json(found)
        return
    components = [
        (c["component"], str(c["terms"]), str(c["conditions"]), ", ".join(c["sources"]))
        for c in found["components"]
    ]
    console().print(
        table_of((">", ""), _loads(found), show_header=False),
        "",
        table_of(("component", ">terms", ">conditions", "variables"), components),
    )


def _record(model: Model, X: Any = None) -> dict[str, Any]:
    """Return the audit load of a model, and of each component, as plain values."""
    load = model.audit(X)
    rules = {c.name: [r for r in model.rules() if r.component == c.name] for c in model.components}
    components = [
        {
            "component": component.name,
            "sources": list(component.sources),
            "terms": len(rules[component.name]),
            "conditions": sum(rule.inspection_units for rule in rules[component.name]),
        }
        for component in model.components
    ]
    units = None
    if load.per_row is not None:
        units = {
            "mean": load.iiu,
            "median": float(np.median(load.per_row)),
            "most": int(load.per_row.max()),
            "rows": len(load.per_row),
        }
    return {
        "mu": load.mu,
        "miu": load.miu,
        "iiu": units,
        "bound": load.bound,
        "allowed": model.settings["max_inspection_units"],
        "components": components,
    }


def _loads(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    yield str(found["mu"]), "terms (MU)"
    yield str(found["miu"]), "conditions in the whole model (MIU)"
    units = found["iiu"]
    if units is not None:
        about = f"median {units['median']:g}, most {units['most']}, over {units['rows']} rows"
        yield f"{units['mean']:.4g}", f"conditions for one prediction (IIU), mean; {about}"
    yield str(found["bound"]), "bound on the conditions, known before training"
    if found["allowed"] is not None:
        yield str(found["allowed"]), "conditions allowed by the user"
