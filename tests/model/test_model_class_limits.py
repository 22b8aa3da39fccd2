"""Monotone limits by class: kept on every row, proved from the file, carried on by edits."""

import copy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rpte
from effort import examples
from model_files import direct, sealed, write
from rpte import Labelled, Limits, RPTEClassifier
from rpte.check import rpte_check
from rpte.model.file import from_dict, to_dict, to_text

BOTH = {"age": {"dead": "increasing", "well": "decreasing"}, "dose": {"ill": "increasing"}}


def patients(n=300, seed=0, classes=3, wrong=1.0):
    """Return a table in which `dose` goes the wrong way for 'ill', and `age` is noisy."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.normal(size=n).round(2) for name in ("age", "dose", "mass")})
    X.loc[rng.random(n) < 0.1, "age"] = np.nan
    age = X["age"].fillna(1.0)
    pull = rng.normal(0.0, 0.3, (classes, 3)) @ np.array([age, X["dose"], X["mass"]])
    pull[0] += 1.2 * age * (X["mass"] > 0)
    pull[1] -= wrong * X["dose"] + 0.5 * np.abs(X["mass"])
    labels = ["dead", "ill", "well", "worse", "young"][:classes]
    known = (pull + rng.gumbel(size=pull.shape)).argmax(axis=0)
    known[: classes * 6] = np.repeat(np.arange(classes), 6)
    return X, np.array(labels)[known]


def fitted(monotone=BOTH, l1=0.01, table=None, **parameters):
    X, y = patients() if table is None else table
    return RPTEClassifier(l1=l1, limits=Limits(monotone=monotone), **parameters).fit(X, y)


@pytest.fixture(scope="module")
def clf():
    return fitted()


def wrong_way(model, X, name, label, word):
    """Return how far the probability of a class, and scores, move against a limit on a grid."""
    rows = X.iloc[np.repeat(np.arange(0, len(X), max(1, len(X) // 15)), 60)].reset_index(drop=True)
    rows[name] = np.tile(np.linspace(-3.5, 3.5, 60), len(rows) // 60)
    k, sign = model.classes.index(label), 1.0 if word == "increasing" else -1.0
    p = sign * np.diff(model.predict_proba(rows)[:, k].reshape(-1, 60), axis=1)
    scores = model.score(rows).T.reshape(len(model.classes), -1, 60)
    score = sign * np.diff(scores, axis=2)
    score[np.arange(len(score)) != k] *= -1.0
    return max(0.0, -p.min()), max(0.0, -score.min())


@examples(12)
@given(
    st.integers(0, 9_999),
    st.integers(3, 5),
    st.sampled_from(["dead", "ill", "well"]),
    st.sampled_from(["dead", "ill", "well"]),
    st.sampled_from(["increasing", "decreasing"]),
    st.sampled_from(["increasing", "decreasing"]),
    st.sampled_from(["age", "dose", "mass"]),
    st.sampled_from([1.0, 0.5]),
)
def test_no_probability_moves_the_wrong_way(seed, classes, one, other, first, second, name, ratio):
    """Scores are in order exactly, probabilities to rounding."""
    X, y = patients(100, seed, classes)
    monotone = {name: {one: first}}
    monotone.setdefault("dose", {})[other] = second
    found = fitted(monotone, 0.03, (X, y), l1_ratio=ratio, budget=30, max_trees=2)
    for variable, asked in monotone.items():
        for label, word in asked.items():
            moved, scores = wrong_way(found.model_, X, variable, label, word)
            assert moved <= 1e-15
            assert scores == 0.0
    assert [check for check in found.verify(X, y) if not check.holds] == []


def test_limits_bind_and_the_search_keeps_them():
    X, y = patients(250)
    small = {"max_inspection_units": 8, "cv": 2, "l1_ratio": 1.0, "budget": 20, "max_trees": 1}
    free = RPTEClassifier(**small).fit(X, y)
    assert wrong_way(free.model_, X, "dose", "ill", "increasing")[0] > 0.005
    bound = fitted(BOTH, "cv", (X, y), **small)
    assert wrong_way(bound.model_, X, "dose", "ill", "increasing")[1] == 0.0
    assert wrong_way(bound.model_, X, "age", "dead", "increasing")[1] == 0.0
    assert "age" in bound.model_.sources
    for model in bound.frontier_models_:
        assert all(check.holds for check in model.verify())


def test_a_limit_that_the_data_keep_costs_nothing():
    X, y = patients(400, wrong=-1.5)
    free = RPTEClassifier(l1=0.03).fit(X, y)
    bound = fitted({"dose": {"ill": "increasing"}}, 0.03, (X, y))
    one, other = (each.model_.training["objective"]["value"] for each in (free, bound))
    assert abs(other - one) <= 0.02 * one  # trees may differ: none splits a limited variable


class TestTheFile:
    def test_it_is_read_again(self, clf):
        model = clf.model_
        assert model.settings["limits"]["monotone"] == BOTH
        again = from_dict(to_dict(model))
        assert to_text(again) == to_text(model)
        assert [c.name for c in again.verify() if c.name.startswith("monotone")] == [
            "monotone: 'dead' increasing in age",
            "monotone: 'well' decreasing in age",
            "monotone: 'ill' increasing in dose",
            "monotone certificate",
        ]

    def test_classes_that_are_numbers(self, tmp_path):
        X, y = patients()
        y = np.searchsorted(["dead", "ill", "well"], y) + 1
        found = fitted({"age": {1: "increasing"}}, table=(X, y))
        assert found.model_.settings["limits"]["monotone"] == {"age": {"1": "increasing"}}
        found.save(tmp_path / "m.json")
        assert all(check.holds for check in rpte.load(tmp_path / "m.json").verify(X, y))

    def test_it_is_said(self, clf):
        assert "limit: 'ill' increasing in dose" in clf.summary()

    def test_the_checker_proves_it(self, clf, tmp_path, capsys):
        X, y = patients()
        path = str(write(to_dict(clf.model_), tmp_path))
        X.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
        given = [path, str(tmp_path / "t.csv"), "--target", "y"]
        assert rpte_check.main(given) == 0, capsys.readouterr().out
        told = capsys.readouterr().out
        assert "holds  monotone: 'dead' increasing in age: every term" in told
        assert "holds  certificate: 3, found again" in told


def reader(document, name):
    """Return a direct term that reads one variable alone, and orders it."""
    kinds = ("value", "step", "hinge")
    return next(
        t for t in direct(document)
        if t["column"].get("source") == name and t["column"]["kind"] in kinds
    )  # fmt: skip


def turned(document):
    term = reader(document, "age")
    term["coefficient"] = [-size for size in term["coefficient"]]


def other_word(document):
    document["settings"]["limits"]["monotone"]["age"]["dead"] = "decreasing"


def put(monotone):
    return lambda document: document["settings"]["limits"].__setitem__("monotone", monotone)


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (turned, "monotone: 'dead' increasing in age"),
        (other_word, "monotone: 'dead' decreasing in age"),
        (lambda d: d["training"].__setitem__("monotone", []), "certificate"),
        (lambda d: d["training"]["monotone"][0].__setitem__("class", "ill"), "certificate"),
        (lambda d: d["training"]["monotone"][0]["direct"].pop(), "certificate"),
        (put({}), "certificate"),
        (put({"age": {"dead": "increasing"}}), "certificate"),
        (put({"age": "increasing"}), "fields"),
        (put({"age": {}}), "fields"),
        (put({"age": {"gone": "increasing"}}), "fields"),
        (put({"agee": {"dead": "increasing"}}), "fields"),
        (put({"age": dict.fromkeys(("dead", "ill", "well"), "increasing")}), "fields"),
    ],
)
def test_what_was_changed_is_found(clf, change, check):
    document = copy.deepcopy(to_dict(clf.model_))
    change(document)
    document = sealed(document)
    mine = [name for name, faults, _ in rpte_check.file_checks(document) if faults]
    try:
        theirs = [each.name for each in from_dict(document).verify() if not each.holds]
    except rpte.ModelFileError:
        theirs = ["fields"]
    assert check in mine
    assert any(name.endswith(check) for name in theirs)


def test_of_two_classes_a_limit_has_no_class():
    X, y = patients()
    two = RPTEClassifier(l1=0.02, limits=Limits(monotone={"age": "increasing"})).fit(X, y == "dead")
    document = copy.deepcopy(to_dict(two.model_))
    put({"age": {"True": "increasing"}})(document)
    with pytest.raises(rpte.ModelFileError, match="names classes, but the model has one score"):
        from_dict(sealed(document))
    assert [n for n, f, _ in rpte_check.file_checks(sealed(document)) if f] == ["fields"]


class TestBetween:
    @pytest.mark.parametrize(
        ("pair", "directions"),
        [
            (("dead", "well"), {"age": "increasing"}),
            (("well", "dead"), {"age": "decreasing"}),
            (("dead", "ill"), {"age": "increasing", "dose": "decreasing"}),
            (("ill", "well"), {"age": "increasing", "dose": "increasing"}),
        ],
    )
    def test_the_odds_of_two_are_monotone(self, clf, pair, directions):
        model = clf.model_.between(*pair)
        assert model.settings["limits"]["monotone"] == directions
        checks = {check.name: check.holds for check in model.verify()}
        assert checks["monotone certificate"]
        for name, word in directions.items():
            assert checks[f"monotone: {word} in {name}"]

    def test_of_a_score_alone_nothing_is_claimed(self, clf):
        assert clf.model_.models[0].settings["limits"]["monotone"] == {}


class TestEdits:
    @pytest.mark.parametrize("refit", [False, True])
    def test_limits_hold_in_what_is_left(self, clf, refit):
        X, y = patients()
        name = reader(to_dict(clf.model_), "age")["name"]
        given = {"by": "A. Smith", "reason": "a test", "drop_terms": [name]}
        edited = rpte.edit(clf.model_, **given, table=Labelled(X, y), refit=refit)
        assert edited.settings["limits"]["monotone"] == BOTH
        checks = edited.verify(X, y) if refit else edited.verify()
        assert [check for check in checks if not check.holds] == []
        document = to_dict(edited)
        assert [n for n, f, _ in rpte_check.file_checks(document) if f] == []

    def test_a_refit_on_rows_that_go_the_other_way(self, clf):
        X, y = patients(seed=1, wrong=2.0)
        X = X.assign(age=-X["age"])
        given = {"by": "A. Smith", "reason": "new rows", "refit": True}
        again = rpte.edit(clf.model_, **given, table=Labelled(X, y))
        names = {"dead": "increasing", "well": "decreasing"}
        for label, word in names.items():
            assert wrong_way(again, X, "age", label, word) == (pytest.approx(0.0, abs=1e-15), 0.0)

    def test_a_claim_that_is_withdrawn_cannot_be_there(self, clf):
        given = {"by": "A. Smith", "reason": "a test"}
        document = to_dict(rpte.edit(clf.model_, **given, drop_sources=["mass"]))
        entry = document["ledger"][0]
        entry["withdrawn"] = [*entry["withdrawn"], "monotone: 'dead' increasing in age"]
        entry["hash"] = rpte_check.digest(rpte_check.without(entry, "hash"))
        document = sealed(document)
        assert "ledger" in [n for n, f, _ in rpte_check.file_checks(document) if f]
        failed = [check for check in from_dict(document).verify() if not check.holds]
        assert "is withdrawn but there" in failed[0].evidence
