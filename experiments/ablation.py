"""The ablations: one part of the published configuration changed, everything else as it was.

L, K and G are those that the full configuration chose on the same split, and Stage 3 is the same
L1 fit at lambda = 4/n in every variant that has one, so that a difference is due to what the
variant names. The paper says neither whether its variants were tuned again nor what its frequent
vocabulary holds: "frequent" is without augmented pairs, as the contrast with HUG without pairs
needs it, and "frequent_pairs" shows what they would change. XGBoost's fixed settings, which the
paper does not state either: 200 rounds, depth 2, learning rate 0.1, of the paper's grid the corner
that comes nearest to the published MIU.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.peers import ROUNDS, Fitted, Rows, fit_ours, log_odds
from experiments.data import SEED, DataSet, splits
from experiments.performance import describe, measures
from experiments.protocol import Unit
from experiments.stages import on_rows, stages, without_pairs
from rpte import AuditLoad, RPTEClassifier
from rpte.audit.columns import Columns
from rpte.audit.families import read
from rpte.audit.load import count
from rpte.table.schema import Schema
from rpte.vocabulary.vocabulary import Vocabulary


@dataclass(frozen=True)
class Variant:
    """What is changed: parameters, whether pairs are mined, and who learns from the vocabulary."""

    title: str
    changes: dict[str, Any]
    pairs: bool = True
    learner: str = "rpte"


VARIANTS = {
    "hug": Variant("HUG, no augmentation", {}, pairs=False),
    "frequent": Variant("frequent top-K", {"vocabulary": "frequent"}, pairs=False),
    "frequent_pairs": Variant("frequent top-K with pairs", {"vocabulary": "frequent"}),
    "original": Variant("original columns only", {"vocabulary": "original"}),
    "no_reassign": Variant("no leaf reassignment", {"reassign": False}),
    "xgb_hug_pairs": Variant("XGBoost on HUG with pairs", {}, learner="xgboost"),
    "xgb_hug": Variant("XGBoost on HUG", {}, pairs=False, learner="xgboost"),
    "xgb_frequent": Variant(
        "XGBoost on frequent", {"vocabulary": "frequent"}, pairs=False, learner="xgboost"
    ),
    "xgb_original": Variant(
        "XGBoost on original columns", {"vocabulary": "original"}, learner="xgboost"
    ),
}


class OnVocabulary:
    """XGBoost with fixed settings on the columns of a vocabulary."""

    def __init__(self, vocabulary: Vocabulary, schema: Schema) -> None:
        from xgboost import XGBClassifier

        self.vocabulary, self.schema = vocabulary, schema
        self.booster = XGBClassifier(
            n_estimators=ROUNDS,
            max_depth=2,
            learning_rate=0.1,
            reg_lambda=1.0,
            n_jobs=1,
            random_state=SEED,
        )

    def fit(self, X: pd.DataFrame, y: np.ndarray) -> OnVocabulary:
        """Fit on the vocabulary of the training rows."""
        self.booster.fit(self._columns(X), y)
        return self

    def _columns(self, X: pd.DataFrame) -> np.ndarray:
        return on_rows(self.vocabulary, self.schema, X)

    def predict_proba(self, X: pd.DataFrame) -> np.ndarray:
        """Return the probabilities of the two classes."""
        return self.booster.predict_proba(self._columns(X))

    def audit(self, X: pd.DataFrame) -> AuditLoad:
        """Count a split as the conditions of its column: two for a pair or a pattern of two."""
        n = len(self.vocabulary)
        conditions = [column.conditions(self.schema) for column in self.vocabulary.columns]
        columns = Columns(np.arange(n), np.array(conditions, np.int64), np.ones(n, bool))
        family, terms = read(self.booster, self._columns(X), columns)
        return count(terms, family)


def ablate(unit: Unit, data: DataSet, given: dict[str, Any]) -> dict[str, Any]:
    """Fit a variant with the L, K and G that the full configuration chose on the split."""
    train, test = splits(data)[unit.split]
    rows = Rows(data.X, data.y, data.groups, SEED).take(train)
    variant, chosen = VARIANTS[unit.model], given["rpte_paper"]["chosen"]
    classifier = RPTEClassifier.paper(**{**chosen, **variant.changes})
    about = {"n_train": len(train), "n_test": len(test), "chosen": chosen, "note": ""}
    with warnings.catch_warnings(), without_pairs(not variant.pairs):
        warnings.simplefilter("ignore")
        start = time.process_time()
        if variant.learner == "xgboost":
            found = stages(classifier, rows.X, rows.y)
            boosted = OnVocabulary(found.vocabulary(), found.schema).fit(rows.X, rows.y)
            record = _boosted(boosted, data, test)
        else:
            record = describe(Fitted(fit_ours(classifier, rows)), data, test)
            record.pop("all_scores", None)
        return {**about, "fit_seconds": round(time.process_time() - start, 4), **record}


def _boosted(model: OnVocabulary, data: DataSet, test: np.ndarray) -> dict[str, Any]:
    X, y = data.X.iloc[test], data.y[test]
    score, load = log_odds(model, X), model.audit(X)
    return {
        **measures(y, score, score > 0),
        "mu": load.mu,
        "miu": load.miu,
        "iiu": round(float(load.iiu or 0.0), 4),
        "vocabulary": len(model.vocabulary),
    }
