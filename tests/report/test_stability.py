"""Refits on resamples: the same procedure, counted."""

import numpy as np
import pytest

from model_files import stored
from report_pages import evidence_of, model_of
from rpte import InputError, RPTEClassifier
from rpte.model.file import from_dict, to_dict
from rpte.report.evidence import gather
from rpte.report.stability import _frame, parameters, stability

NAMES = ["mixed", "special", "limited", "array", "monotone", "products"]


@pytest.mark.parametrize("name", NAMES)
def test_the_parameters_of_a_file_give_its_model_again(name):
    """On the training table itself: same terms, same coefficients."""
    model, evidence = model_of(name), evidence_of(name)
    again = RPTEClassifier(**parameters(model)).fit(
        _frame(model, evidence), evidence.labels, sample_weight=evidence.weight
    )
    refitted = from_dict(to_dict(again.model_))
    names = [(r.conditions, r.term) for r in model.rules()]
    assert [(r.conditions, r.term) for r in refitted.rules()] == names
    assert refitted.score(evidence.inputs) == pytest.approx(model.score(evidence.inputs), abs=1e-6)


def test_shares_are_over_all_refits():
    model, evidence = model_of("mixed"), evidence_of("mixed")
    told = []
    found = stability(model, evidence, 3, told.append)
    assert told == [1, 2, 3]
    assert found == stability(model, evidence, 3)
    assert len(found["miu"]) == found["refits"] == 3
    read = {s for component in model.components for s in component.sources}
    assert read <= {row["name"] for row in found["variables"]}
    for row in found["variables"]:
        assert row["share"] * 3 == pytest.approx(round(row["share"] * 3))
        assert row["in_model"] == (row["name"] in read)
    assert found["training"]
    assert -0.5 < found["optimism"] < 0.5
    spread = found["spread"]
    assert all(np.diff(spread["p"]) >= 0)
    assert all(low <= high for low, high in zip(spread["low"], spread["high"], strict=True))


def test_without_outcomes_there_is_nothing_to_refit():
    held, model = stored("mixed"), model_of("mixed")
    with pytest.raises(InputError, match="--target"):
        stability(model, gather(model, held.X), 1)
