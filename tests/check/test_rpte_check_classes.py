"""The checker on models of several classes: what it finds, and that the library finds it too."""

import copy

import numpy as np
import pandas as pd
import pytest

import rpte
from model_files import CLASS_NAMES, direct, sealed, stored, write
from rpte.check import rpte_check
from rpte.model.file import from_dict

OPTIMUM = "Stage 3 optimality of the active terms"


def failing(document):
    """Return the checks of the file that fail, and whether the library finds a fault too."""
    document = sealed(document)
    mine = [name for name, faults, _ in rpte_check.file_checks(document) if faults]
    try:
        theirs = [check.name for check in from_dict(document).verify() if not check.holds]
    except rpte.ModelFileError:
        theirs = ["fields"]
    assert bool(mine) == bool(theirs), (mine, theirs)
    return mine


def train(name, folder):
    made = stored(name)
    frame = pd.DataFrame(made.X, columns=None if hasattr(made.X, "columns") else ["a", "b"])
    frame["my class"] = made.y
    options = ["--target", "my class"]
    if made.weight is not None:
        frame["my weight"] = made.weight
        options += ["--weight-column", "my weight"]
    frame.to_csv(folder / "train.csv", index=False)
    return [str(folder / "train.csv"), *options]


@pytest.mark.slow(reason="scores and checks many changed files")
@pytest.mark.parametrize("name", CLASS_NAMES)
def test_it_scores_as_the_library_does(name, tmp_path, capsys):
    made, out = stored(name), tmp_path / "out.csv"
    model, given = from_dict(made.copy()), train(name, tmp_path)
    path = str(write(made.document, tmp_path))
    assert rpte_check.main([path, *given, "--scores", str(out)]) == 0, capsys.readouterr().out
    found = pd.read_csv(out, float_precision="round_trip")
    score, p = model.score(made.X), model.predict_proba(made.X)
    for k, label in enumerate(model.classes):
        assert [v.hex() for v in found[f"score_{label}"]] == [v.hex() for v in score[:, k]]
        np.testing.assert_allclose(found[f"probability_{label}"], p[:, k], rtol=1e-13)
    assert found["class"].tolist() == model.predict(made.X).tolist()
    capsys.readouterr()
    assert rpte_check.main([path, *given, "--expect", str(out)]) == 0
    label = model.classes[1]
    assert f"holds  expected probabilities of {label}: " in capsys.readouterr().out
    found["class"] = np.where(found.index == 2, model.classes[0], model.classes[-1])
    found[f"probability_{label}"] *= 1 + 1e-9
    found.to_csv(out, index=False)
    assert rpte_check.main([path, *given, "--expect", str(out)]) == 1
    told = capsys.readouterr().out
    assert "FAILS  expected classes: row " in told
    assert f"FAILS  expected probabilities of {label}: row 1: " in told
    found.drop(columns=f"score_{label}").to_csv(out, index=False)
    assert rpte_check.main([path, *given, "--expect", str(out)]) == 1
    assert f"has no column 'score_{label}'" in capsys.readouterr().err


def changed(name, change):
    document = copy.deepcopy(stored(name).document)
    change(document)
    return document


def shifted(document):
    """The same probabilities in another form."""
    term = direct(document)[0]
    term["coefficient"] = [size + 1.0 for size in term["coefficient"]]


def silent(document):
    term = direct(document)[0]
    term["coefficient"] = [0.0 for _ in term["coefficient"]]


def moved_case(document):
    term = next(t for t in direct(document) if t["target_total"][0] >= 1)
    term["target_total"][0] -= 1


def moved_mean(document):
    """A mean of the class in which the term is smallest."""
    binary = [t for t in direct(document) if t["column"]["kind"] in ("level", "missing", "step")]
    term = binary[0]
    k = min(range(3), key=lambda k: abs(term["coefficient"][k]))
    document["training"]["mean_contributions"][term["name"]][k] += 0.01


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (shifted, "canonical scores"),
        (silent, "classes"),
        (moved_case, "classes"),
        (moved_mean, "sums"),
        (lambda d: d["intercept"].__setitem__(0, d["intercept"][0] + 0.1), "canonical scores"),
        (lambda d: d["target"]["totals"].__setitem__(1, d["target"]["totals"][1] - 1), "classes"),
        (lambda d: d["intercept"].pop(), "fields"),
        (lambda d: d["intercept"].append(0.0), "fields"),
        (lambda d: direct(d)[0]["coefficient"].append(0.0), "fields"),
        (lambda d: d["training"]["class_factors"].pop(), "fields"),
        (lambda d: d["training"].pop("class_factors"), "fields"),
        (lambda d: d["target"]["classes"].reverse(), "fields"),
        (lambda d: d["target"]["classes"].__setitem__(0, 1), "fields"),
        (lambda d: d["loss"].__setitem__("link", "logit"), "fields"),
        (lambda d: d.__setitem__("scores", 4), "fields"),
        (lambda d: d.__setitem__("scores", 1), "fields"),
        (lambda d: d["target"].__setitem__("positive", 1), "fields"),
        (lambda d: d.__setitem__("bound", d["bound"] + 1), "audit load"),
    ],
)
def test_what_was_tampered_with_is_found(change, name):
    assert name in failing(changed("classes", change))


@pytest.mark.parametrize("scores", [2, 3])
def test_scores_of_two_classes_are_one(scores):
    assert failing({**stored("mixed").copy(), "scores": scores}) == ["fields"]


class TestTrainingTable:
    """With the training table, both find what is not of it."""

    def both(self, document, name, folder, capsys):
        made, document = stored(name), sealed(document)
        path = str(write(document, folder))
        code = rpte_check.main([path, *train(name, folder)])
        lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("FAILS")]
        found = from_dict(document).verify(*made.given)
        assert code == bool(lines) == any(not check.holds for check in found)
        return [line[7:].split(": ")[0] for line in lines]

    @pytest.mark.parametrize("name", CLASS_NAMES)
    @pytest.mark.parametrize("factor", [1.01, 0.0])
    def test_a_coefficient_that_is_not_optimal(self, name, factor, tmp_path, capsys):
        document = stored(name).copy()
        term = direct(document)[0]
        k = max(range(3), key=lambda k: abs(term["coefficient"][k]))
        term["coefficient"][k] *= factor
        document["training"]["mean_contributions"][term["name"]][k] *= factor
        assert OPTIMUM in self.both(document, name, tmp_path, capsys)

    def test_a_zero_that_is_not_optimal(self, tmp_path, capsys):
        """A coefficient that is 0 in one class has a condition of its own."""
        made = stored("classes")
        document = made.copy()
        term = direct(document)[0]
        k = term["coefficient"].index(0.0)
        others = [j for j in range(3) if j != k]
        moved = 0.1 * max(abs(term["coefficient"][j]) for j in others)
        term["coefficient"][k] = moved
        assert OPTIMUM in self.both(document, "classes", tmp_path, capsys)

    def test_cases_that_change_their_class(self, tmp_path, capsys):
        document = stored("classes").copy()
        totals = direct(document)[0]["target_total"]
        totals[0], totals[1] = totals[0] - 1, totals[1] + 1
        assert self.both(document, "classes", tmp_path, capsys) == ["supports and event rates"]

    def test_a_larger_lambda_max(self, tmp_path, capsys):
        """It would allow a larger residual."""
        document = stored("classes").copy()
        objective = document["training"]["objective"]
        objective["lambda_max"] *= 100.0
        objective["tolerance"] = max(
            min(1e-6 * objective["lambda_max"], 1e-3 * objective["l1"]), 1e-12
        )
        assert OPTIMUM in self.both(document, "classes", tmp_path, capsys)

    def test_labels_that_are_none_of_the_classes(self, tmp_path, capsys):
        given = train("classes", tmp_path)
        frame = pd.read_csv(given[0])
        frame.loc[4, "my class"] = "hail"
        frame.to_csv(given[0], index=False)
        path = str(write(stored("classes").document, tmp_path))
        assert rpte_check.main([path, *given]) == 1
        assert "the target 'hail' is none of the classes" in capsys.readouterr().err
        frame.loc[4, "my class"] = frame.loc[5, "my class"] = "calm"
        frame.loc[6, "my class"] = "storm"
        frame.to_csv(given[0], index=False)
        assert rpte_check.main([path, *given]) == 1
        assert "FAILS  training table: 'calm' has " in capsys.readouterr().out

    def test_an_exposure_is_refused(self, tmp_path, capsys):
        path = str(write(stored("classes").document, tmp_path))
        given = train("classes", tmp_path)[0]
        assert rpte_check.main([path, given, "--exposure-column", "wind"]) == 1
        assert "exposure is for models whose score" in capsys.readouterr().err
