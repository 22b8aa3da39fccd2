"""Edits by hand: what they change, what they keep, what the model no longer claims."""

import json
from dataclasses import replace

import numpy as np
import pytest

import rpte
from model_files import NAMES, stored
from rpte.audit import edits
from rpte.audit.edits import performance
from rpte.errors import InputError
from rpte.model.file import content_hash, from_dict, to_dict
from rpte.model.ledger import DERIVED, OPTIMALITY, UNMET_MISSING
from rpte.model.parts import TreeTerms

WHO = {"by": "A. Smith", "reason": "a test", "when": "2026-01-31T12:00:00Z"}
FITTED = tuple(name for name in NAMES if name != "boosted")


def model_of(name):
    return from_dict(stored(name).copy())


def table_of(name):
    return rpte.Labelled(*stored(name).given)


def through_a_file(model, tmp_path):
    model.save(tmp_path / "edited.json")
    return rpte.load(tmp_path / "edited.json")


def failing(model, name):
    made_by_hand = {DERIVED} if name == "shaped" else set()
    checks = model.verify(*stored(name).given)
    return [check for check in checks if not check.holds and check.name not in made_by_hand]


def first_tree(model):
    return next(part for _, part in model.parts() if isinstance(part, TreeTerms))


def active_leaf(model):
    tree = first_tree(model)
    return next(tree.leaf_name(n) for n, leaf in enumerate(tree.leaves) if leaf.coefficient)


def mean_score(model, name):
    made = stored(name)
    weight = np.ones(len(made.y)) if made.weight is None else made.weight
    factors = np.array(model.training["class_factors"])
    own = factors[(np.asarray(made.y) == model.classes[1]).astype(int)]
    return float(np.average(model.score(made.X), weights=weight * own))


@pytest.mark.parametrize("name", NAMES)
def test_a_dropped_source_is_not_read(name, tmp_path):
    model = model_of(name)
    source = model.components[0].sources[-1]
    edited = rpte.edit(model, drop_sources=[source], force=True, **WHO)
    edited = through_a_file(edited, tmp_path)
    assert all(source not in c.sources for c in edited.components)
    assert failing(edited, name) == []
    assert mean_score(edited, name) == pytest.approx(mean_score(model, name), abs=1e-9)
    assert edited.audit().miu < model.audit().miu


@pytest.mark.parametrize("name", NAMES)
def test_every_direct_term_can_go(name, tmp_path):
    model = model_of(name)
    terms = [part.name for _, part in model.parts() if not isinstance(part, TreeTerms)]
    for term in terms[:3]:
        edited = through_a_file(rpte.edit(model, drop_terms=[term], **WHO), tmp_path)
        names = [part.name for _, part in edited.parts()]
        assert names == [part.name for _, part in model.parts() if part.name != term]
        assert failing(edited, name) == []


@pytest.mark.parametrize("name", ["mixed", "published", "boosted", "shaped"])
def test_a_dropped_leaf_adds_nothing(name, tmp_path):
    model, X = model_of(name), stored(name).X
    leaf = active_leaf(model)
    edited = through_a_file(rpte.edit(model, drop_terms=[leaf], **WHO), tmp_path)
    assert failing(edited, name) == []
    moved = edited.intercept - model.intercept
    for old, new in zip(model.explain(X[:60]), edited.explain(X[:60]), strict=True):
        first = old.components[0].contributions[0]
        lost = first.value if first.term == leaf else 0.0
        assert new.score == pytest.approx(old.score - lost + moved, abs=1e-9)


def test_a_whole_tree_and_everything():
    model = model_of("mixed")
    bare = rpte.edit(model, drop_terms=["T1"], **WHO)
    assert not [part for _, part in bare.parts() if isinstance(part, TreeTerms)]
    assert len(bare.components) >= 1
    empty = rpte.edit(model, drop_sources=list(model.components[0].sources), **WHO)
    assert empty.components == ()
    assert empty.score(stored("mixed").X) == pytest.approx(mean_score(model, "mixed"))


def siblings(tree):
    """Return two leaves below one test."""
    paths = list(tree.tree.paths())
    for n in range(len(paths) - 1):
        if paths[n][:-1] == paths[n + 1][:-1]:
            yield n, n + 1


@pytest.mark.parametrize("name", ["mixed", "published", "shaped", "boosted"])
def test_merged_leaves_have_their_mean(name, tmp_path):
    model = model_of(name)
    tree = first_tree(model)
    pairs = [(a, b) for a, b in siblings(tree) if tree.leaves[a] != tree.leaves[b]]
    a, b = next(
        (a, b) for a, b in pairs if tree.leaves[a].coefficient != tree.leaves[b].coefficient
    )
    merged = [[tree.leaf_name(a), tree.leaf_name(b)]]
    edited = through_a_file(rpte.edit(model, merge=merged, **WHO), tmp_path)
    assert failing(edited, name) == []
    new, one, two = first_tree(edited).leaves[a], tree.leaves[a], tree.leaves[b]
    assert new.support == one.support + two.support
    mean = (one.coefficient * one.support + two.coefficient * two.support) / new.support
    assert new.coefficient == pytest.approx(mean)
    assert edited.intercept == pytest.approx(model.intercept)


def test_only_leaves_below_one_test_can_be_merged():
    model = model_of("mixed")
    for names, message in [
        (["T1.L1", "T1.L20"], "below one test"),
        (["T1.L1"], "two or more leaves"),
        (["T1.L1", "T1.L99"], "no such leaf"),
        (["T1.L1", "D1"], "no such leaf"),
    ]:
        with pytest.raises(InputError, match=message):
            rpte.edit(model, merge=[names], **WHO)
    with pytest.raises(InputError, match="named twice"):
        rpte.edit(model, merge=[["T1.L2", "T1.L3"]], drop_terms=["T1.L2"], **WHO)


@pytest.mark.parametrize("name", FITTED)
def test_a_refit_is_certified_again(name, tmp_path):
    model, table = model_of(name), table_of(name)
    source = model.components[0].sources[0]
    edited = rpte.edit(model, drop_sources=[source], table=table, refit=True, **WHO)
    edited = through_a_file(edited, tmp_path)
    assert failing(edited, name) == []
    checks = {check.name for check in edited.verify(*stored(name).given)}
    assert OPTIMALITY in checks
    assert "no longer claimed" not in checks
    plain = rpte.edit(model, drop_sources=[source], table=table, force=True, **WHO)
    before, after = plain.ledger[0]["after"]["metrics"], edited.ledger[0]["after"]["metrics"]
    penalised = edited.training["objective"]
    assert after["log_loss"] <= before["log_loss"] + penalised["l1"] * 50


@pytest.mark.parametrize("name", ["mixed", "shaped", "products"])
def test_a_refit_without_an_edit_finds_the_same_model(name):
    """The terms are those of an optimum, so estimating them again changes nothing."""
    model, table = model_of(name), table_of(name)
    again = rpte.edit(model, table=table, refit=True, **WHO)
    X = stored(name).X
    assert again.score(X) == pytest.approx(model.score(X), abs=1e-4)
    assert again.training["objective"]["value"] == pytest.approx(
        model.training["objective"]["value"], rel=1e-6
    )


def test_a_dropped_leaf_stays_silent_in_a_refit():
    model = model_of("mixed")
    leaf = active_leaf(model)
    held = rpte.edit(model, drop_terms=[leaf], **WHO)
    count = sum(bool(leaf.coefficient) for leaf in first_tree(held).leaves)
    solved = rpte.edit(held, table=table_of("mixed"), refit=True, **WHO)
    assert sum(bool(leaf.coefficient) for leaf in first_tree(solved).leaves) <= count
    assert solved.ledger[1]["restored"] == [OPTIMALITY]
    assert failing(solved, "mixed") == []


def test_the_order_of_rows_does_not_matter_to_a_refit():
    model, made = model_of("mixed"), stored("mixed")
    order = np.random.default_rng(0).permutation(len(made.y))
    shuffled = rpte.Labelled(made.X.iloc[order], made.y[order], made.weight[order])
    one = rpte.edit(model, table=table_of("mixed"), refit=True, **WHO)
    two = rpte.edit(model, table=shuffled, refit=True, **WHO)
    assert one.components == two.components
    assert one.intercept == two.intercept


def test_a_refit_on_another_table(tmp_path):
    """Supports and certificate are those of the new table; what its first table decided is gone."""
    model, made = model_of("mixed"), stored("mixed")
    half = rpte.Labelled(made.X[:150], made.y[:150], made.weight[:150])
    edited = through_a_file(rpte.edit(model, table=half, refit=True, **WHO), tmp_path)
    assert edited.ledger[0]["withdrawn"] == [UNMET_MISSING, DERIVED]
    checks = edited.verify(half.X, half.y, half.sample_weight)
    assert [check for check in checks if not check.holds] == []
    assert not {UNMET_MISSING, DERIVED} & {check.name for check in checks}
    assert "training table" in [c.name for c in failing(edited, "mixed")]


def test_a_broken_direction_is_refused_or_given_up(tmp_path):
    model = model_of("monotone")
    drop = {"drop_terms": [active_leaf(model)]}
    with pytest.raises(InputError, match="the edit breaks 'monotone: increasing in a'"):
        rpte.edit(model, **drop, **WHO)
    forced = through_a_file(rpte.edit(model, force=True, **drop, **WHO), tmp_path)
    entry = forced.ledger[0]
    assert entry["forced"]
    assert "monotone: increasing in a" in entry["withdrawn"]
    assert "a" not in forced.settings["limits"]["monotone"]
    checks = {check.name: check for check in forced.verify()}
    assert "monotone: increasing in a" not in checks
    assert "monotone: increasing in a" in checks["no longer claimed"].evidence
    assert all(check.holds for check in checks.values())
    solved = rpte.edit(model, table=table_of("monotone"), refit=True, **drop, **WHO)
    assert solved.settings["limits"]["monotone"] == model.settings["limits"]["monotone"]
    assert failing(solved, "monotone") == []


def test_force_is_recorded_only_where_it_was_needed():
    edited = rpte.edit(model_of("mixed"), drop_terms=["D1"], force=True, **WHO)
    assert not edited.ledger[0]["forced"]


def test_optimality_is_withdrawn_and_said():
    edited = rpte.edit(model_of("mixed"), drop_terms=["D1"], **WHO)
    assert edited.training["objective"] is None
    names = [check.name for check in edited.verify(*stored("mixed").given)]
    assert OPTIMALITY not in names
    assert "recorded objective" not in names
    assert "no longer claimed" in names
    assert f"no longer claimed: {OPTIMALITY}" in edited.summary()
    boosted = rpte.edit(model_of("boosted"), drop_terms=[active_leaf(model_of("boosted"))], **WHO)
    assert boosted.ledger[0]["withdrawn"] == []


def test_metrics_are_those_of_the_table():
    from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

    model, made = model_of("mixed"), stored("mixed")
    found = performance(model, rpte.Labelled(*made.given))
    p, y = model.predict_proba(made.X)[:, 1], made.y == model.classes[1]
    assert found["rows"] == pytest.approx(made.weight.sum())
    assert found["log_loss"] == pytest.approx(log_loss(y, p, sample_weight=made.weight))
    assert found["brier"] == pytest.approx(brier_score_loss(y, p, sample_weight=made.weight))
    assert found["auc"] == pytest.approx(roc_auc_score(y, p, sample_weight=made.weight))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "nothing to edit"),
        ({"drop_terms": ["T1.L1"]}, "changes nothing"),
        ({"drop_terms": ["T7"]}, "no such term"),
        ({"drop_sources": ["agee"]}, "did you mean 'age'"),
        ({"refit": True}, "needs a table"),
        ({"drop_terms": ["D1"], "by": " "}, "by is empty"),
        ({"drop_terms": ["D1"], "reason": ""}, "reason is empty"),
    ],
)
def test_what_cannot_be_asked(options, message):
    model = model_of("mixed")
    with pytest.raises(InputError, match=message):
        rpte.edit(model, **{**WHO, **options})


def test_one_class_is_not_enough():
    model, made = model_of("mixed"), stored("mixed")
    sick = made.y == "sick"
    table = rpte.Labelled(made.X[sick], made.y[sick])
    for refit in (True, False):
        with pytest.raises(InputError, match="one class only"):
            rpte.edit(model, drop_terms=["D1"], table=table, refit=refit, **WHO)


def test_a_model_of_stage_2_values_has_nothing_to_solve():
    with pytest.raises(InputError, match="values are those of Stage 2"):
        rpte.edit(model_of("boosted"), table=table_of("boosted"), refit=True, **WHO)


def test_the_original_keeps_its_hash(tmp_path):
    model = model_of("mixed")
    before = to_dict(model)["hash"]
    edited = rpte.edit(model, drop_terms=["D1"], **WHO)
    assert to_dict(model)["hash"] == before == edited.ledger[0]["before"]["model"]
    assert "ledger" not in to_dict(model)
    document = json.loads(json.dumps(to_dict(edited)))
    assert document["hash"] == content_hash(document)


def grid(seed=3):
    """Return a table on which trees of two variables are found, and what its rows differ by."""
    rng = np.random.default_rng(seed)
    X = {"a": rng.uniform(0, 10, 300).round(1), "b": rng.uniform(0, 10, 300).round(1)}
    high, low = (X["a"] > 5) & (X["b"] > 4), (X["a"] <= 5) & (X["b"] > 6)
    X["zone"] = rng.choice(["north", "south"], 300)
    return X, 1.5 * high - 1.5 * low + 0.5 * (X["zone"] == "north"), rng


def fitted_task(task, seed=3):
    """Return a model of a task with a tree, its table, and the weights of rows in its means."""
    X, effect, rng = grid(seed)
    asked = {"l1": 0.03, "max_depth": 2}
    days = rng.uniform(30, 700, 300).round()
    mean = np.exp(effect) * days / 365
    if task == "classes":
        y = np.where(effect + rng.logistic(size=300) > 0.5, "yes", "no")
        return rpte.RPTEClassifier(**asked).fit(X, y).model_, rpte.Labelled(X, y), None
    if task == "three classes":
        y = np.array(["p", "q", "r"])[(effect > 0.5).astype(int) + (rng.random(300) < 0.3)]
        return rpte.RPTEClassifier(**asked).fit(X, y).model_, rpte.Labelled(X, y), None
    if task in ("survival", "discrete"):
        latent = rng.exponential(np.exp(-effect))
        y = (latent < 2.0, np.minimum(latent, 2.0))
        loss = {"loss": "discrete", "intervals": 8} if task == "discrete" else {}
        return rpte.RPTESurvival(**asked, **loss).fit(X, y).model_, rpte.Labelled(X, y), None
    y = {
        "squared_error": lambda: effect + rng.normal(0, 0.5, 300),
        "poisson": lambda: rng.poisson(mean).astype(float),
        "gamma": lambda: rng.gamma(2.0, mean / 2.0),
        "tweedie": lambda: rng.gamma(2.0 * rng.poisson(mean) + 1e-9, 0.5),
    }[task]()
    given = {} if task == "squared_error" else {"exposure": days}
    model = rpte.RPTERegressor(loss=task, **asked).fit(X, y, **given).model_
    power = {"poisson": 1.0, "tweedie": 0.5, "gamma": 0.0}.get(task)
    return model, rpte.Labelled(X, y, **given), None if power is None else days**power


def edits_of_kinds(model):
    """Return edits by kind: of each leaf, pair of leaves, tree, direct term and variable."""
    outline = getattr(model, "outline", model)
    found = {kind: [] for kind in ("leaf", "pair", "tree", "term", "source")}
    for tree in outline.trees:
        spoken = [n for n, leaf in enumerate(tree.leaves) if np.any(leaf.coefficient)]
        found["leaf"] += [{"drop_terms": [tree.leaf_name(n)]} for n in spoken]
        names = [[tree.leaf_name(a), tree.leaf_name(b)] for a, b in siblings(tree)]
        found["pair"] += [{"merge": [pair]} for pair in names]
        found["tree"].append({"drop_terms": [tree.name]})
    found["term"] = [{"drop_terms": [term.name]} for term in outline.direct]
    found["source"] = [{"drop_sources": [source]} for source in outline.sources]
    return {kind: edits for kind, edits in found.items() if edits}


def mean_scores(model, table, weight):
    """Return the mean score; those of several classes may be moved together."""
    mean = np.average(model.score(table.X), axis=0, weights=weight)
    return mean - mean.mean() if mean.ndim else mean


TASKS = (
    *("classes", "three classes", "squared_error", "poisson", "gamma", "tweedie"),
    *("survival", "discrete"),
)


def assert_edited(model, table, weight, asked):
    """An edit keeps the mean score and every check on the table; return what it leaves."""
    before = mean_scores(model, table, weight)
    edited = rpte.edit(model, **asked, **WHO)
    mean = mean_scores(edited, table, weight)
    np.testing.assert_allclose(mean, before, atol=1e-6, err_msg=str(asked))
    beside = {role: each for role, each in table.beside.items() if each is not None}
    checks = edited.verify(table.X, table.y, **beside)
    assert [check for check in checks if not check.holds] == [], asked
    return edited


@pytest.mark.parametrize("task", TASKS)
def test_edits_of_every_kind_keep_the_mean_score_and_verify(task):
    model, table, weight = fitted_task(task)
    kinds = edits_of_kinds(model)
    assert {"leaf", "pair", "tree", "source"} <= set(kinds)
    for edits_of_kind in kinds.values():
        assert_edited(model, table, weight, edits_of_kind[0])


@pytest.mark.parametrize("at_hand", [True, False])
@pytest.mark.parametrize("task", ["poisson", "classes"])
def test_an_edit_that_fails_its_own_checks_is_refused(task, at_hand, monkeypatch):
    model, table, _ = fitted_task(task)
    changed = edits._changed_any

    def wrong_means(*given):
        made = changed(*given)
        means = {name: mean + 0.1 for name, mean in made.training["mean_contributions"].items()}
        return replace(made, training={**made.training, "mean_contributions": means})

    monkeypatch.setattr(edits, "_changed_any", wrong_means)
    asked = {"drop_sources": ["zone"], "table": table if at_hand else None}
    said = "mean contributions" if at_hand else "add up"
    with pytest.raises(InputError, match=f"the edited model fails .*{said}"):
        rpte.edit(model, **asked, **WHO)
