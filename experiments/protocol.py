"""Units of work: a set, a model, a split and a configuration of one experiment."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

EXPERIMENTS = {
    "performance": "every model on every split: measures, audit load, times, rules, scores",
    "ablation": "the vocabulary, the trees' own leaf values, and XGBoost on the vocabularies",
    "alignment": "linear CKA of the HUG and the frequent representation",
    "substitutes": "models of one training fold that may not use one variable",
}


@dataclass(frozen=True, order=True)
class Unit:
    """One result on disk.

    Parameters
    ----------
    what : str
        The experiment.
    table, model : str
    split : int
        0 to 14: repeat times 5 plus fold.
    config : {"nested", "fixed"}
        Whether the model's grid, if it has one, is searched.
    """

    what: str
    table: str
    model: str
    split: int
    config: str = "nested"

    @property
    def path(self) -> str:
        """Where the unit is kept, below the folder of units."""
        table = self.table.replace(":", "_")
        return f"{self.what}/{table}/{self.model}.{self.config}.{self.split:02d}.json"

    def to_dict(self) -> dict[str, Any]:
        """Return the key as plain JSON values."""
        return asdict(self)
