"""Files written by every version stay loadable and score the same to the last bit."""

import json

import numpy as np
import pytest

import rpte
from model_files import golden_files
from rpte.losses import LOSSES
from rpte.model.classes import ClassesModel
from rpte.model.format import DEFINITIONS
from rpte.model.versions import NEWEST

FILES = golden_files()


def hexadecimal(values):
    """Return floats in hexadecimal; those of several classes as a list for each row."""
    return [hexadecimal(v) if isinstance(v, np.ndarray) else float(v).hex() for v in values]


def test_this_version_has_files_of_every_kind():
    mine = [path for path in FILES if path.parent.name == f"models_{NEWEST}"]
    text = "".join(path.read_text() for path in mine)
    kinds = [option["$ref"].rsplit("/", 1)[-1] for option in DEFINITIONS["column"]["oneOf"]]
    assert all(f'"kind": "{kind}"' in text for kind in kinds)
    assert len(mine) >= 6
    losses = {json.loads(path.read_text())["loss"]["name"] for path in mine}
    assert losses == {*LOSSES, "multinomial"}


@pytest.mark.filterwarnings("ignore:column .* training did not have")
@pytest.mark.filterwarnings("ignore:the model was fitted with the (exposure|offset)")
@pytest.mark.parametrize("path", FILES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_a_golden_file_scores_as_it_did(path, tmp_path):
    expected = json.loads(path.with_suffix(".rows.json").read_text())
    model = rpte.load(path)
    assert hexadecimal(model.score(expected["rows"])) == expected["score"]
    predicted = model.predict(expected["rows"]).tolist()
    if "mean" in expected:  # exponentials may differ in the last bit from machine to machine
        assert predicted == pytest.approx(expected["mean"], rel=1e-14)
    else:
        assert predicted == expected.get("class", expected.get("risk"))
    if "survival" in expected:
        strata = list(model.target.strata[:1]) * len(predicted) or None
        horizons = expected["horizons"]
        hazard = model.target.baseline[0].at(np.array(horizons))
        assert hexadecimal(hazard) == expected["hazard"]
        found = model.survival_at(expected["rows"], horizons, strata=strata)
        np.testing.assert_allclose(found, expected["survival"], rtol=1e-13)
    if isinstance(model, ClassesModel):
        each = zip(*(one.explain(expected["rows"]) for one in model.models), strict=True)
        explained = [[e.score.hex() for e in row] for row in each]
    else:
        explained = [e.score.hex() for e in model.explain(expected["rows"])]
    assert explained == expected["score"]
    assert all(check.holds for check in rpte.verify_file(path, expected["rows"]))
    model.save(tmp_path / "again.json")
    assert rpte.load(tmp_path / "again.json") == model
