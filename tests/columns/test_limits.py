"""Limits that people set: refused when they make no sense, kept when they do."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from effort import examples
from fit_tables import mixed_case, with_part
from rpte import InputError, Limits, RPTEClassifier
from rpte.columns.kinds import (
    Hinge,
    Interval,
    Level,
    Missing,
    Pair,
    Pattern,
    Scale,
    Step,
    Value,
)
from rpte.columns.limits import FREE, column_effect, permissions
from rpte.model.file import to_dict
from rpte.model.parts import DirectTerm, TreeTerms
from rpte.table.inputs import Inputs
from rpte.table.schema import Schema, Variable
from small_table import mixed_table

CASE = mixed_case()
SCHEMA = Schema(
    (
        Variable("age", "number"),
        Variable("income", "number", ("-9",), True),
        Variable("region", "category", ("north", "south")),
    ),
    named=True,
)


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("limits", "says"),
        [
            ({"monotone": {"agee": "increasing"}}, r"limits.monotone names \['agee'\], which are"),
            ({"exclude": ["agee"]}, r"limits.exclude names \['agee'\]"),
            ({"linear_only": ["agee"]}, r"limits.linear_only names \['agee'\]"),
            ({"interactions": [{"age", "sexx"}]}, r"limits.interactions names \['sexx'\]"),
            ({"penalty": {"agee": 2}}, r"limits.penalty names \['agee'\]"),
        ],
    )
    def test_names_that_are_no_columns(self, limits, says):
        with pytest.raises(InputError, match=says):
            permissions(Limits(**limits), SCHEMA)

    @pytest.mark.parametrize(
        ("limits", "says"),
        [
            ({"monotone": {"region": "increasing"}}, "limits.monotone names 'region', a category"),
            ({"linear_only": ["region"]}, "limits.linear_only names 'region', a category"),
            ({"monotone": {"age": "up"}}, r"limits.monotone\['age'\] is 'up'; it must be 'incr"),
            ({"monotone": {"age": 1}}, r"limits.monotone\['age'\] is 1; it must be"),
            ({"monotone": ["age"]}, r"limits.monotone is \['age'\]; it must map names"),
            ({"exclude": "age"}, "limits.exclude is 'age'; it must be a list of names"),
            ({"linear_only": 3}, "limits.linear_only is 3; it must be a list of names"),
            ({"interactions": "age"}, "limits.interactions is 'age'; it must be a list of sets"),
            (
                {"interactions": ["age"]},
                "limits.interactions is ..age..; it must be a list of sets",
            ),
            ({"interactions": [{"age"}]}, r"holds \['age'\]; a set names at least two"),
            ({"penalty": {"age": 0}}, r"limits.penalty\['age'\] is 0; it must be a positive"),
            ({"penalty": {"age": -1.0}}, r"limits.penalty\['age'\] is -1.0"),
            ({"penalty": {"age": math.inf}}, r"limits.penalty\['age'\] is inf"),
            ({"penalty": {"age": "2"}}, r"limits.penalty\['age'\] is '2'"),
            ({"penalty": {"age": True}}, r"limits.penalty\['age'\] is True"),
            ({"exclude": SCHEMA.names}, "limits.exclude names every column"),
        ],
    )
    def test_values_of_the_wrong_kind(self, limits, says):
        with pytest.raises(InputError, match=says):
            permissions(Limits(**limits), SCHEMA)

    @pytest.mark.parametrize(
        ("limits", "pair"),
        [
            ({"exclude": ["age"], "monotone": {"age": "increasing"}}, ("exclude", "monotone")),
            ({"exclude": ["age"], "linear_only": ["age"]}, ("exclude", "linear_only")),
            ({"exclude": ["age"], "interactions": [["age", "region"]]},
             ("exclude", "interactions")),
            ({"exclude": ["age"], "penalty": {"age": 2}}, ("exclude", "penalty")),
            ({"linear_only": ["age"], "interactions": [["age", "region"]]},
             ("linear_only", "interactions")),
        ],
    )  # fmt: skip
    def test_contradictions_name_the_pair(self, limits, pair):
        says = f"'age' is in {pair[0]} and in {pair[1]}; keep one"
        with pytest.raises(InputError, match=says):
            permissions(Limits(**limits), SCHEMA)

    def test_a_mapping_must_hold_limits(self):
        assert permissions({"exclude": ["age"]}, SCHEMA).excluded == {"age"}
        with pytest.raises(InputError, match="'excluded' is no limit, the limits are"):
            permissions({"excluded": ["age"]}, SCHEMA)
        for nonsense in ("age", 3, ["age"]):
            with pytest.raises(InputError, match=r"^limits="):
                permissions(nonsense, SCHEMA)
        assert permissions(None, SCHEMA) is FREE

    @pytest.mark.parametrize("ownership", ["paper", "separate"])
    def test_interactions_need_a_policy_that_can_keep_them(self, ownership):
        limits = Limits(interactions=[["age", "income"]])
        with pytest.raises(InputError, match=f"interactions with ownership='{ownership}'"):
            CASE.fit(RPTEClassifier(limits=limits, ownership=ownership))

    def test_monotone_needs_stage_3(self):
        limits = Limits(monotone={"age": "increasing"})
        with pytest.raises(InputError, match="monotone with reassign=False"):
            CASE.fit(RPTEClassifier(limits=limits, reassign=False))

    def test_integer_names_of_columns_are_matched_as_text(self):
        X, y = pd.DataFrame({0: CASE.X["age"], 1: CASE.X["income"]}), CASE.y
        limits = Limits(exclude=[0], monotone={1: "increasing"}, penalty={1: 2.0})
        model = RPTEClassifier(limits=limits, l1="4/n").fit(X, y).model_
        assert model.settings["limits"]["exclude"] == ["0"]
        assert {s for c in model.components for s in c.sources} == {"1"}


def test_limits_are_a_parameter_like_others():
    limits = Limits(monotone={"age": "increasing"}, exclude=["noise"])
    classifier = RPTEClassifier(limits=limits, l1="4/n")
    assert clone(classifier).get_params()["limits"] == limits
    assert repr(limits) == "Limits(monotone={'age': 'increasing'}, exclude=['noise'])"
    as_mapping = {"monotone": {"age": "increasing"}, "exclude": ["noise"]}
    one, two = CASE.fit(classifier), CASE.fit(RPTEClassifier(limits=as_mapping, l1="4/n"))
    assert to_dict(one.model_) == to_dict(two.model_)
    assert one.model_.settings["limits"] == {
        "monotone": {"age": "increasing"}, "exclude": ["noise"], "linear_only": [],
        "interactions": None, "penalty": {},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("column", "effect"),
    [
        (Value("x"), 1), (Level("x", ("-9",)), 0), (Missing("x"), 0),
        (Interval("x", 1.0, math.inf), 1), (Interval("x", -math.inf, 1.0), -1),
        (Interval("x", 0.0, 1.0), None),
        (Pattern(Interval("x", 1.0, math.inf), Level("c", ("a",))), 1),
        (Pattern(Level("c", ("a",)), Interval("x", -math.inf, 1.0)), -1),
        (Pattern(Interval("x", 0.0, 1.0), Level("c", ("a",))), None),
        (Pair("sum", Value("x"), Value("v")), 1), (Pair("sum", Value("v"), Value("x")), 1),
        (Pair("difference", Value("x"), Value("v")), 1),
        (Pair("difference", Value("v"), Value("x")), -1),
        (Pair("product", Value("x"), Value("v")), None),
        (Pattern(Step("x", 1.0), Step("v", 1.0)), 1),
        (Pair("product", Value("x"), Level("c", ("a",))), 1),
        (Pair("product", Step("v", 1.0), Hinge("x", 0.0, "below")), -1),
        (Pair("product", Scale("x", "distance", (0.0,)), Step("v", 1.0)), None),
        (Pair("product", Step("x", 1.0), Value("v")), None),
        (Pair("product", Step("x", 1.0), Scale("v", "log", (0.5,))), None),
        (Pair("product", Step("x", 1.0), Scale("v", "clip", (-1.0, 1.0))), None),
        (Pair("product", Step("x", 1.0), Hinge("v", 0.0, "below")), 1),
        (Pair("product", Scale("v", "distance", (0.0,)), Interval("x", -math.inf, 1.0)), -1),
        (Pair("product", Interval("x", 0.0, 1.0), Scale("v", "sqrt", (0.0,))), None),
        (Pair("product", Level("x", ("-9",)), Value("v")), 0),
        (Pair("product", Hinge("x", 0.0, "below"), Hinge("v", 0.0, "above")), -1),
        (Pair("product", Hinge("x", 0.0, "above"), Value("v")), None),
        (Pair("product", Value("x"), Hinge("v", 0.0, "above")), 1),
        (Pair("absolute difference", Value("x"), Value("v")), None),
    ],
)  # fmt: skip
def test_how_columns_move_with_a_variable(column, effect):
    assert column_effect(column, "x") == effect


SIZES = st.floats(-1e100, 1e100)
THRESHOLDS = st.floats(-3.0, 3.0)
SIDES = st.sampled_from(["above", "below"])


def parts(name):
    """Draw a column of a number."""
    positive, source = st.floats(0.01, 3.0), st.just(name)
    ends = st.tuples(THRESHOLDS, positive).map(lambda pair: (pair[0], sum(pair)))
    return st.one_of(
        st.just(Value(name)),
        st.just(Level(name, ("-9",))),
        st.builds(Step, source, THRESHOLDS),
        st.builds(Interval, source, THRESHOLDS, st.just(math.inf)),
        st.builds(Interval, source, st.just(-math.inf), THRESHOLDS),
        ends.map(lambda pair: Interval(name, *pair)),
        st.builds(Hinge, source, THRESHOLDS, SIDES),
        st.builds(Scale, source, st.sampled_from(["log", "sqrt"]), st.tuples(positive)),
        ends.map(lambda pair: Scale(name, "clip", pair)),
        st.builds(Scale, source, st.just("distance"), st.tuples(THRESHOLDS)),
    )


def joined(left, right, operation):
    if left.binary and right.binary:
        return Pattern(left, right)
    return Pair("product" if left.binary or right.binary else operation, left, right)


NUMBERS = st.lists(st.one_of(SIZES, THRESHOLDS), max_size=9)


@examples(120)
@given(
    st.builds(joined, parts("x"), parts("v"), st.sampled_from(["product", "sum", "difference"])),
    NUMBERS,
    NUMBERS,
    st.sampled_from(["x", "v"]),
)
def test_no_column_moves_against_its_effect(column, numbers, fixed, moved):
    schema = Schema(tuple(Variable(n, "number", ("-9",), True) for n in ("x", "v")), named=True)
    grid = np.unique([*numbers, *np.linspace(-4.0, 4.0, 33)])
    still, moving = np.meshgrid([*fixed, -2.0, 2.0, math.nan], grid, indexing="ij")
    cells = (moving, still) if moved == "x" else (still, moving)
    no_code = np.full(still.size, -1, np.int32)
    inputs = Inputs(schema, tuple(c.ravel() for c in cells), {0: no_code, 1: no_code})
    values = column.evaluate(inputs).reshape(still.shape)
    effect, steps = column_effect(column, moved), np.diff(values, axis=1)
    steps = steps[~np.isnan(steps)]
    assert steps.size >= 2 * (len(grid) - 1)
    if effect is not None:
        assert (steps * effect >= 0).all() if effect else (steps == 0).all()


def test_signs_that_pull_against_each_other_are_not_admitted():
    def sign(operation, **directions):
        ways = {name: "increasing" if way > 0 else "decreasing" for name, way in directions.items()}
        schema = Schema((Variable("a", "number"), Variable("b", "number")), named=True)
        found = permissions(Limits(monotone=ways), schema)
        return found.sign(Pair(operation, Value("a"), Value("b")))

    assert sign("sum", a=1, b=1) == 1
    assert sign("sum", a=-1, b=-1) == -1
    assert sign("sum", a=1, b=-1) is None
    assert sign("difference", a=1, b=-1) == 1
    assert sign("difference", a=1, b=1) is None
    assert sign("difference", b=1) == -1
    assert sign("product", a=1) is None
    assert sign("product") == 0


def sources_read(model):
    return {source for component in model.components for source in component.sources}


CONFIGURATIONS = {
    "default": {"cv": 2, "l1_ratio": 1.0, "max_trees": 1},  # with less to compare
    "4/n": {"l1": "4/n"},
    "lookahead": {"l1": "4/n", "lookahead": True},
    "strict": {"l1": "4/n", "ownership": "strict"},
    "frequent": {"l1": "4/n", "vocabulary": "frequent"},
    "hug": {"l1": "4/n", "vocabulary": "hug"},
    "paper": {"l1": "4/n", "criterion": "label", "conventions": "paper", "vocabulary": "hug"},
}
every_configuration = pytest.mark.parametrize("name", CONFIGURATIONS)


def fit(name, limits):
    return CASE.fit(RPTEClassifier(limits=limits, **CONFIGURATIONS[name])).model_


@cache
def free_model(name):
    return fit(name, None)


def failing(model, *data):
    return {check.name for check in model.verify(*data) if not check.holds}


@every_configuration
def test_excluded_variables_are_not_read(name):
    free = free_model(name)
    assert "smoker" in sources_read(free)
    model = fit(name, Limits(exclude=["smoker", "noise"]))
    assert not {"smoker", "noise"} & sources_read(model)
    assert model.components
    names = {check.name for check in model.verify() if check.holds}
    assert "excluded variables" in names
    claimed = {**free.settings, "limits": model.settings["limits"]}
    assert "excluded variables" in failing(replace(free, settings=claimed))
    dropped = CASE.X.drop(columns=["smoker", "noise"])
    alone = RPTEClassifier(**CONFIGURATIONS[name]).fit(dropped, CASE.y, CASE.weight).model_
    if name in ("4/n", "strict", "frequent", "paper"):  # the others hold rows out, by content
        assert [r.conditions for r in alone.rules()] == [r.conditions for r in model.rules()]
        np.testing.assert_allclose(alone.score(dropped), model.score(CASE.X), atol=1e-6)


@every_configuration
def test_linear_only_variables_have_a_slope_and_no_more(name):
    model = fit(name, Limits(linear_only=["age", "income"]))
    parts = [p for _, p in model.parts() if {"age", "income"} & set(p.sources)]
    assert parts
    assert all(isinstance(p, DirectTerm) for p in parts)
    assert {p.column.kind for p in parts} <= {"value", "missing"}
    assert "linear only" in {check.name for check in model.verify() if check.holds}
    free = free_model("4/n")
    claimed = {**free.settings, "limits": model.settings["limits"]}
    assert "linear only" in failing(replace(free, settings=claimed))


@pytest.mark.parametrize("name", ["default", "4/n", "lookahead", "strict", "frequent"])
def test_variables_meet_in_a_component_only_inside_a_set(name):
    sets = [{"age", "income"}, {"region", "smoker"}]
    model = fit(name, Limits(interactions=sets))
    assert model.components
    for component in model.components:
        assert len(component.sources) == 1 or any(set(component.sources) <= s for s in sets)
    assert "interactions" in {check.name for check in model.verify() if check.holds}
    alone = fit(name, Limits(interactions=[]))
    assert all(len(component.sources) == 1 for component in alone.components)
    free = free_model("4/n")
    assert any(len(c.sources) > 1 for c in free.components)
    claimed = {**free.settings, "limits": alone.settings["limits"]}
    assert "interactions" in failing(replace(free, settings=claimed))


def test_overlapping_sets_do_not_join():
    """a with b, and b with c, but never the three together."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(500, 3)).round(2), columns=["a", "b", "c"])
    y = (X["a"] * X["b"] + X["b"] * X["c"] + 0.3 * rng.normal(size=500) > 0).astype(int)
    free = RPTEClassifier(l1="4/n").fit(X, y).model_
    assert max(len(c.sources) for c in free.components) == 3
    limits = Limits(interactions=[["a", "b"], ["b", "c"]])
    model = RPTEClassifier(l1="4/n", limits=limits).fit(X, y).model_
    assert max(len(c.sources) for c in model.components) == 2
    assert failing(model, X, y) == set()


def equation_5(model, X, y, weight):
    """Return the value of Stage 3's objective from the file's own penalties."""
    score = model.score(X)
    target = (np.asarray(y) == model.classes[model.positive]).astype(float)
    loss = 2 * np.average(np.logaddexp(0, score) - target * score, weights=weight)
    cost = 0.0
    for _, part in model.parts():
        if isinstance(part, DirectTerm):
            cost += part.penalty * abs(part.coefficient * part.scale)
        else:
            cost += sum(leaf.penalty * abs(leaf.coefficient) for leaf in part.leaves)
    return loss + model.training["objective"]["l1"] * cost


class TestPenalty:
    def test_factors_are_in_the_objective_that_was_solved(self):
        limits = Limits(penalty={"age": 3.0, "smoker": 0.5})
        for asked in (None, limits):
            model = fit("4/n", asked)
            value = model.training["objective"]["value"]
            assert equation_5(model, CASE.X, CASE.y, CASE.weight) == pytest.approx(value, abs=1e-9)
            assert failing(model, CASE.X, CASE.y, CASE.weight) == set()

    def test_a_term_has_the_largest_factor_of_what_it_reads(self):
        factors = {"age": 3.0, "smoker": 0.5}
        model = fit("4/n", Limits(penalty=factors))
        seen = set()
        for _, part in model.parts():
            if isinstance(part, DirectTerm):
                expected = max(factors.get(s, 1.0) for s in part.sources)
                assert part.penalty == expected
                seen.add(expected)
                continue
            for _, path, leaf in part.rules():
                read = {s for condition in path for s in condition.sources}
                # a leaf that stands for several old ones has the sum of their penalties
                assert leaf.penalty >= max(factors.get(s, 1.0) for s in read) - 1e-12
        assert {3.0, 0.5} <= seen

    def test_a_dear_variable_goes_and_a_cheap_one_comes(self):
        """Two copies of one signal, both noisy: the cheaper is read."""
        rng = np.random.default_rng(0)
        signal = rng.normal(size=400)
        X = pd.DataFrame({n: (signal + 0.5 * rng.normal(size=400)).round(2) for n in ("p", "q")})
        y = (signal + 0.3 * rng.normal(size=400) > 0).astype(int)

        def slopes(**penalty):
            classifier = RPTEClassifier(
                l1=0.05, vocabulary="original", max_trees=0, limits=Limits(penalty=penalty)
            )
            model = classifier.fit(X, y).model_
            found = {p.sources[0]: p.coefficient for _, p in model.parts()}
            return found.get("p", 0.0), found.get("q", 0.0)

        p, q = slopes()
        dear_p, with_dear_p = slopes(p=4.0)
        p_with_dear_q, dear_q = slopes(q=4.0)
        assert dear_p < p
        assert with_dear_p > q
        assert dear_q < q
        assert p_with_dear_q > p
        assert slopes(p=1e6)[0] == 0.0

    def test_a_wrong_factor_in_the_file_is_found(self):
        model = fit("4/n", Limits(penalty={"age": 3.0}))
        term = next(p for _, p in model.parts() if isinstance(p, DirectTerm) and p.penalty == 3.0)
        changed = with_part(model, term, replace(term, penalty=1.0))
        assert "Stage 3 optimality of the active terms" in failing(
            changed, CASE.X, CASE.y, CASE.weight
        )


def monotone_case(seed, n=300):
    """Numbers, special codes, a category and gaps; the label moves with x in both directions."""
    rng = np.random.default_rng(seed)
    x, z, v = rng.normal(size=(3, n)).round(1)
    c = rng.choice(np.array(["a", "b", "d"], object), n)
    signal = np.sin(2 * x) + 0.8 * x * (c == "a") - 0.6 * z + 1.2 * (x > 0.5) * (v > 0) + 0.4 * v
    signal += rng.normal(size=n)
    z = np.where(rng.random(n) < 0.1, -9.0, z)
    for column in (x, z, v):
        column[rng.random(n) < 0.08] = np.nan
    c[rng.random(n) < 0.05] = None
    return pd.DataFrame({"x": x, "z": z, "v": v, "c": c}), (signal > 0).astype(int)


GRIDS = {
    "x": np.linspace(-3.5, 3.5, 29),
    "z": np.linspace(-3.5, 3.5, 29),
    "v": np.linspace(-3.5, 3.5, 29),
}
OTHERS = {
    "x": [-1.35, -0.2, 0.45, 1.6, None],
    "z": [-1.15, -0.3, 0.35, 1.2, None, -9.0],
    "v": [-1.25, -0.1, 0.15, 1.3, None],
    "c": ["a", "b", "d", None, "never seen"],
}


def largest_fall(model, source):
    """Return how far the score falls, at most, when only `source` rises; any pair of values."""
    names = [name for name in OTHERS if name != source]
    rest = list(product(*(OTHERS[name] for name in names)))
    grid = np.unique(np.concatenate([GRIDS[source], thresholds(model, source)]))
    columns = {
        name: np.repeat(np.array([row[i] for row in rest], object), len(grid))
        for i, name in enumerate(names)
    }
    columns[source] = np.tile(grid, len(rest))
    score = model.score(columns).reshape(len(rest), len(grid))
    return float((np.maximum.accumulate(score, axis=1) - score).max())


def thresholds(model, source):
    """Return every cut of a variable that the model makes, with neighbours on both sides."""
    cuts = []
    for _, part in model.parts():
        if isinstance(part, TreeTerms):
            tests = [(s.column, s.threshold) for s in part.tree.splits]
        else:
            tests = [(part.column, None)]
        for column, threshold in tests:
            cuts += [threshold] if column == Value(source) and threshold is not None else []
            pieces = [column] if isinstance(column, Interval) else []
            pieces += [column.left, column.right] if isinstance(column, Pattern) else []
            for piece in pieces:
                if isinstance(piece, Interval) and piece.source == source:
                    cuts += [end for end in (piece.low, piece.high) if math.isfinite(end)]
    return np.array([f(c) for c in cuts for f in (float, lambda v: np.nextafter(v, np.inf))])


def rises(model, source):
    return largest_fall(negated(model), source)


def negated(model):
    """Return the model of the negative score, so that a fall of one is a rise of the other."""
    return replace(
        model,
        components=tuple(
            replace(
                c,
                trees=tuple(
                    replace(
                        t, leaves=tuple(replace(v, coefficient=-v.coefficient) for v in t.leaves)
                    )
                    for t in c.trees
                ),
                direct=tuple(replace(d, coefficient=-d.coefficient) for d in c.direct),
            )
            for c in model.components
        ),
    )


MONOTONE = {
    "up": {"x": "increasing"},
    "down": {"x": "decreasing"},
    "two": {"x": "increasing", "z": "decreasing"},
    "against": {"x": "decreasing", "z": "increasing"},
    "three": {"x": "increasing", "z": "decreasing", "v": "increasing"},
}
SETTINGS = {
    "default": {"cv": 2, "l1_ratio": 1.0, "max_trees": 2, "max_leaves": 12},  # with less to compare
    "4/n": {"l1": "4/n"},
    "many leaves": {"l1": 0.002, "max_leaves": 20, "min_samples_leaf": 2, "vocabulary": "original"},
    "lookahead": {"l1": 0.004, "lookahead": True},
    "ridge": {"l1": "4/n", "l1_ratio": 0.5},
    "strict": {"l1": "4/n", "ownership": "strict"},
    "hug": {"l1": "4/n", "vocabulary": "hug"},
    "paper": {
        "l1": "4/n", "criterion": "label", "conventions": "paper", "ownership": "paper",
        "vocabulary": "hug",
    },
}  # fmt: skip
FITS = [(s, m, 0) for s in SETTINGS for m in ("against", "three")]
FITS += [("4/n", m, 0) for m in ("up", "down", "two")]
FITS += [("many leaves", m, seed) for m in MONOTONE for seed in (1, 2)]


@cache
def fit_monotone(setting, ways, seed):
    X, y = monotone_case(seed)
    classifier = RPTEClassifier(
        limits=Limits(monotone=MONOTONE[ways]), special_values={"z": [-9]}, **SETTINGS[setting]
    )
    return classifier.fit(X, y).model_, X, y


def trees_reading(model, names):
    return [t for _, t in model.parts() if isinstance(t, TreeTerms) and set(names) & set(t.sources)]


@pytest.mark.filterwarnings("ignore:of rows not seen, boosted trees")  # the limits forbid what acts
class TestMonotone:
    @pytest.mark.parametrize(("setting", "ways", "seed"), FITS)
    def test_the_score_never_moves_the_other_way(self, setting, ways, seed):
        model, X, y = fit_monotone(setting, ways, seed)
        for name, way in MONOTONE[ways].items():
            fall = largest_fall(model, name) if way == "increasing" else rises(model, name)
            assert fall <= 1e-9
        assert failing(model, X, y) == set()
        names = {check.name for check in model.verify()}
        for name, way in MONOTONE[ways].items():
            assert f"monotone: {way} in {name}" in names

    def test_without_limits_these_tables_are_not_monotone(self):
        """Or the test above would prove nothing."""
        for seed in (0, 1, 2):
            X, y = monotone_case(seed)
            model = RPTEClassifier(special_values={"z": [-9]}, l1="4/n").fit(X, y).model_
            assert largest_fall(model, "x") > 0.1
            assert rises(model, "x") > 0.1

    def test_trees_read_monotone_variables(self):
        found = [fit_monotone("many leaves", ways, seed)[0] for ways in MONOTONE for seed in (1, 2)]
        read = [t for m in found for t in trees_reading(m, m.settings["limits"]["monotone"])]
        assert len(read) >= 5
        slopes = [
            p for m in found for _, p in m.parts()
            if isinstance(p, DirectTerm) and set(p.sources) & set(m.settings["limits"]["monotone"])
        ]  # fmt: skip
        assert slopes

    def test_no_absolute_difference_and_no_signed_product_of_a_monotone_variable(self):
        products = 0
        for setting in ("4/n", "lookahead", "hug", "paper"):
            model, _, _ = fit_monotone(setting, "up", 0)
            for _, part in model.parts():
                columns = [part.column] if isinstance(part, DirectTerm) else [
                    s.column for s in part.tree.splits
                ]  # fmt: skip
                for column in columns:
                    if isinstance(column, Pair) and "x" in column.sources:
                        assert column.operation != "absolute difference"
                    if isinstance(column, Pair) and column.operation == "product":
                        other = column.right if column.left.source == "x" else column.left
                        assert "x" not in column.sources or other.binary or other.kind == "hinge"
                        products += 1
        assert products

    def test_the_certificate_fails_when_a_slope_breaks_the_order(self):
        broken = 0
        for seed in (0, 1, 2):
            model, _, _ = fit_monotone("4/n", "two", seed)
            for _, part in model.parts():
                if not isinstance(part, DirectTerm):
                    continue
                for name, way in MONOTONE["two"].items():
                    effect = column_effect(part.column, name) if name in part.sources else 0
                    if not effect:
                        continue
                    changed = with_part(model, part, replace(part, coefficient=-part.coefficient))
                    assert f"monotone: {way} in {name}" in failing(changed)
                    broken += 1
        assert broken >= 3

    @pytest.mark.parametrize("way", ["increasing", "decreasing"])
    def test_the_certificate_fails_when_a_leaf_breaks_the_order(self, way):
        """Every leaf in turn is moved far up and far down; the brute force is the judge."""
        ways = "up" if way == "increasing" else "down"
        told = {True: 0, False: 0}
        for seed in (1, 2):
            model, _, _ = fit_monotone("many leaves", ways, seed)
            for tree in trees_reading(model, ["x"]):
                for i, step in product(range(len(tree.leaves)), (-4.0, 4.0)):
                    leaves = list(tree.leaves)
                    leaves[i] = replace(leaves[i], coefficient=leaves[i].coefficient + step)
                    changed = with_part(model, tree, replace(tree, leaves=tuple(leaves)))
                    holds = f"monotone: {way} in x" not in failing(changed)
                    fall = largest_fall(changed, "x") if ways == "up" else rises(changed, "x")
                    told[holds] += 1
                    if holds:
                        assert fall <= 1e-9
                    elif fall == 0.0:  # allowed: what cannot be told apart is taken to meet
                        told[holds] -= 1
        assert told[False] >= 5

    def test_a_claim_that_was_never_fitted_does_not_hold(self):
        X, y = monotone_case(0)
        free = RPTEClassifier(special_values={"z": [-9]}, l1="4/n").fit(X, y).model_
        limits = {**free.settings["limits"], "monotone": {"x": "increasing"}}
        claimed = replace(free, settings={**free.settings, "limits": limits})
        assert "monotone: increasing in x" in failing(claimed)

    def test_the_direction_is_that_of_the_positive_class(self):
        X, y = monotone_case(1)
        for positive in (0, 1):
            classifier = RPTEClassifier(
                positive=positive,
                limits=Limits(monotone={"x": "increasing"}),
                special_values={"z": [-9]},
                l1="4/n",
            ).fit(X, y)
            assert largest_fall(classifier.model_, "x") <= 1e-9
            rows = pd.DataFrame({"x": [-2.0, 2.0], "z": 0.1, "v": 0.1, "c": "a"})
            p = classifier.predict_proba(rows)[:, positive]
            assert p[0] <= p[1] + 1e-12

    def test_the_constrained_objective_is_what_is_recorded(self):
        X, y = monotone_case(0)
        model, _, _ = fit_monotone("4/n", "two", 0)
        value = model.training["objective"]["value"]
        assert equation_5(model, X, y, np.ones(len(y))) == pytest.approx(value, abs=1e-9)
        assert model.training["objective"]["converged"]

    def test_missing_and_special_codes_are_outside_the_claim(self):
        """A code may lie above or below every number, whatever the direction."""
        rng = np.random.default_rng(0)
        x = rng.normal(size=400).round(1)
        kind = rng.random(400)
        x = np.where(kind < 0.15, -9.0, np.where(kind < 0.3, np.nan, x))
        signal = np.where(x == -9, 3.0, np.where(np.isnan(x), -3.0, np.nan_to_num(x)))
        y = (signal + rng.normal(size=400) > 0).astype(int)
        for way in ("increasing", "decreasing"):
            model = RPTEClassifier(
                limits=Limits(monotone={"x": way}), special_values={"x": [-9]}, l1="4/n"
            ).fit({"x": x}, y).model_  # fmt: skip
            low, high, code, gone = model.score({"x": [-3.0, 3.0, -9.0, np.nan]})
            assert (low <= high) if way == "increasing" else (low >= high)
            assert code > max(low, high) or way == "increasing"
            assert gone < code
            assert failing(model, {"x": x}, y) == set()


def test_excluded_columns_leave_no_trace_in_a_named_table():
    X, y = mixed_table()
    X["secret"] = np.random.default_rng(1).permutation(len(X)).astype(float)
    limits = Limits(exclude=["secret"])
    with_it = RPTEClassifier(limits=limits, l1="4/n").fit(X, y)
    without = RPTEClassifier(l1="4/n").fit(X.drop(columns="secret"), y)
    assert with_it.model_.components == without.model_.components
    assert with_it.model_.training["objective"] == without.model_.training["objective"]
    assert "secret" not in with_it.model_.schema.names
    bare = with_it.predict_proba(X.drop(columns="secret"))
    assert (with_it.predict_proba(X) == bare).all()  # and no warning about an extra column


def test_excluded_columns_of_an_array_keep_their_place():
    X, y = mixed_table()
    array = X[["age", "noise"]].to_numpy()
    clf = RPTEClassifier(limits=Limits(exclude=["x1"]), l1="4/n").fit(array, y)
    assert clf.predict_proba(array).shape == (len(X), 2)
    assert all(check.holds for check in clf.model_.verify(array, y))
