"""What the paper proves and the design promises, on random tables and in every configuration.

The file of a model is read by `model_reader`, not by the library, wherever that is possible.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import model_reader as reader
from fit_tables import CONFIGURATIONS, KINDS, Case, cases, make_case
from rpte import RPTEClassifier, load
from rpte.estimation.candidate import Candidate
from rpte.estimation.terms import choose_terms, make_design
from rpte.estimators.parameters import checked_parameters, settings_for
from rpte.fit.algorithm import learn_structure
from rpte.fit.training import Training
from rpte.model.file import to_dict
from rpte.model.target import Target
from rpte.rows.folds import Validation
from rpte.rows.training_rows import MemoryRows
from rpte.selection.select import select
from rpte.table.read import read_training
from rpte.table.table import make_table
from rpte.utils.progress import Watch

pytestmark = pytest.mark.filterwarnings("ignore::rpte.RPTEWarning")
every_configuration = pytest.mark.parametrize("name", CONFIGURATIONS)


def for_all(name, *more, examples=4, **limits):
    """Decorate a check of one configuration with its random tables."""
    if name == "default":  # inner validation is a hundred times as much work
        examples = max(1, examples // 4)
        limits = {"rows": (40, 60), "most": 3, "clear": True, **limits}
    run = settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],  # a smaller table is no easier to read than its seed
        suppress_health_check=[HealthCheck.too_slow],
    )
    return lambda check: run(given(cases(**limits), *more)(check))


def fitted(name, case, **changes):
    return case.fit(CONFIGURATIONS[name]().set_params(**changes))


def document_of(classifier):
    return to_dict(classifier.model_)


def learned(document):
    """Return what was learned, without the order of columns in the schema."""
    keys = ("intercept", "components", "bound", "training", "settings")
    return {key: document[key] for key in keys}


def deviance(case, score):
    loss = np.logaddexp(0.0, score) - case.y * score
    return 2.0 * np.average(loss, weights=case.weight)


@pytest.mark.slow
def test_the_random_tables_exercise_every_kind_of_part():
    kinds, trees = set(), []
    for seed in range(12):
        case = make_case(seed, np.random.default_rng(seed).choice(KINDS, 4), 60)
        for name in ("4/n", "small components", "hug", "tight"):
            document = document_of(fitted(name, case))
            kinds |= {column["kind"] for column in reader.columns(document)}
            trees.append(len(reader.trees(document)))
    shapes = {"step", "hinge", "scale"}
    assert kinds == {"value", "level", "missing", "interval", "pattern", "pair"} | shapes
    assert max(trees) >= 2


@pytest.mark.slow
@every_configuration
def test_stage_2_deviance_falls_with_every_tree(name):
    """Proposition 1, on the scores of Stage 2 stopped after each round."""

    @for_all(name, examples=3)
    def check(case):
        rounds = fitted(name, case, reassign=False).model_.training["rounds"]
        accepted = [r for r in rounds if r["accepted"]]
        stopped = [
            fitted(name, case, reassign=False, max_trees=m) for m in range(len(accepted) + 1)
        ]
        path = [deviance(case, model.decision_function(case.X)) for model in stopped]
        assert all(after < before for before, after in pairwise(path))
        recorded = [r["deviance_after"] for r in accepted]
        np.testing.assert_allclose(path[1:], recorded, rtol=1e-9)

    check()


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


@pytest.mark.slow
@every_configuration
def test_at_most_as_many_trees_as_rounds_and_variables(name):
    """Proposition 2."""

    @for_all(name)
    def check(case):
        classifier = fitted(name, case)
        most = min(classifier.max_trees, case.X.shape[1])
        rounds = classifier.model_.training["rounds"]
        assert sum(r["accepted"] for r in rounds) <= most
        document = document_of(classifier)
        assert len(reader.trees(document)) <= most
        sizes = [len(tree["leaves"]) for tree in reader.trees(document)]
        depths = [len(way) for t in reader.trees(document) for _, way in reader.paths(t["root"])]
        assert max(sizes, default=2) <= classifier.max_leaves
        assert max(depths, default=1) <= classifier.max_depth

    check()


@pytest.mark.slow
@every_configuration
@pytest.mark.parametrize("ownership", ["paper", "separate", "strict", "component"])
def test_sources_are_disjoint_as_the_policy_says(name, ownership):
    """Propositions 3 and 4, and the component rule."""

    @for_all(name, examples=3)
    def check(case):
        classifier = fitted(name, case, ownership=ownership)
        document = document_of(classifier)
        trees = [reader.tree_sources(tree) for tree in reader.trees(document)]
        direct = [term["column"] for term in reader.direct_terms(document)]
        assert not any(a & b for a, b in combinations(trees, 2))
        if ownership in ("separate", "strict"):
            assert not any(reader.sources(d) & tree for d in direct for tree in trees)
        if ownership == "strict":
            assert not any(share_a_source(a, b) for a, b in combinations(direct, 2))
        if ownership == "component":
            assert all(len(c["trees"]) <= 1 for c in document["components"])
            sizes = [len(c["sources"]) for c in document["components"]]
            assert max(sizes, default=0) <= classifier.max_component_sources

    check()


def share_a_source(a, b):
    """Tell whether two direct terms break the strict rule; raw columns of a variable are one."""
    together = a["kind"] in reader.RAW and b["kind"] in reader.RAW
    return not together and bool(reader.sources(a) & reader.sources(b))


@pytest.mark.slow
@every_configuration
def test_components_are_the_connected_parts(name):
    @for_all(name)
    def check(case):
        classifier = fitted(name, case)
        document = document_of(classifier)
        parts = [reader.tree_sources(tree) for tree in reader.trees(document)]
        parts += [reader.sources(term["column"]) for term in reader.direct_terms(document)]
        stored = {c["name"]: frozenset(c["sources"]) for c in document["components"]}
        assert set(stored.values()) == reader.connected(parts)
        assert len(stored) == len(document["components"]) == len(set(stored.values()))
        for rule in classifier.rules_.itertuples():
            assert set(rule.sources) <= stored[rule.component]

    check()


@pytest.mark.slow
@every_configuration
def test_each_row_reaches_one_leaf_per_tree_and_gets_its_score(name):
    """Rows of the table, and rows with cells that training did not have."""

    @for_all(name)
    def check(case):
        classifier = fitted(name, case)
        document = document_of(classifier)
        strange = {c: [None] for c in case.X} | {
            c: ["never seen"] for c in case.X if case.X[c].dtype.kind not in "fb"
        }
        rows = reader.rows_of(case.X)
        rows += [row | {c: cells[0]} for row in rows[:3] for c, cells in strange.items()]
        for tree in reader.trees(document):
            assert all(len(reader.leaves_reached(tree, row)) == 1 for row in rows)
        table = {c: [row[c] for row in rows] for c in case.X}
        expected = [reader.score(document, row) for row in rows]
        assert classifier.model_.score(table).tolist() == expected

    check()


@every_configuration
def test_contributions_add_up_to_the_last_bit(name):
    """Proposition 4: plain floats, in the order of `explain`."""

    @for_all(name)
    def check(case):
        classifier = fitted(name, case)
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

    check()


@pytest.mark.slow
@every_configuration
def test_vocabulary_is_within_its_bound(name):
    """At most p0 raw variables, K patterns or shapes and K pairs, lookahead's own included."""

    @for_all(name)
    def check(case):
        classifier = CONFIGURATIONS[name]()
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

    check()


@pytest.mark.slow
@every_configuration
def test_audit_load_is_within_a_bound_known_before_training(name):
    """Theorem 1(b), with the factor for two sources that it forgets."""

    @for_all(name)
    def check(case):
        classifier = fitted(name, case)
        load, document = classifier.audit(), document_of(classifier)
        assert load.miu == reader.inspection_units(document)
        assert load.mu == len(classifier.rules_)
        assert load.bound == document["bound"] == bound_of(case, classifier)
        assert load.miu <= load.bound

    check()


def bound_of(case, classifier):
    """Compute the bound from the table's columns and the parameters, without labels."""
    X = case.X
    trees = min(classifier.max_trees, X.shape[1])
    budget = 0 if classifier.vocabulary == "original" else classifier.budget
    least = 0 if classifier.conventions == "paper" else classifier.min_samples_leaf
    coefficients = sum(
        (1 if X[c].dtype.kind == "f" else levels_of(X[c], case.weight, least)) + X[c].isna().any()
        for c in X
    )
    in_trees = trees * classifier.max_leaves * classifier.max_depth * (2 if budget else 1)
    return in_trees + coefficients + 2 * 2 * budget


def levels_of(column, weight, least):
    """Count the levels that weigh enough, and one for the others together."""
    held = {}
    for cell, w in zip(column, weight, strict=True):
        if cell is not None and cell == cell:
            held[cell] = held.get(cell, 0.0) + w
    heavy = sum(w >= least for w in held.values())
    return heavy + (heavy < len(held))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CONFIGURATIONS if name != "not reassigned"])
def test_stage_3_is_optimal_over_all_offered_terms(name):
    """Theorem 2: the optimality conditions of equation (5), from a one-hot expansion."""

    @for_all(name)
    def check(case):
        classifier = fitted(name, case)
        table, document = table_of(case, classifier), document_of(classifier)
        l1, share = penalty_of(classifier, case), share_of(classifier)
        score = classifier.model_.score(table.inputs)
        residual = 2.0 * table.weight * (sigmoid(score) - table.y) / table.weight.sum()
        offered = one_hot(classifier, table)
        top = np.abs(null_gradient(table) @ offered).max(initial=0.0) / share
        allowed = max(min(1e-6 * top, 1e-3 * l1), 1e-12)
        assert abs(residual.sum()) <= allowed
        active = list(active_terms(document, reader.rows_of(frame_of(table, case))))
        for column, coefficient in active:
            pull = l1 * (share * np.sign(coefficient) + (1 - share) * coefficient)
            assert abs(residual @ column + pull) <= allowed
        told = [[np.allclose(z, column) for z in offered.T] for column, _ in active]
        assert all(any(row) for row in told)
        idle = offered[:, ~np.any(told, axis=0)] if told else offered
        assert (np.abs(residual @ idle) <= l1 * share + allowed).all()

    check()


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
    """Return all leaves and direct terms that Stage 3 could use, as columns."""
    chosen = settings_of(classifier, table)
    penalty = classifier.model_.training["selection"]["chosen"]
    if classifier.l1 == "cv":
        found, _ = select(MemoryRows(table), chosen, Validation())
    else:
        found = discovery_of(table, chosen)
    structure = found.structure
    candidate = Candidate(penalty["shape_family"], penalty["n_trees"], penalty["n_pairs"])
    terms = choose_terms(table, structure, candidate, chosen.admission())
    design = make_design(table, structure, terms)
    blocks = [
        np.eye(k)[codes] for k, codes in zip(design.leaf_counts, design.leaf_codes, strict=True)
    ]
    return np.column_stack([*blocks, design.direct])


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


@every_configuration
def test_every_claim_of_the_model_is_verified(name):
    @for_all(name)
    def check(case):
        checks = fitted(name, case).model_.verify(case.X, case.y, case.weight)
        assert [c for c in checks if not c.holds] == []
        names = {c.name for c in checks}
        assert {"leaves partition the inputs", "supports and event rates"} <= names
        assert {"contributions sum to the score", "each row in one leaf per tree"} <= names
        optimality = "Stage 3 optimality of the active terms" in names
        assert optimality == (name != "not reassigned")

    check()


@pytest.mark.slow
@every_configuration
def test_threads_do_not_change_the_model(name):
    @for_all(name, examples=3)
    def check(case):
        alone = document_of(fitted(name, case, n_jobs=1))
        for n_jobs in (2, 3):
            assert document_of(fitted(name, case, n_jobs=n_jobs)) == alone

    check()


@every_configuration
def test_the_order_of_rows_does_not_change_the_model(name):
    @for_all(name, st.randoms(use_true_random=False))
    def check(case, random):
        rows = list(range(len(case.y)))
        random.shuffle(rows)
        assert document_of(fitted(name, case.take(rows))) == document_of(fitted(name, case))

    check()


@pytest.mark.slow
@every_configuration
def test_the_order_of_named_columns_does_not_change_the_model(name):
    @for_all(name, st.randoms(use_true_random=False))
    def check(case, random):
        names = list(case.X)
        random.shuffle(names)
        there, here = fitted(name, case), CONFIGURATIONS[name]()
        here.fit(case.X[names], case.y, case.weight)
        assert learned(document_of(here)) == learned(document_of(there))
        assert here.decision_function(case.X).tolist() == there.decision_function(case.X).tolist()

    check()


@pytest.mark.slow
@every_configuration
def test_a_whole_weight_is_a_repeated_row(name):
    @for_all(name, steps=(1.0,))
    def check(case):
        again = case.take(np.repeat(np.arange(len(case.y)), case.weight.astype(int)))
        repeated = CONFIGURATIONS[name]().fit(again.X, again.y)
        assert document_of(repeated) == document_of(fitted(name, case))

    check()


@pytest.mark.slow
@every_configuration
def test_a_weight_of_zero_is_an_absent_row(name):
    @for_all(name)
    def check(case):
        dropped = np.arange(len(case.y)) % 5 == 3
        strange = case.X.astype({c: object for c in case.X if case.X[c].dtype.kind not in "fb"})
        for label, column in strange.items():  # what only absent rows hold is not known either
            if column.dtype.kind != "b":
                strange.loc[dropped, label] = np.nan if column.dtype.kind == "f" else "only here"
        case = Case(strange, case.y, np.where(dropped, 0.0, case.weight))
        zeroed, absent = fitted(name, case), fitted(name, case.take(np.flatnonzero(~dropped)))
        assert document_of(zeroed) == document_of(absent)

    check()


@pytest.mark.slow
@every_configuration
def test_a_stored_model_scores_the_same_bits(name, tmp_path):
    @for_all(name)
    def check(case):
        classifier = fitted(name, case)
        classifier.save(tmp_path / "model.json")
        stored = load(tmp_path / "model.json")
        assert stored == classifier.model_
        for method in ("score", "decision_function", "predict_proba", "predict"):
            ours = getattr(classifier if method != "score" else classifier.model_, method)
            assert getattr(stored, method)(case.X).tolist() == ours(case.X).tolist()

    check()


@pytest.mark.slow
@every_configuration
def test_components_do_not_touch_each_other(name):
    """F(x) = b0 + the sum of f_c(x on the sources of c)."""

    @for_all(name, st.randoms(use_true_random=False))
    def check(case, random):
        model = fitted(name, case).model_
        before = subtotals(model, case.X)
        for component in model.components:
            changed = case.X.copy()
            for source in component.sources:
                order = random.sample(range(len(changed)), len(changed))
                changed[source] = case.X[source].array.take(order)
            after = subtotals(model, changed)
            for other in before.keys() - {component.name}:
                assert after[other] == before[other]

    check()


def subtotals(model, X):
    explained = model.explain(X)
    names = [component.name for component in model.components]
    return {n: [e.components[i].value for e in explained] for i, n in enumerate(names)}


@pytest.mark.slow
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
