"""All parameters of a fit as one frozen value."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from rpte.estimation.ownership import Ownership
from rpte.structure.boosting import Criterion, Stage2Settings
from rpte.vocabulary.build import Miner, VocabularySettings

Conventions = Literal["ours", "paper"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What `RPTEClassifier` was asked for; its docstring explains each field."""

    ownership: Ownership
    max_component_sources: int
    vocabulary: Miner
    pattern_order: int
    budget: int
    min_gain: float
    criterion: Criterion
    max_trees: int
    max_leaves: int
    max_depth: int
    min_samples_leaf: float
    leaf_ridge: float
    learning_rate: float
    lookahead: bool
    reassign: bool
    l1: float | str
    l1_ratio: float
    conventions: Conventions

    @property
    def paper(self) -> bool:
        """Whether the published configuration's small choices are followed."""
        return self.conventions == "paper"

    def stage1(self) -> VocabularySettings:
        """Return the settings of Stage 1."""
        return VocabularySettings(
            self.vocabulary,
            self.pattern_order,
            self.budget,
            self.min_gain,
            self.paper,
            self.lookahead,
        )

    def stage2(self) -> Stage2Settings:
        """Return the settings of Stage 2."""
        largest = self.max_component_sources if self.ownership == "component" else None
        return Stage2Settings(
            criterion=self.criterion,
            max_trees=self.max_trees,
            max_leaves=self.max_leaves,
            max_depth=self.max_depth,
            min_samples_leaf=self.min_samples_leaf,
            leaf_ridge=self.leaf_ridge,
            learning_rate=self.learning_rate,
            max_sources=largest,
            lookahead=self.lookahead,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        return asdict(self)
