"""What the paper proves and the design promises, on random tables and in every configuration.

The file of a model is read by `model_reader`, not by the library, wherever that is possible.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import pytest

import model_reader as reader
from fit_tables import CONFIGURATIONS, KINDS, Case, make_case
from rpte import RPTEClassifier
from rpte.estimation.candidate import Candidate
from rpte.estimation.terms import choose_terms, make_design
from rpte.estimators.parameters import checked_parameters, settings_for
from rpte.fit.algorithm import learn_structure
from rpte.fit.training import Training
from rpte.model.file import from_dict, to_dict
from rpte.model.target import Target
from rpte.rows.folds import Validation
from rpte.rows.training_rows import MemoryRows
from rpte.selection.select import select
from rpte.table.read import read_training
from rpte.table.table import make_table
from rpte.utils.progress import Watch

pytestmark = pytest.mark.filterwarnings("ignore::rpte.RPTEWarning")
VALIDATED = ("default", "rules")  # inner validation is a hundred times as much work
every_configuration = pytest.mark.parametrize("name", CONFIGURATIONS)


@cache
def tables(name):
    """Return the random tables of one configuration."""
    rng = np.random.default_rng(list(CONFIGURATIONS).index(name))
    if name in VALIDATED:
        return [make_case(1, ("number", "category", "few"), 50, clear=True)]
    return [
        make_case(
            int(rng.integers(10_000)), rng.choice(KINDS, 2 + k), int(rng.integers(20, 80)), step
        )
        for k, step in enumerate((0.75, 1.0, 1.0, 0.75))
    ]


@cache
def fits(name):
    """Return the tables with a classifier of each."""
    return [(case, fitted(name, case)) for case in tables(name)]


def fitted(name, case, **changes):
    return case.fit(CONFIGURATIONS[name]().set_params(**changes))


def document_of(classifier):
    return to_dict(classifier.model_)


def deviance(case, score):
    loss = np.logaddexp(0.0, score) - case.y * score
    return 2.0 * np.average(loss, weights=case.weight)


@pytest.mark.slow(reason="fits tables of every kind")
def test_the_random_tables_exercise_every_kind_of_part():
    kinds, trees = set(), []
    for name in CONFIGURATIONS:
        for _, classifier in fits(name):
            document = document_of(classifier)
            kinds |= {column["kind"] for column in reader.columns(document)}
            trees.append(len(reader.trees(document)))
    shapes = {"step", "hinge", "scale"}
    assert kinds == {"value", "level", "missing", "interval", "pattern", "pair"} | shapes
    assert max(trees) >= 2


@every_configuration
def test_stage_2_deviance_falls_with_every_tree(name):
    """Proposition 1, on the scores of Stage 2 stopped after each round."""
    for case in tables(name)[:2]:
        rounds = fitted(name, case, reassign=False).model_.training["rounds"]
        accepted = [r for r in rounds if r["accepted"]]
        stopped = [
            fitted(name, case, reassign=False, max_trees=m) for m in range(len(accepted) + 1)
        ]
        path = [deviance(case, model.decision_function(case.X)) for model in stopped]
        assert all(after < before for before, after in pairwise(path))
        recorded = [r["deviance_after"] for r in accepted]
        np.testing.assert_allclose(path[1:], recorded, rtol=1e-9)


def test_the_line_search_shortens_steps_that_go_too_far():
    """Rare events, full Newton steps without a ridge: the first trial raises the deviance."""
    steps = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, 4)).round(1)
        y = (rng.random(300) < np.where(X[:, 0] > 1.2, 0.4, 0.01)).astype(int)
        bold = RPTEClassifier(reassign=False, learning_rate=1.0, leaf_ridge=0.0, max_leaves=2)
        rounds = bold.fit(X, y).model_.training["rounds"]
        accepted = [r for r in rounds if r["accepted"]]
        assert all(r["deviance_after"] < r["deviance_before"] for r in accepted)
        path = [r["deviance_after"] for r in accepted]
        assert path == sorted(path, reverse=True)
        steps += [r["step"] for r in accepted]
    assert min(steps) < 1.0 == max(steps)


def few_trees(case, classifier, document):
    """Proposition 2: at most as many trees as rounds and variables."""
    most = min(classifier.max_trees, case.X.shape[1])
    assert sum(r["accepted"] for r in classifier.model_.training["rounds"]) <= most
    trees = reader.trees(document)
    assert len(trees) <= most
    assert max((len(tree["leaves"]) for tree in trees), default=2) <= classifier.max_leaves
    depths = [len(way) for t in trees for _, way in reader.paths(t["root"])]
    assert max(depths, default=1) <= classifier.max_depth


def disjoint_sources(case, classifier, document):
    """Propositions 3 and 4, and the component rule."""
    trees = [reader.tree_sources(tree) for tree in reader.trees(document)]
    direct = [term["column"] for term in reader.direct_terms(document)]
    assert not any(a & b for a, b in combinations(trees, 2))
    if classifier.ownership in ("separate", "strict"):
        assert not any(reader.sources(d) & tree for d in direct for tree in trees)
    if classifier.ownership == "strict":
        assert not any(share_a_source(a, b) for a, b in combinations(direct, 2))
    if classifier.ownership == "component":
        assert all(len(c["trees"]) <= 1 for c in document["components"])
        sizes = [len(c["sources"]) for c in document["components"]]
        assert max(sizes, default=0) <= classifier.max_component_sources


def connected_components(case, classifier, document):
    parts = [reader.tree_sources(tree) for tree in reader.trees(document)]
    parts += [reader.sources(term["column"]) for term in reader.direct_terms(document)]
    stored = {c["name"]: frozenset(c["sources"]) for c in document["components"]}
    assert set(stored.values()) == reader.connected(parts)
    assert len(stored) == len(document["components"]) == len(set(stored.values()))
    for rule in classifier.rules_.itertuples():
        assert set(rule.sources) <= stored[rule.component]


def one_leaf_per_tree(case, classifier, document):
    """Each row reaches one leaf and gets its score, also with cells that training did not have."""
    strange = {c: [None] for c in case.X} | {
        c: ["never seen"] for c in case.X if case.X[c].dtype.kind not in "fb"
    }
    rows = reader.rows_of(case.X)
    rows += [row | {c: cells[0]} for row in rows[:3] for c, cells in strange.items()]
    for tree in reader.trees(document):
        assert all(len(reader.leaves_reached(tree, row)) == 1 for row in rows)
    table = {c: [row[c] for row in rows] for c in case.X}
    expected = [reader.score(document, pooled(document, row)) for row in rows]
    assert classifier.model_.score(table).tolist() == expected


def pooled(document, row):
    """Return a row as the model reads it: rare and new levels of some variables are one."""
    known = {v["name"]: v["levels"] for v in document["schema"]["variables"] if v["pooled"]}
    rare = [c for c, levels in known.items() if row[c] is not None and row[c] not in levels]
    return row | dict.fromkeys(rare, "(other)")


def contributions_to_the_last_bit(case, classifier, document):
    """Proposition 4: plain floats, in the order of `explain`."""
    scores = classifier.decision_function(case.X).tolist()
    for explanation, score in zip(classifier.explain(case.X), scores, strict=True):
        total = explanation.intercept
        for component in explanation.components:
            subtotal = 0.0
            for contribution in component.contributions:
                subtotal += contribution.value
            assert subtotal == component.value
            total += subtotal
        assert total == score == explanation.score


def load_within_its_bound(case, classifier, document):
    """Theorem 1(b), with the factor for two sources that it forgets."""
    load = classifier.audit()
    assert load.miu == reader.inspection_units(document)
    assert load.mu == len(classifier.rules_)
    assert load.bound == document["bound"] == bound_of(case, classifier)
    assert load.miu <= load.bound


def every_claim_holds(case, classifier, document):
    checks = classifier.model_.verify(case.X, case.y, case.weight)
    assert [c for c in checks if not c.holds] == []
    names = {c.name for c in checks}
    assert {"leaves partition the inputs", "supports and event rates"} <= names
    assert {"contributions sum to the score", "each row in one leaf per tree"} <= names
    assert ("Stage 3 optimality of the active terms" in names) == classifier.reassign


def same_bits_when_stored(case, classifier, document):
    stored = from_dict(document)
    assert stored == classifier.model_
    for method in ("score", "decision_function", "predict_proba", "predict"):
        ours = getattr(classifier if method != "score" else classifier.model_, method)
        assert getattr(stored, method)(case.X).tolist() == ours(case.X).tolist()


def components_do_not_touch(case, classifier, document):
    """F(x) = b0 + the sum of f_c(x on the sources of c)."""
    model, rng = classifier.model_, np.random.default_rng(0)
    before = subtotals(model, case.X)
    for component in model.components:
        changed = case.X.copy()
        for source in component.sources:
            changed[source] = case.X[source].array.take(rng.permutation(len(changed)))
        after = subtotals(model, changed)
        for other in before.keys() - {component.name}:
            assert after[other] == before[other]


def subtotals(model, X):
    explained = model.explain(X)
    names = [component.name for component in model.components]
    return {n: [e.components[i].value for e in explained] for i, n in enumerate(names)}


CHECKS = (
    few_trees,
    disjoint_sources,
    connected_components,
    one_leaf_per_tree,
    contributions_to_the_last_bit,
    load_within_its_bound,
    every_claim_holds,
    same_bits_when_stored,
    components_do_not_touch,
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@every_configuration
def test_of_every_fit(name, check):
    for case, classifier in fits(name):
        check(case, classifier, document_of(classifier))


@pytest.mark.parametrize("ownership", ["paper", "separate", "strict", "component"])
@pytest.mark.parametrize("name", ["4/n", "hug", "published", "lookahead", "tight"])
def test_sources_are_disjoint_under_any_policy(name, ownership):
    for case in tables(name)[1:]:
        classifier = fitted(name, case, ownership=ownership)
        disjoint_sources(case, classifier, document_of(classifier))


def share_a_source(a, b):
    """Tell whether two direct terms break the strict rule; raw columns of a variable are one."""
    together = a["kind"] in reader.RAW and b["kind"] in reader.RAW
    return not together and bool(reader.sources(a) & reader.sources(b))


@every_configuration
def test_vocabulary_is_within_its_bound(name):
    """At most p0 raw variables, K patterns or shapes and K pairs, lookahead's own included."""
    classifier = CONFIGURATIONS[name]()
    for case in tables(name):
        table = table_of(case, classifier)
        chosen = replace(settings_of(classifier, table), l1=0.01)
        structure = discovery_of(table, chosen).structure
        found = [column.to_dict() for column in structure.vocabulary.columns]
        found += [s.column.to_dict() for tree in structure.trees for s in tree.splits]
        texts = {str(column): column for column in found}.values()
        raw = {column["source"] for column in texts if column["kind"] in reader.RAW}
        assert raw <= set(case.X.columns)
        budget = 0 if classifier.vocabulary == "original" else classifier.budget
        shapes = classifier.vocabulary == "shapes"  # their patterns are products of two steps
        pairs = ("pair", "pattern") if shapes else ("pair",)
        assert sum(column["kind"] in pairs for column in texts) <= budget
        others = [c for c in texts if c["kind"] not in (*pairs, *reader.RAW)]
        assert len(others) <= budget


def bound_of(case, classifier):
    """Compute the bound from the table's columns and the parameters, without labels."""
    X = case.X
    trees = min(classifier.max_trees, X.shape[1])
    budget = 0 if classifier.vocabulary == "original" else classifier.budget
    least = 0 if classifier.conventions == "paper" else classifier.min_samples_leaf
    coefficients = sum(
        (numbers_of(X[c], least) if X[c].dtype.kind == "f" else levels_of(X[c], case.weight, least))
        + X[c].isna().any()
        for c in X
    )
    in_trees = trees * classifier.max_leaves * classifier.max_depth * (2 if budget else 1)
    return in_trees + coefficients + 2 * 2 * budget


def numbers_of(column, least):
    """Count a number, or the two levels of one that has two whole values."""
    values = np.unique(column.dropna())
    two = least > 0 and len(values) == 2 and (values == np.rint(values)).all()
    return 2 if two else 1


def levels_of(column, weight, least):
    """Count the levels that weigh enough, and one for the others together."""
    held = {}
    for cell, w in zip(column, weight, strict=True):
        if cell is not None and cell == cell:
            held[cell] = held.get(cell, 0.0) + w
    heavy = sum(w >= least for w in held.values())
    return heavy + (heavy < len(held))


@pytest.mark.parametrize("name", [name for name in CONFIGURATIONS if name != "not reassigned"])
def test_stage_3_is_optimal_over_all_offered_terms(name):
    """Theorem 2: the optimality conditions of equation (5), from a one-hot expansion."""
    for case, classifier in fits(name):
        table, document = table_of(case, classifier), document_of(classifier)
        l1, share = penalty_of(classifier, case), share_of(classifier)
        score = classifier.model_.score(table.inputs)
        residual = 2.0 * table.weight * (sigmoid(score) - table.y) / table.weight.sum()
        offered, sign = one_hot(classifier, table)
        top = np.abs(null_gradient(table) @ offered).max(initial=0.0) / share
        allowed = max(min(1e-6 * top, 1e-3 * l1), 1e-12)
        assert abs(residual.sum()) <= allowed
        active = list(active_terms(document, reader.rows_of(frame_of(table, case))))
        for column, coefficient in active:
            pull = l1 * (share * np.sign(coefficient) + (1 - share) * coefficient)
            assert abs(residual @ column + pull) <= allowed
        told = [[np.allclose(z, column) for z in offered.T] for column, _ in active]
        assert all(any(row) for row in told)
        idle = ~np.any(told, axis=0) if told else np.ones(len(sign), bool)
        pull, wanted = residual @ offered[:, idle], sign[idle]
        # A term of one sign may want to go the other way.
        pull = np.where(wanted == 0, np.abs(pull), -wanted * pull)
        assert (pull <= l1 * share + allowed).all()


def settings_of(classifier, table):
    return settings_for(checked_parameters(classifier), classifier.limits, table.schema)


def discovery_of(table, settings):
    return learn_structure(Training.of(table, settings, Target((0, 1), 1, 0.0), {}), Watch())


def table_of(case, classifier):
    inputs = read_training(case.X)
    rule = settings_of(classifier, inputs).pooling
    return make_table(inputs, case.y.astype(float), case.weight, rule)


def frame_of(table, case):
    """Return the merged rows of a table as cells of the user's frame."""
    schema, frame = table.schema, {}
    for variable, column in zip(schema.variables, table.inputs.columns, strict=True):
        if variable.kind == "number":
            frame[variable.name] = column
        else:
            frame[variable.name] = [variable.levels[k] if k >= 0 else None for k in column]
    return case.X.__class__(frame, dtype=object)


def sigmoid(score):
    return 1.0 / (1.0 + np.exp(-score))


def null_gradient(table):
    rate = np.average(table.y, weights=table.weight)
    return 2.0 * table.weight * (rate - table.y) / table.weight.sum()


def penalty_of(classifier, case):
    if classifier.l1 == "cv":
        return classifier.model_.training["selection"]["chosen"]["l1"]
    return 4.0 / case.weight.sum() if classifier.l1 == "4/n" else classifier.l1


def share_of(classifier):
    if classifier.l1 == "cv" and classifier.l1_ratio is None:
        return classifier.model_.training["selection"]["chosen"]["l1_ratio"]
    return 1.0 if classifier.l1_ratio is None else classifier.l1_ratio


def one_hot(classifier, table):
    """Return all leaves and direct terms that Stage 3 could use as columns, and their signs."""
    chosen = settings_of(classifier, table)
    penalty = classifier.model_.training["selection"]["chosen"]
    if classifier.l1 == "cv":
        found, compared = select(MemoryRows(table), chosen, Validation())
        best = compared.ranked(chosen.most_conditions)[0].penalty
        assert best.to_dict() == penalty
        terms = compared.terms[best.candidate]
    else:
        found = discovery_of(table, chosen)
        candidate = Candidate(penalty["shape_family"], penalty["n_trees"], penalty["n_pairs"])
        terms = choose_terms(table, found.structure, candidate, chosen.admission())
    design = make_design(table, found.structure, terms)
    blocks = [
        np.eye(k)[codes] for k, codes in zip(design.leaf_counts, design.leaf_codes, strict=True)
    ]
    offered = np.column_stack([*blocks, design.direct])
    return offered, terms.penalties(chosen.limits)[1]


def active_terms(document, rows):
    """Yield (column in the units of the penalty, coefficient) of each active term of a file."""
    for tree in reader.trees(document):
        reached = np.array([reader.leaves_reached(tree, row)[0] for row in rows])
        for number, leaf in enumerate(tree["leaves"]):
            if leaf["coefficient"]:
                yield (reached == number).astype(float), leaf["coefficient"]
    for term in reader.direct_terms(document):
        values = np.array([reader.evaluate(term["column"], row) for row in rows], float)
        scaled = np.where(np.isnan(values), 0.0, (values - term["centre"]) / term["scale"])
        yield scaled, term["coefficient"] * term["scale"]


def repeated(case):
    """Return the table with each row as often as its weight says."""
    again = case.take(np.repeat(np.arange(len(case.y)), case.weight.astype(int)))
    return replace(again, weight=None)


def shuffled(case):
    return case.take(np.random.default_rng(0).permutation(len(case.y)))


def with_absent_rows(case):
    """Return the table with rows without weight; what only they hold is not known."""
    added = case.X.iloc[:9].astype({c: object for c in case.X if case.X[c].dtype.kind not in "fb"})
    for label, column in added.items():
        if column.dtype.kind != "b":
            added[label] = np.nan if column.dtype.kind == "f" else "only here"
    X = pd.concat([case.X.astype(added.dtypes.to_dict()), added], ignore_index=True)
    return Case(X, np.append(case.y, case.y[:9]), np.append(case.weight, np.zeros(9)))


@pytest.mark.parametrize("other", [repeated, shuffled, with_absent_rows], ids=lambda f: f.__name__)
@every_configuration
def test_the_same_table_in_another_form_gives_the_same_model(name, other):
    whole = [(case, made) for case, made in fits(name) if (case.weight % 1 == 0).all()]
    assert whole
    for case, classifier in whole[:1] if other is repeated else fits(name)[:2]:
        assert document_of(fitted(name, other(case))) == document_of(classifier)


@every_configuration
def test_threads_do_not_change_the_model(name):
    case, classifier = fits(name)[0]
    for n_jobs in (2, 3, -1):
        assert document_of(fitted(name, case, n_jobs=n_jobs)) == document_of(classifier)


@every_configuration
def test_the_order_of_named_columns_does_not_change_the_model(name):
    keys = ("intercept", "components", "bound", "training", "settings")
    for case, there in fits(name)[:2]:
        names = list(np.random.default_rng(0).permutation(case.X.columns))
        here = CONFIGURATIONS[name]().fit(case.X[names], case.y, case.weight)
        one, two = document_of(here), document_of(there)
        assert [one[key] for key in keys] == [two[key] for key in keys]
        assert here.decision_function(case.X).tolist() == there.decision_function(case.X).tolist()


@pytest.mark.parametrize("max_trees", [1, 10])
@pytest.mark.parametrize("most", [1, 2, 3, 6])
def test_components_stay_small_and_hold_one_tree(most, max_trees):
    """Numbers and short trees: pairs would like to join two trees, or many free variables."""
    sizes, trees = [], []
    limits = {"max_component_sources": most, "max_leaves": 3, "max_trees": max_trees, "l1": 0.01}
    limits["vocabulary"] = "hug"
    for seed in range(5):
        case = make_case(seed, ["number", "few", "number", "few", "skewed", "number"], 70)
        components = document_of(case.fit(RPTEClassifier(**limits)))["components"]
        sizes += [len(component["sources"]) for component in components]
        trees += [len(component["trees"]) for component in components]
    assert min(most, 3) <= max(sizes) <= most
    assert max(trees) == 1
    assert sum(trees) >= 5
