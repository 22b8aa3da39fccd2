"""The tables of docs/paper.md, each a function from the committed results to a section.

`SECTIONS` has them in the order of the page.
"""

from experiments.tables.ablation import ablation, alignment
from experiments.tables.alternatives import across_folds, within_fold
from experiments.tables.coverage import coverage
from experiments.tables.critique import critique
from experiments.tables.ownership import ownership
from experiments.tables.patterns import patterns
from experiments.tables.performance import (
    accuracy,
    audit_load,
    over_sets,
    over_splits,
    seconds,
    trade_off,
)
from experiments.tables.section import Section
from experiments.tables.variants import variants

SECTIONS = {
    "coverage": coverage,
    "accuracy": accuracy,
    "over_sets": over_sets,
    "over_splits": over_splits,
    "audit_load": audit_load,
    "trade_off": trade_off,
    "ownership": ownership,
    "ablation": ablation,
    "alignment": alignment,
    "seconds": seconds,
    "patterns": patterns,
    "across_folds": across_folds,
    "within_fold": within_fold,
    "critique": critique,
    "variants": variants,
}

__all__ = ["SECTIONS", "Section"]
