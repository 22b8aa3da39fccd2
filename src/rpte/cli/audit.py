"""`rpte audit`: how much there is to read, in a model and in its predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.table import Table

from rpte.cli.failures import told_in_one_line
from rpte.cli.options import AsJson, MaybeTable, Missing, ModelFile
from rpte.cli.tables import rows_for
from rpte.cli.terminal import console, print_json
from rpte.model.file import load
from rpte.model.model import Model


def audit(
    model: ModelFile,
    table: MaybeTable = None,
    missing: Missing = None,
    as_json: AsJson = False,
) -> None:
    """Count the audit load: terms (MU), conditions in the model (MIU), and the bound on them.

    With a table also the conditions that are read for one prediction (IIU): mean, median, most.

    Example: rpte audit model.json cases.csv
    """
    with told_in_one_line():
        loaded = load(model)
        rows = None
        if table is not None:
            rows = rows_for(loaded, table, missing, allow_unknown=True).inputs
        found = load_of(loaded, rows)
        if as_json:
            print_json(found)
            return
        out = console()
        out.print(_loads(found), "", _components(found))


def load_of(model: Model, X: Any = None) -> dict[str, Any]:
    """Return the audit load of a model, and of each component, as plain values."""
    load = model.audit(X)
    rules = model.rules()
    components = [
        {
            "component": component.name,
            "sources": list(component.sources),
            "terms": sum(rule.component == component.name for rule in rules),
            "conditions": sum(r.inspection_units for r in rules if r.component == component.name),
        }
        for component in model.components
    ]
    per_row = load.per_row
    units = None
    if per_row is not None:
        middle = float(np.median(per_row))
        units = {"mean": load.iiu, "median": middle, "most": int(per_row.max())}
        units["rows"] = len(per_row)
    return {
        "mu": load.mu,
        "miu": load.miu,
        "iiu": units,
        "bound": load.bound,
        "allowed": model.settings["max_inspection_units"],
        "components": components,
    }


def _loads(found: dict[str, Any]) -> Table:
    lines = Table(box=None, pad_edge=False, show_header=False)
    lines.add_column(justify="right")
    lines.add_column()
    lines.add_row(str(found["mu"]), "terms (MU)")
    lines.add_row(str(found["miu"]), "conditions in the whole model (MIU)")
    units = found["iiu"]
    if units is not None:
        about = f"median {units['median']:g}, most {units['most']}, over {units['rows']} rows"
        lines.add_row(f"{units['mean']:.4g}", f"conditions for one prediction (IIU), mean; {about}")
    lines.add_row(str(found["bound"]), "bound on the conditions, known before training")
    if found["allowed"] is not None:
        lines.add_row(str(found["allowed"]), "conditions allowed by the user")
    return lines


def _components(found: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("component")
    for name in ("terms", "conditions"):
        table.add_column(name, justify="right")
    table.add_column("variables")
    for part in found["components"]:
        numbers = (str(part["terms"]), str(part["conditions"]))
        table.add_row(part["component"], *numbers, ", ".join(part["sources"]))
    return table
