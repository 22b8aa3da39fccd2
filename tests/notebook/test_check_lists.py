"""Lists of checks: what holds, fails and was not looked at, counted and as a table."""

import pytest

from rpte import verify_file
from rpte.model.check import NOT_CHECKED, Check, Checks
from shown_models import TASKS, shown


@pytest.mark.parametrize("task", TASKS)
def test_every_kind_of_model_is_verified_to_a_list(task):
    estimator, X, y, given = shown(task)
    found, alone = estimator.verify(X, y, **given), estimator.verify()
    assert isinstance(found, Checks)
    assert isinstance(alone, Checks)
    assert found.holds
    frame = alone.to_frame()
    assert (frame["result"] == NOT_CHECKED).sum() >= 5
    assert f"{(frame['result'] == 'holds').sum()} claims hold, 0 fail" in alone.headline
    assert f"{(frame['result'] == NOT_CHECKED).sum()} not checked" in alone.headline


def test_one_that_fails_is_counted_and_shown_first():
    found = Checks([Check("sums", True, "fine"), Check("<b>hash</b>", False, "a & b differ")])
    assert not found.holds
    assert found.headline == "1 claim holds, 1 fails, 0 not checked"
    text = found._repr_html_()
    assert text.index("&lt;b&gt;hash") < text.index("sums")
    assert "a &amp; b differ" in text.split("<details")[0]
    assert "✗" in text
    assert found[:1].holds
    assert isinstance(found[:1], Checks)
    assert repr(found) == "Checks: 1 claim holds, 1 fails, 0 not checked"
    assert "fails       <b>hash</b>: a & b differ" in str(found)


def test_a_file_is_verified_to_a_list(tmp_path):
    shown("binary")[0].save(tmp_path / "model.json")
    found = verify_file(tmp_path / "model.json")
    assert isinstance(found, Checks)
    assert found[0].to_dict()["name"] == "content hash"
    assert set(found[0].to_dict()) == {"name", "holds", "evidence"}
