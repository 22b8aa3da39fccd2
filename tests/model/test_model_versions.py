"""Files of version 1 are read, scored, verified and checked; what is saved is version 2."""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest

import rpte
from model_files import direct, golden_files, sealed, stored, trees, write
from rpte.check import rpte_check
from rpte.errors import ModelFileError
from rpte.losses import BINOMIAL, GAMMA, POISSON, SQUARED
from rpte.losses.tweedie import Tweedie
from rpte.model.file import core_hashes, from_dict, to_dict
from rpte.model.target import TASKS, NumberTarget, Target, TargetUnits
from rpte.model.versions import NEWEST, shape_family, to_version_1, to_version_2, without

FILES = golden_files("0.1.0")
FIRST = FILES[0].parent
NEW = {"task", "loss", "target", "scores", "offset", "baseline"}

each_file = pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
unknown_levels = pytest.mark.filterwarnings("ignore:column .* training did not have")


def rows_of(path):
    return json.loads(path.with_suffix(".rows.json").read_text())["rows"]


def holds(path):
    """Tell whether library and checker pass a file."""
    return (
        all(check.holds for check in rpte.verify_file(path)) and rpte_check.main([str(path)]) == 0
    )


@each_file
@unknown_levels
def test_a_file_of_version_1_is_saved_as_version_2(path, tmp_path):
    model, rows = rpte.load(path), rows_of(path)
    model.save(tmp_path / "model.json")
    saved = json.loads((tmp_path / "model.json").read_text())
    assert saved["version"] == NEWEST == 2
    assert set(saved) >= NEW
    assert "classes" not in saved
    again = rpte.load(tmp_path / "model.json")
    assert again == model
    assert rpte.compare(again, model)["same"]
    np.testing.assert_array_equal(again.score(rows), model.score(rows), strict=True)
    assert holds(path)
    assert holds(tmp_path / "model.json")


@each_file
def test_no_field_is_lost_on_the_way_and_back(path):
    document = json.loads(path.read_text())
    assert to_version_1(to_version_2(document)) == without(document, "hash")


@each_file
def test_a_model_of_version_1_has_the_hash_of_its_file(path):
    document = json.loads(path.read_text())
    model = rpte.load(path)
    assert to_dict(model) == document
    assert to_dict(model, NEWEST)["hash"] != document["hash"]
    assert to_dict(replace(model)) == to_dict(model, NEWEST)  # a changed model is of the newest


def test_a_model_that_was_edited_in_version_1_is_edited_again(tmp_path):
    who = {"by": "A. Smith", "reason": "a test", "when": "2026-02-01T12:00:00Z"}
    old = rpte.load(FIRST / "edited.json")
    old.save(tmp_path / "saved.json")
    saved = rpte.load(tmp_path / "saved.json")
    for number, model in enumerate((old, saved)):
        edited = rpte.edit(model, drop_terms=[model.rules()[-1].term], **who)
        first, last = edited.ledger[-2:]
        assert last["before"]["model"] == first["after"]["model"] == core_hashes(old)[0]
        assert last["after"]["model"] == to_dict(replace(edited, ledger=()))["hash"]
        edited.save(tmp_path / f"{number}.json")
        assert holds(tmp_path / f"{number}.json")


def test_a_ledger_of_another_model_is_found_in_both_versions(tmp_path, capsys):
    for document in (json.loads((FIRST / "edited.json").read_text()), stored("edited").copy()):
        document["intercept"] += 0.5
        path = write(sealed(document), tmp_path)
        assert not all(check.holds for check in rpte.verify_file(path))
        assert rpte_check.main([str(path)]) == 1
        assert "not the one that the last entry left" in capsys.readouterr().out


def first_version():
    return json.loads((FIRST / "mixed.json").read_text())


def rename(part, old, new):
    part[new] = part.pop(old)


@pytest.mark.parametrize("name", sorted(NEW))
def test_a_field_of_version_2_is_strange_to_version_1(name, tmp_path):
    document = sealed({**first_version(), name: stored("mixed").document[name]})
    with pytest.raises(ModelFileError, match=f"unknown field '{name}'"):
        from_dict(document)
    assert rpte_check.main([str(write(document, tmp_path))]) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda d, old, new: rename(direct(d)[0], old, new),
        lambda d, old, new: rename(trees(d)[0]["leaves"][0], old, new),
    ],
    ids=["direct", "leaf"],
)
def test_each_version_has_its_own_word_for_events(change, tmp_path):
    words = ("events", "target_total")
    for document, (old, new) in ((first_version(), words), (stored("mixed").copy(), words[::-1])):
        change(document, old, new)
        with pytest.raises(ModelFileError, match=f"lacks the field '{old}'"):
            from_dict(sealed(document))
        assert rpte_check.main([str(write(sealed(document), tmp_path))]) == 1


@pytest.mark.parametrize("version", [0, 3, "1", True, None])
def test_another_version_is_refused(version):
    document = {**stored("mixed").copy(), "version": version}
    words = rf"version {version!r}, this library reads \[1, 2\]; install .* '{rpte.__version__}'"
    with pytest.raises(ModelFileError, match=words):
        from_dict(sealed(document))


@pytest.mark.parametrize("task", ["count", "ranking", "causes"])
def test_a_task_that_is_not_known_says_what_to_install(task, tmp_path, capsys):
    document = {**stored("mixed").copy(), "task": task, "library_version": "0.7.0"}
    path = write(sealed({**document, "baseline": {"times": [1.0]}}), tmp_path)
    known = r"\['binary', 'regression', 'survival', 'multiclass', 'competing risks'\]"
    words = rf"of the task '{task}', this library .* reads {known}; install .* '0\.7\.0'"
    with pytest.raises(ModelFileError, match=words):
        rpte.load(path)
    assert rpte_check.main([str(path)]) == 1
    assert f"of the task '{task}'" in capsys.readouterr().err


def test_the_family_of_shapes_may_have_its_new_name_or_its_old_one(tmp_path):
    document = stored("chosen").copy()
    selection = document["training"]["selection"]
    names = ("menu", "shape_family")
    family = shape_family(selection["chosen"])
    for old, new in (names, names[::-1]):
        for option in [selection["chosen"], *selection["frontier"]]:
            if old in option:
                rename(option, old, new)
        path = write(sealed(document), tmp_path)
        assert holds(path)
        model = rpte.load(path)
        assert new in model.training["selection"]["chosen"]
        assert shape_family(model.training["selection"]["chosen"]) == family
        who = {"by": "A. Smith", "reason": "a test"}
        table = rpte.Labelled(*stored("chosen").given)
        last = model.rules()[-1].term
        assert rpte.edit(model, drop_terms=[last], table=table, refit=True, **who).rules()
    selection["chosen"] |= dict.fromkeys(names, "all")
    with pytest.raises(ModelFileError, match="unknown field 'menu'"):
        from_dict(sealed(document))
    assert rpte_check.main([str(write(sealed(document), tmp_path))]) == 1


@pytest.mark.parametrize("name", ["mixed", "published", "array"])
def test_the_response_is_the_probability_of_the_positive_class(name):
    model, X = from_dict(copy.deepcopy(stored(name).document)), stored(name).X
    found = model.response(X)
    assert found.shape == (len(X),)
    np.testing.assert_array_equal(found, model.predict_proba(X)[:, model.positive])
    np.testing.assert_array_equal(found, BINOMIAL.response(model.score(X)))


def test_a_target_says_what_its_score_is():
    target = Target(("no", "yes"), 0, 3.0)
    assert (target.outcome, target.other) == ("no", "yes")
    assert target.score_text == "log odds of 'no' against 'yes'"
    assert (target.task, target.loss.name, target.loss.link) == ("binary", "binomial", "logit")
    assert TASKS[target.task].from_dict(target.to_dict(), target.loss.to_dict()) == target


@pytest.mark.parametrize(
    ("target", "mean", "score"),
    [
        (NumberTarget(SQUARED, 3.0), "mean of y", "mean of y"),
        (NumberTarget(GAMMA, 3.0, "cost"), "mean of cost", "logarithm of the mean of cost"),
        (
            NumberTarget(POISSON, 3.0, "claims", "years", "known", TargetUnits(0.0, 0.5, 2.0)),
            "mean of claims per unit of years",
            "logarithm of the mean of claims per unit of years",
        ),
        (NumberTarget(Tweedie(1.7), 3.0), "mean of y", "logarithm of the mean of y"),
    ],
)
def test_a_target_that_is_a_number_says_what_its_score_is(target, mean, score):
    assert (target.task, target.mean_text, target.score_text) == ("regression", mean, score)
    again = TASKS[target.task].from_dict(target.to_dict(), target.loss.to_dict())
    assert again == target
    assert again.loss.to_dict() == target.loss.to_dict()
