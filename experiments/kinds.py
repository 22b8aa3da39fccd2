"""The kinds of unit: what carries each out, what it depends on, which units come before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from experiments.ablation import VARIANTS, ablate
from experiments.alignment import COMPARISONS, align
from experiments.data import EEG, GROUPED, SPLITS
from experiments.models import MODELS
from experiments.performance import perform
from experiments.protocol import Unit
from experiments.substitutes import REFERENCES, substitute

KINDS: dict[str, Callable[..., dict[str, Any]]] = {
    "performance": perform,
    "ablation": ablate,
    "alignment": align,
    "substitutes": substitute,
}
NAMES: dict[str, tuple[str, ...]] = {
    "performance": tuple(MODELS),
    "ablation": tuple(VARIANTS),
    "alignment": COMPARISONS,
    "substitutes": REFERENCES,
}
SPLITS_OF = {"substitutes": "0"}  # of an experiment, if the command line names none
ALL_SPLITS = f"0-{SPLITS - 1}"
TUNED = "rpte_paper"


FEW = 3  # splits of a long set for a model whose search takes too long there


def planned(units: list[Unit]) -> list[Unit]:
    """Return units as they are done unless somebody asks for others.

    On EEG the models with a fixed variant have it, on the first splits; FIGS with 100 rules is for
    appendix A, which looks at split 0 of the small sets.
    """
    found = []
    for unit in units:
        long, spec = unit.table in (EEG, GROUPED), MODELS.get(unit.model)
        if unit.model == "figs_100" and (long or unit.split > 0):
            continue
        if unit.what == "performance" and long and spec is not None and spec.fixed is not None:
            if unit.split < FEW:
                found.append(replace(unit, config="fixed"))
            continue
        found.append(unit)
    return found


def depends_on(unit: Unit) -> tuple[str, tuple[str, ...]]:
    """Return the kind of sources, and the packages, that a unit rests on."""
    if unit.what != "performance":
        boosted = unit.model.startswith("xgb_")
        return unit.what, ("xgboost",) if boosted else ("rpte",)
    spec = MODELS[unit.model]
    return spec.kind, (spec.package,)


def needs(units: list[Unit]) -> list[Unit]:
    """Return the units whose records others are given: what was tuned on the same split."""
    return [
        Unit("performance", unit.table, TUNED, unit.split)
        for unit in units
        if unit.what in ("ablation", "alignment")
        or (unit.what == "substitutes" and unit.model == TUNED)
    ]
