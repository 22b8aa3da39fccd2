"""Fit the stored models again.

The tests read these documents in the place of fits. Run this after a change of the document's
structure, or of the search where a test needs its newer models; the golden files are for what
must never change.

    python tests/stored/make_stored.py
    python tests/stored/make_stored.py squared counts       these alone, the others stay
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from unittest import mock

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "helpers"))

import pytest  # noqa: E402

import proof_models  # noqa: E402
from model_files import FOLDER, SHAPES, TABLES, stored_document  # noqa: E402
from rpte import (  # noqa: E402
    Labelled,
    Limits,
    RPTEClassifier,
    RPTERegressor,
    RPTESurvival,
    RPTEWarning,
    edit,
)
from rpte.model.file import from_dict, to_dict  # noqa: E402
from searches import call_large  # noqa: E402

PATTERNS = {"vocabulary": "hug", "budget": 100}
WHO = {"by": "A. Smith", "reason": "a test", "when": "2026-01-31T12:00:00Z"}
CODES = {"special_values": {"codes": [-9]}}
ORDERED = Limits(monotone={"a": "increasing", "b": "increasing"}, penalty={"c": 1.5})
OLDER = Limits(monotone={"age": "increasing"}, penalty={"power": 1.5})
MEETING = Limits(
    monotone={"age": "increasing"},
    exclude=["noise"],
    interactions=[{"age", "region"}, {"income", "smoker"}],
)


def number(loss, **parameters):
    return RPTERegressor(**{"loss": loss, "l1": 0.03, "max_trees": 2, "max_leaves": 4} | parameters)


ESTIMATORS = {
    "mixed": RPTEClassifier(l1="4/n", **PATTERNS),
    "published": RPTEClassifier.paper(positive="healthy"),
    "special": RPTEClassifier(
        l1=0.01, special_values={"points": [-9, -8]}, ownership="separate", **PATTERNS
    ),
    "monotone": RPTEClassifier(l1=0.004, vocabulary="original", limits=ORDERED),
    "limited": RPTEClassifier(l1=0.005, limits=MEETING, profile="full", **PATTERNS),
    "chosen": RPTEClassifier(max_component_sources=2, cv=3, profile="none"),
    # a penalty low enough for shapes, a tree and products
    "products": RPTEClassifier(l1=0.004, max_trees=1, max_leaves=4),
    "array": RPTEClassifier(
        l1=0.004, l1_ratio=0.7, class_weight="balanced", max_leaves=4, **PATTERNS
    ),
    "boosted": RPTEClassifier(reassign=False, ownership="paper", max_trees=2, **PATTERNS),
    "shaped": RPTEClassifier(l1=0.002, max_trees=1, max_leaves=4, min_gain=100.0, **PATTERNS),
    "estimated": RPTEClassifier(l1=0.02, max_trees=0),
    "squared": number("squared_error"),
    "counts": number("poisson", limits=OLDER, l1=0.01),
    "amounts": number("gamma", l1_ratio=0.5),
    "claims": number("tweedie", power=1.6),
    "boosted_counts": number("poisson", reassign=False, ownership="paper", profile="none"),
    "classes": RPTEClassifier(l1=0.01),
    "class_numbers": RPTEClassifier(l1=0.14, l1_ratio=0.6, class_weight="balanced", profile="none"),
    "trial": RPTESurvival(l1=0.02, max_trees=1, max_leaves=4, limits=OLDER),
    "visits": RPTESurvival(loss="discrete", intervals=6, l1=0.03, max_trees=0, profile="none"),
    "edited_times": RPTESurvival(l1=0.03, ties="breslow", max_trees=0),
    "causes": RPTESurvival(censored="alive", l1=0.02, max_trees=1, max_leaves=4),
    "proof_default": RPTEClassifier(**CODES),
    "proof_limited": RPTEClassifier(
        special_values={"codes": [-9, -8]},
        l1=0.008,
        max_trees=2,
        max_leaves=6,
        limits=Limits(monotone={"skewed": "increasing"}, exclude=["few"], penalty={"city": 1.5}),
    ),
    "proof_paper": RPTEClassifier.paper(l1=0.025, **CODES),
    "proof_boosted": RPTEClassifier(reassign=False, ownership="paper", max_trees=2, **CODES),
}
SMOOTH = {"audit_price": 0.003, "profile": "none", **CODES}
SPLIT = {"audit_price": 0.0, "max_leaves": 6, "profile": "none", **CODES}
SAMPLED = {
    "sampled_classes": RPTEClassifier(
        class_weight={"yes": 2.5}, ownership="separate", cv=4, budget=30, **SMOOTH
    ),
    "sampled_patterns": RPTEClassifier(vocabulary="hug", budget=40, **SMOOTH),
    "sampled_trees": RPTEClassifier(ownership="paper", vocabulary="original", cv=3, **SPLIT),
    "sampled_components": RPTEClassifier(pattern_order=1, class_weight="balanced", cv=3, **SPLIT),
    "sampled_lookahead": RPTEClassifier(
        ownership="paper", vocabulary="hug", budget=40, lookahead=True, **SPLIT
    ),
    "sampled_paper": RPTEClassifier.paper(l1="cv", l1_ratio=None, **SPLIT),
}
NAMES = ("edited", *ESTIMATORS, *SAMPLED)


def model_of(name):
    """Fit one of the models."""
    if name == "edited":  # twice: the first edit is estimated again, the second is not
        table = Labelled(*TABLES[name]().values())
        first = from_dict(stored_document("mixed"))
        again = edit(first, drop_sources=["smoker"], table=table, refit=True, **WHO)
        return edit(again, drop_terms=["D1"], **WHO)
    given = (TABLES | proof_models.TABLES)[name]()
    X, y, weight = given.pop("X"), given.pop("y"), given.pop("weight", None)
    estimator = (ESTIMATORS | SAMPLED)[name]
    with pytest.MonkeyPatch.context() as patch:
        if name in SAMPLED:
            call_large(patch)
            patch.setattr("rpte.rows.scale.SAMPLE_ROWS", proof_models.SAMPLE_ROWS)
        if name == "shaped":
            mined = mock.Mock(return_value=SHAPES)
            patch.setattr("rpte.published.vocabulary.mine_pairs", mined)
        estimator.fit(X, y, sample_weight=weight, **given)
    if name in SAMPLED:  # the largest has numbers of every kind
        models = (estimator.model_, *estimator.frontier_models_)
        return max(models, key=lambda model: model.audit().miu)
    if name in ("estimated", "trial"):
        estimator.cross_validate(X, y, weight, folds=3, **given)
    if name == "edited_times":
        table = Labelled(X, y)
        first = edit(estimator.model_, drop_sources=["power"], table=table, refit=True, **WHO)
        return edit(first, drop_terms=["D1"], table=table, **WHO)
    return estimator.model_


def document_of(name):
    """Return the document of a model that is fitted now, as a file has it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RPTEWarning)
        return json.loads(json.dumps(to_dict(model_of(name))))


def main() -> None:
    names = sys.argv[1:] or sorted(NAMES, key="edited".__eq__)  # which needs "mixed"
    for name in names:
        text = json.dumps(document_of(name), separators=(",", ":"), ensure_ascii=False)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    print(f"{len(names)} models in {FOLDER}")


if __name__ == "__main__":
    main()
