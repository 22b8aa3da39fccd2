"""All parameters of a fit as one frozen value."""

from dataclasses import dataclass, fields
from typing import Any, Literal

from rpte.columns.limits import FREE, Permissions, describe
from rpte.columns.units import MOST_CONDITIONS
from rpte.estimation.ownership import ComponentRule, Ownership
from rpte.estimation.terms import Admission
from rpte.published.vocabulary import Miner, VocabularySettings
from rpte.structure.boosting import Stage2Settings
from rpte.table.fingerprint import Profile
from rpte.table.schema import Schema
from rpte.table.table import PoolingRule

Conventions = Literal["ours", "paper"]
Criterion = Literal["newton", "label"]
Form = Literal["any", "rules"]
ShapeRule = Literal["one", "free"]
MOST_LEVELS = {"ours": 100, "paper": 1000}


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
    l1_ratio: float | None
    audit_price: float
    max_inspection_units: int | None
    conventions: Conventions
    profile: Profile = "safe"
    form: Form = "any"
    shapes: ShapeRule = "free"
    limits: Permissions = FREE

    @property
    def paper(self) -> bool:
        """Whether the published configuration's small choices are followed."""
        return self.conventions == "paper"

    @property
    def rules(self) -> bool:
        """Whether every term must be a yes/no statement."""
        return self.form == "rules"

    @property
    def grows_jointly(self) -> bool:
        """Whether Stage 2 grows all trees at once; direct terms say what single variables do."""
        return self.rules and self.reassign

    @property
    def two_classes_only(self) -> bool:
        """Whether trees are grown by the Gini impurity or the entropy of two classes."""
        return self.criterion == "label" or self.lookahead

    @property
    def fixed_l1_ratio(self) -> float:
        """The fraction of the penalty that is L1 where none is chosen by validation."""
        return 1.0 if self.l1_ratio is None else self.l1_ratio

    @property
    def most_conditions(self) -> int:
        """How many conditions a model may have where validation chooses it."""
        return MOST_CONDITIONS if self.max_inspection_units is None else self.max_inspection_units

    @property
    def makes_products(self) -> bool:
        """Whether Stage 2 looks for products of two variables."""
        return self.vocabulary == "shapes" and self.pattern_order > 1

    @property
    def starts_from_terms(self) -> bool:
        """Whether Stage 2 starts from the score of the direct terms, not from the base rate.

        Only where the trees may stand beside direct terms on their variables.
        """
        beside = self.ownership in ("component", "paper")
        return beside and self.reassign and not self.paper

    @property
    def pooling(self) -> PoolingRule:
        """Which levels are pooled: those that could not fill a leaf, and all but the heaviest.

        Numbers of two values are yes/no, except for those with a limit that needs a number, and
        where trees look ahead, which they do on pairs of numbers.
        """
        asked = self.limits.named()
        numbers = asked["monotone"] | asked["linear_only"]
        most = MOST_LEVELS[self.conventions]
        if self.paper:
            return PoolingRule(0.0, most)
        if self.lookahead:
            return PoolingRule(self.min_samples_leaf, most)
        return PoolingRule(self.min_samples_leaf, most, numbers)

    def stage1(self) -> VocabularySettings:
        """Return the settings of Stage 1."""
        mined = self.vocabulary, self.pattern_order, self.budget, self.min_gain, self.paper
        return VocabularySettings(*mined, self.min_samples_leaf, self.lookahead, self.limits)

    def stage2(self, schema: Schema) -> Stage2Settings:
        """Return the settings of Stage 2."""
        largest = self.max_component_sources if self.ownership == "component" else None
        sets = self.limits.together
        together = None if sets is None else tuple(frozenset(map(schema.position, s)) for s in sets)
        names = [f.name for f in fields(Stage2Settings) if hasattr(self, f.name)]
        same = {name: getattr(self, name) for name in names}
        return Stage2Settings(**same, max_sources=largest, together=together)

    def admission(self) -> Admission:
        """Return the rules by which columns become direct terms."""
        rule = ComponentRule(self.max_component_sources, self.limits)
        return Admission(self.ownership, rule, self.paper)

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON values; the form where it is not any."""
        left_out = ["limits"]
        left_out += [] if self.rules else ["form"]
        left_out += [] if self.shapes == "one" else ["shapes"]
        record = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in left_out}
        return {**record, "limits": describe(self.limits)}
