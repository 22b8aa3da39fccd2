"""Which rows inner validation holds out: by content, by group, by the user's splitter."""

import warnings
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, StratifiedKFold, TimeSeriesSplit

from effort import examples
from fit_tables import make_case, mixed_case
from raw_tables import random_raw
from rpte import InputError, RPTEClassifier, RPTEWarning
from rpte.losses import Multinomial
from rpte.model.file import to_dict
from rpte.rows import scale
from rpte.rows.folds import Validation, copies_of, make_validation
from rpte.rows.scale import FOLDS
from rpte.table.read import read_training
from rpte.table.table import make_table, repetitions


def table_of(raw, validation, weight=None):
    weight = np.ones(len(raw.y)) if weight is None else weight
    return make_table(read_training(raw.columns), raw.y, weight, part=validation.part)


def folds_of(validation, table, **given):
    """Return training and held-out rows; equal rows may have cases on both sides."""
    return [(f.train.rows, f.test.rows) for f in validation.folds(table, **given)]


def keys(table, rows):
    """Return the content, label and part of some rows, as comparable values."""
    columns = [np.where(np.isnan(c), 1e9, c) for c in map(np.float64, table.inputs.columns)]
    return sorted(zip(*(c[rows].tolist() for c in (*columns, table.y)), strict=True))


@examples(30)
@given(st.integers(0, 999), st.integers(2, 6), st.randoms(use_true_random=False))
def test_folds_by_content_part_the_rows_and_forget_their_order(seed, count, random):
    raw = random_raw(seed, ["few", "two", "number"], 60)
    validation = make_validation(count, None, raw.y, None)
    table = table_of(raw, validation)
    folds = folds_of(validation, table)
    assert len(folds) == count
    assert set(np.concatenate([test for _, test in folds])) == set(range(table.n_rows))
    rows = list(range(60))
    random.shuffle(rows)
    turned = table_of(raw.take(np.array(rows)), validation)
    for (_, one), (_, two) in zip(folds, folds_of(validation, turned), strict=True):
        assert keys(table, one) == keys(turned, two)


def test_classes_are_dealt_out_evenly():
    raw = random_raw(1, ["number", "number"], 103)
    validation = make_validation(None, None, raw.y, None)
    table = table_of(raw, validation)
    held = [test for _, test in folds_of(validation, table)]
    assert len(held) == FOLDS
    for label in (0.0, 1.0):
        counts = [int((table.y[test] == label).sum()) for test in held]
        assert max(counts) - min(counts) <= 1


@pytest.mark.parametrize("rare", [1, 2, 4])
def test_every_training_part_has_the_rarest_class(rare):
    raw = random_raw(1, ["number", "number"], 60)
    y = np.where(np.arange(60) < rare, 2.0, np.arange(60) % 2)
    loss = Multinomial(3)
    table = make_table(read_training(raw.columns), y, np.ones(60), loss=loss)
    folds = Validation().folds(table)
    assert len(folds) == 5
    assert all((table.y[fold.train.rows] == 2.0).any() for fold in folds)
    held = np.concatenate([table.y[fold.test.rows] for fold in folds])
    assert (held == 2.0).sum() == (rare if rare > 1 else 0)
    assert (held < 2.0).sum() == 60 - rare


def test_folds_are_dealt_out_once_whatever_the_number_of_rows():
    rng = np.random.default_rng(0)

    def count(n, **given):
        y = (rng.random(n) < 0.5).astype(float)
        validation = make_validation(given.get("cv"), y, y, given.get("groups"))
        columns = {"x": np.arange(n) + 0.0}
        table = make_table(read_training(columns), y, np.ones(n), part=validation.part)
        return len(validation.folds(table))

    assert count(60) == count(999) == count(2_000) == FOLDS
    assert count(200, cv=2) == 2
    assert count(200, groups=np.arange(200) // 5) == FOLDS
    assert count(200, cv=StratifiedKFold(4)) == 4


def held_out(folds, table):
    """Return how many cases of each row every fold holds out, and how many it trains on."""
    sides = [np.zeros((len(folds), table.n_rows), int) for _ in range(2)]
    for f, fold in enumerate(folds):
        sides[0][f, fold.test.rows] = fold.test.number
        sides[1][f, fold.train.rows] = fold.train.number
    return sides


@examples(50)
@given(st.integers(0, 999), st.integers(2, 6), st.booleans())
def test_the_cases_of_equal_rows_are_divided_evenly_over_the_folds(seed, count, weighted):
    raw = random_raw(seed, ["few", "two"], 150)
    weight = np.random.default_rng(seed).integers(1, 9, 150) if weighted else np.ones(150)
    validation = make_validation(count, None, raw.y, None)
    table = table_of(raw, validation, weight.astype(float))
    assert table.n_rows < 60
    assert table.cases.tolist() == table.weight.tolist()
    folds = validation.folds(table)
    tested, trained = held_out(folds, table)
    assert (tested + trained == table.cases).all()
    assert (tested.sum(axis=0) == table.cases).all()
    copies = copies_of(table)  # these are kept together
    assert (np.count_nonzero(tested[:, copies], axis=0) == 1).all()
    assert (np.ptp(tested[:, ~copies], axis=0) <= 1).all()
    for fold in folds:
        for side in (fold.train, fold.test):
            assert side.on(table).weight.tolist() == side.number.tolist()
            assert side.on(table).cases.tolist() == side.number.tolist()


def copied_table(cells=None, n=300, rate=0.5):
    """Return a table of numbers with weights of 1 to 3, or of so many cells."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=n) if cells is None else rng.integers(0, cells, n)
    y = (x > 0 if rate is None else rng.random(n) < rate).astype(float)
    weight = rng.integers(1, 4, n).astype(float) if cells is None else np.ones(n)
    return make_table(read_training({"x": x}), y, weight)


@pytest.mark.parametrize(
    ("table", "copies"),
    [
        (copied_table(), True),  # weights of 1 to 3 on numbers of their own
        (copied_table(rate=0.02), True),
        (copied_table(120, 2_000, 0.05), False),  # cells of about 17 cases, one in 20 an event
        (copied_table(1_000, 1_500), False),  # cells of one, two or three cases
        (copied_table(3, 300, None), False),  # heavy cells, each of one target
        (copied_table(50_000, 300), False),  # no row twice
    ],
)
def test_cases_that_agree_in_their_targets_alone_are_copies(table, copies):
    recurs = table.cases > 1
    assert (copies_of(table) == (recurs & copies)).all()
    folds = Validation(5).folds(table)
    tested, trained = held_out(folds, table)
    assert (tested + trained == table.cases).all()
    assert (tested.sum(axis=0) == table.cases).all()
    in_one = (tested > 0).sum(axis=0) == 1
    assert in_one[~recurs].all()
    if copies:
        assert in_one.all()
    elif recurs.any():
        assert not in_one[recurs].any()
    sizes = tested.sum(axis=1) / table.cases.sum()
    assert (abs(sizes - 0.2) < 0.03).all()


def test_a_heavy_row_among_copies_is_divided():
    """As a code throughout: new rows will be it."""
    one = copied_table(n=600)
    x = np.append(one.inputs["x"], -9.0)
    table = make_table(read_training({"x": x}), np.append(one.y, 1.0), np.append(one.weight, 60.0))
    heavy = table.inputs["x"] == -9.0
    assert not copies_of(table)[heavy].any()
    assert copies_of(table)[~heavy & (table.cases > 1)].all()
    tested, _ = held_out(Validation(5).folds(table), table)
    assert (tested[:, heavy] == 12).all()


@pytest.mark.parametrize("seed", [0, 1])
def test_whole_weights_do_not_make_validation_learn_rows_by_heart(seed):
    """Rows of numbers with one decimal had 101 and 124 conditions."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(600, 4)).round(1), columns=list("abcd"))
    score = 1.2 * X["a"] - 0.8 * abs(X["b"]) + 0.5 * (X["c"] > 0)
    y = (score + rng.logistic(size=600) > 0).astype(int)
    weight = rng.integers(0, 4, 600)
    weighted = RPTEClassifier().fit(X, y, weight.astype(float)).model_
    repeated = np.repeat(np.arange(600), weight)
    assert weighted.audit().miu <= 20
    again = RPTEClassifier().fit(X.iloc[repeated], y[repeated]).model_
    assert to_dict(weighted)["components"] == to_dict(again)["components"]


def test_a_weight_that_is_not_whole_is_one_case():
    weight = np.array([0.5, 2.5, 3.0, 1.0, 1e300, 0.25])
    assert repetitions(weight).tolist() == [1, 1, 3, 1, 1, 1]
    columns = {"x": np.array([1.0, 1.0, 1.0, 2.0])}
    table = make_table(read_training(columns), np.ones(4), np.array([0.5, 0.7, 3.0, 1.0]))
    assert sorted(zip(table.cases.tolist(), table.weight.tolist(), strict=True)) == [
        (1, 1.0),
        (5, 4.2),
    ]
    part = table.take(np.array([int(table.cases.argmax())]), np.array([2]))
    assert part.weight.tolist() == pytest.approx([4.2 * 2 / 5])


def test_class_weights_divide_no_row():
    """A row of weight 1 stays one case when its class counts for more."""
    case = make_case(4, ("few", "two"), 90, clear=True)
    whole = np.random.default_rng(0).integers(1, 4, 90)
    repeated = np.repeat(np.arange(90), whole)
    made = RPTEClassifier(class_weight={0: 1.0, 1: 2.0}, cv=2, l1_ratio=1.0, max_trees=1)
    one = made.fit(case.X, case.y, whole.astype(float)).model_
    two = made.fit(case.X.iloc[repeated], case.y[repeated]).model_
    assert to_dict(one) == to_dict(two)


def test_a_sample_has_of_rows_that_recur_as_large_a_share_as_of_all():
    rng = np.random.default_rng(0)
    x = np.concatenate([np.full(5_000, -9.0), rng.normal(size=5_000)])
    y = (rng.random(10_000) < 0.5).astype(float)
    table = make_table(read_training({"x": x}), y, np.ones(10_000))
    sample = table.sample(500)
    assert sample.n_rows == 500
    assert sample.n_cases == sample.total_weight
    code = sample.inputs["x"] == -9.0
    assert code.sum() == 2
    assert sample.weight[code].sum() / sample.total_weight == pytest.approx(0.5, abs=0.03)
    assert table.sample(table.n_rows) is table


def with_codes(seed, share, n=600):
    """A table of which a share of the rows is -9 throughout."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(2) + 20
    y = (rng.random(n) < 1 / (1 + np.exp(-1.5 * (X[:, 0] - 20) + (X[:, 1] - 20)))).astype(int)
    rows = rng.permutation(n)[: int(share * n)]
    X[rows] = -9.0
    y[rows] = rng.random(len(rows)) < 0.8
    return X, y


@pytest.mark.parametrize("share", [0.05, 0.3])
def test_rows_that_are_a_code_throughout_do_not_spoil_validation(share):
    """A block of equal rows in one fold would make validation judge extrapolation."""
    X, y = with_codes(1, share)
    noise = np.column_stack([X, np.random.default_rng(2).normal(size=len(X))])
    new, truth = with_codes(3, share, 4_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RPTEWarning)  # of the codes
        with_noise = RPTEClassifier().fit(noise, y)
        fitted = RPTEClassifier().fit(X, y)
    other = np.column_stack([new, np.random.default_rng(4).normal(size=len(new))])
    apart = roc_auc_score(truth, fitted.predict_proba(new)[:, 1]) - roc_auc_score(
        truth, with_noise.predict_proba(other)[:, 1]
    )
    assert apart > -0.01


@examples(30)
@given(st.integers(0, 999), st.integers(2, 5), st.integers(2, 30))
def test_groups_are_never_split(seed, count, n_groups):
    raw = random_raw(seed, ["few", "number"], 80)
    groups = np.random.default_rng(seed).integers(0, n_groups, 80)
    validation = make_validation(count, None, raw.y, groups)
    table = table_of(raw, validation)
    folds = folds_of(validation, table)
    for train, test in folds:
        assert not set(table.part[train]) & set(table.part[test])
        assert sorted([*train, *test]) == list(range(table.n_rows))
    for (_, a), (_, b) in combinations(folds, 2):
        assert not set(a) & set(b)
    if n_groups >= 2 * count:
        assert len(folds) == count


def test_equal_rows_of_two_groups_stay_apart_and_of_one_group_are_merged():
    columns = {"x": np.array([1.0, 1.0, 1.0, 2.0])}
    validation = make_validation(2, None, np.ones(4), ["p", "q", "q", "q"])
    table = make_table(read_training(columns), np.ones(4), np.ones(4), part=validation.part)
    assert sorted(table.weight) == [1.0, 1.0, 2.0]


def test_groups_are_spread_by_weight_of_both_classes():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(50), 8)
    raw = random_raw(0, ["number", "number"], 400)
    y = (rng.random(400) < np.where(groups < 25, 0.2, 0.6)).astype(float)
    validation = make_validation(5, None, y, groups)
    table = make_table(read_training(raw.columns), y, np.ones(400), part=validation.part)
    for label in (0.0, 1.0):
        held = [table.weight[t][table.y[t] == label].sum() for _, t in folds_of(validation, table)]
        assert max(held) < 1.2 * min(held)


@pytest.mark.parametrize(
    "groups",
    [
        np.array(["b", "a", "c"] * 20), np.array(["b", "a", "c"] * 20, object),
        pd.Series(["b", "a", "c"] * 20), pd.Categorical(["b", "a", "c"] * 20),
        np.array([2, 1, 3] * 20), [2.0, 1.0, 3.0] * 20, pd.array([2, 1, 3] * 20, dtype="Int64"),
    ],
)  # fmt: skip
def test_groups_of_any_kind_say_the_same(groups):
    validation = make_validation(3, None, np.ones(60), groups)
    assert validation.part.tolist() == [1, 0, 2] * 20


def test_forward_splits_by_time_never_train_on_later_rows():
    raw = random_raw(3, ["few", "two"], 90)  # few distinct rows: the same content early and late
    splitter = TimeSeriesSplit(4)
    validation = make_validation(splitter, raw.y, raw.y, None)
    table = table_of(raw, validation)
    expected = list(splitter.split(raw.y))
    folds = folds_of(validation, table)
    assert len(folds) == len(expected) == 4
    for (train, test), (early, late) in zip(folds, expected, strict=True):
        assert table.weight[train].sum() == len(early)
        assert table.weight[test].sum() == len(late)
        alone = make_table(
            read_training(raw.columns).take(early), raw.y[early], np.ones(len(early))
        )
        assert set(keys(table, train)) == set(keys(alone, np.arange(alone.n_rows)))


def test_a_splitter_sees_table_labels_and_groups():
    case = mixed_case(60)
    groups = np.repeat(np.arange(12), 5)
    seen = {}

    class Splitter:
        def split(self, X, y, groups):
            seen.update(X=X, y=y, groups=groups)
            return StratifiedKFold(3).split(X, y)

    validation = make_validation(Splitter(), case.X, case.y, groups)
    assert seen["X"] is case.X
    assert seen["groups"] is groups
    assert validation.count == 3
    assert validation.by == "splits"
    assert make_validation(3, None, case.y, groups).by == "groups"
    assert make_validation(3, None, case.y, None).by == "content"
    by_group = make_validation(GroupKFold(3), case.X, case.y, groups)
    for role in by_group.roles:
        kinds = role[by_group.part]
        assert all(len(set(kinds[groups == g])) == 1 for g in range(12))


def test_lists_of_splits_and_masks_say_the_same():
    y = np.array([0.0, 1.0] * 10)
    half = np.arange(20) < 10
    lists = make_validation([(range(10), range(10, 20)), (range(10, 20), range(10))], None, y, None)
    masks = make_validation(((a, ~a) for a in (half, ~half)), None, y, None)
    assert lists.roles.tolist() == masks.roles.tolist()
    assert lists.part.tolist() == masks.part.tolist()


def test_rows_of_no_split_are_left_out_of_validation():
    y = np.array([0.0, 1.0] * 10)
    validation = make_validation([(range(8), range(8, 12))], None, y, None)
    table = make_table(read_training({"x": np.arange(20.0)}), y, np.ones(20), part=validation.part)
    (train, test), *_ = folds_of(validation, table)
    assert sorted(table.inputs["x"][train]) == list(range(8))
    assert sorted(table.inputs["x"][test]) == [8.0, 9.0, 10.0, 11.0]


@pytest.mark.parametrize(
    ("cv", "says"),
    [
        (1, "cv=1; give at least 2 folds"),
        (0, "cv=0; give at least 2 folds"),
        (True, "cv=True; give at least 2 folds"),
        ("five", "cv='five'; it must be None, a number of folds, a splitter or splits"),
        (2.5, r"cv=2.5; it must be None"),
        ([], "cv gives no splits"),
        ([(range(6), range(5, 10))], "training and held-out rows overlap"),
        ([(range(6), [60])], "row 60; X has rows 0 to 59"),
        ([(range(6), [-1])], "row -1; X has rows 0 to 59"),
        ([(range(6), range(6, 9), [1])], "no pair"),
        ([([0.5], [1.0])], "no pair"),
    ],
)
def test_bad_splits_are_refused_with_the_rule(cv, says):
    case = mixed_case(60)
    with pytest.raises(InputError, match=says):
        RPTEClassifier(cv=cv).fit(case.X, case.y)


def test_bad_groups_are_refused():
    case = mixed_case(60)
    with pytest.raises(
        InputError, match=r"groups has shape \(59,\); give one group for each of 60"
    ):
        RPTEClassifier().fit(case.X, case.y, groups=np.zeros(59))


@pytest.mark.parametrize("given", [{"l1": "4/n"}, {"l1": 0.05}, {"reassign": False}])
def test_groups_are_said_to_have_no_effect_where_nothing_is_validated(given):
    case = mixed_case(60)
    group = np.arange(60) // 6
    ((name, value),) = given.items()
    says = rf"{name}={value!r} leaves out: .* no effect .* fit with l1='cv' and reassign=True"
    with pytest.warns(RPTEWarning, match=says):
        told = RPTEClassifier(**given).fit(case.X, case.y, groups=group)
    silent = RPTEClassifier(**given).fit(case.X, case.y)
    assert to_dict(told.model_)["components"] == to_dict(silent.model_)["components"]


def test_folds_that_train_on_one_class_are_left_out():
    y = np.array([0.0] * 10 + [1.0] * 10)
    splits = [(range(10), range(10, 20)), (range(5, 15), [0, 1, 18, 19])]
    validation = make_validation(splits, None, y, None)
    table = make_table(read_training({"x": np.arange(20.0)}), y, np.ones(20), part=validation.part)
    assert len(folds_of(validation, table)) == 1


def test_held_out_rows_of_one_class_validate_nothing():
    y = np.array([1.0] + [0.0] * 29)
    table = make_table(read_training({"x": np.arange(30.0)}), y, np.ones(30))
    assert folds_of(Validation(), table) == []


@pytest.mark.parametrize(
    ("n", "cases", "count"), [(300, 60, 5), (301, 60, 2), (400, 60, 2), (401, 60, 1), (350, 40, 5)]
)
def test_more_rows_are_searched_on_fewer_folds_if_both_classes_have_enough(
    monkeypatch, n, cases, count
):
    constants = {"MANY_ROWS": 300, "LONG_ABOVE": 400}
    for name, value in {**constants, "FEWER_FOLDS_FROM_CASES": 50}.items():
        monkeypatch.setattr(scale, name, value)
    y = (np.arange(n) < cases).astype(float)
    table = make_table(read_training({"x": np.arange(n) / n}), y, np.ones(n))
    searched, others = Validation().split(table)
    assert (len(searched), len(others)) == (count, 5 - count)
    folds = [(fold.train.rows, fold.test.rows) for fold in (*searched, *others)]
    assert all(len(train) + len(test) == n for train, test in folds)
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(n))


def test_large_tables_are_searched_on_a_sample(monkeypatch):
    monkeypatch.setattr(scale, "SAMPLE_ROWS", 150)
    raw = random_raw(5, ["number", "number"], 400, gaps=False)
    table = make_table(read_training(raw.columns), raw.y, np.ones(len(raw.y)))
    sample = Validation().sample(table)
    assert keys(sample, np.arange(150)) == keys(table, np.arange(150))
    (train, test), *_ = folds_of(Validation(), sample)
    assert sorted([*train, *test]) == list(range(150))
    assert len(test) == pytest.approx(30, abs=1)
    groups = np.arange(400) // 10
    validation = make_validation(None, None, raw.y, groups)
    whole = make_table(read_training(raw.columns), raw.y, np.ones(len(raw.y)), part=validation.part)
    table = validation.sample(whole)
    (train, test), *_ = folds_of(validation, table)
    assert sorted([*train, *test]) == list(range(table.n_rows))
    assert 150 <= table.n_rows < 160  # whole groups, of at most 10 rows
    chosen = set(table.part)
    assert table.n_rows == np.isin(whole.part, [*chosen]).sum()
    assert set(whole.part[: 1 + int((whole.part == table.part[0]).argmax())]) <= chosen
    assert not set(table.part[train]) & set(table.part[test])
    splits = make_validation([(range(300), range(300, 400))] * 3, None, raw.y, None)
    table = make_table(read_training(raw.columns), raw.y, np.ones(len(raw.y)), part=splits.part)
    assert splits.sample(table) is table
    assert len(folds_of(splits, table)) == 3


@pytest.mark.parametrize("n_groups", [2, 3, 5, 8])
def test_few_large_groups_are_enough_to_validate(monkeypatch, n_groups):
    """A sample never is one group alone: as many as there are folds, if there are so many."""
    monkeypatch.setattr(scale, "SAMPLE_ROWS", 40)
    raw = random_raw(6, ["number", "number"], 400, gaps=False)
    validation = make_validation(None, None, raw.y, np.arange(400) % n_groups)
    whole = make_table(read_training(raw.columns), raw.y, np.ones(len(raw.y)), part=validation.part)
    table = validation.sample(whole)
    (train, test), *_ = folds_of(validation, table)
    groups = [set(table.part[side]) for side in (train, test)]
    assert all(groups)
    assert not groups[0] & groups[1]
    assert len(groups[0] | groups[1]) == min(n_groups, 5)


def leak(seed=0, n_groups=10, size=30):
    """A column that tells the group, and labels that belong to groups: only rows leak."""
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), size)
    label = group % 2
    X = pd.DataFrame({"who": group + 0.0, "noise": rng.normal(size=len(group)).round(2)})
    return X, label, group


def test_groups_keep_the_model_from_learning_who_is_who():
    X, y, group = leak()
    made = {"shapes": "free"}  # every second group is more than one shape says
    by_row = RPTEClassifier(**made).fit(X, y)
    with pytest.warns(RPTEWarning, match="some held-out rows are unlike all rows that train"):
        by_group = RPTEClassifier(**made).fit(X, y, groups=group)
    assert by_row.score(X, y) > 0.7
    assert by_group.audit().miu <= 1 < by_row.audit().miu
    assert by_group.score(X, y) < 0.7
    turned = np.random.default_rng(1).permutation(len(y))
    with pytest.warns(RPTEWarning, match="standard error of the validated deviance grows from"):
        again = RPTEClassifier(**made).fit(X.iloc[turned], y[turned], groups=group[turned])
    assert to_dict(again.model_) == to_dict(by_group.model_)


def test_the_splitter_decides_what_is_validated():
    X, y, group = leak()
    by_group = RPTEClassifier(cv=GroupKFold(5)).fit(X, y, groups=group)
    assert by_group.audit().mu == 0
    by_row = RPTEClassifier(cv=StratifiedKFold(5, shuffle=True, random_state=0))
    with pytest.warns(RPTEWarning, match="what it misses depends on who"):  # it has one shape
        by_row.fit(X, y)
    assert by_row.audit().mu > 0


@pytest.mark.parametrize("shapes", ["one", "free"])
def test_a_splitter_of_content_folds_gives_the_model_of_content_folds(shapes):
    """The user's splits and our own go through the same selection."""
    case = make_case(4, ("number", "few", "two"), 70, clear=True)
    inputs = read_training(case.X)
    case = replace(case, weight=np.ones(70))
    table = make_table(inputs, case.y.astype(float), case.weight)
    row = {key: i for i, key in enumerate(map(tuple, as_rows(inputs, case.y)))}
    place = np.array([row[tuple(key)] for key in as_rows(table.inputs, table.y)])
    assert len(set(place)) == table.n_rows == len(case.y)  # no equal rows in this table
    splits = [(place[a], place[b]) for a, b in folds_of(Validation(), table)]
    ours = to_dict(case.fit(RPTEClassifier(shapes=shapes)).model_)
    theirs = to_dict(case.fit(RPTEClassifier(shapes=shapes, cv=splits)).model_)
    assert ours["components"]
    assert theirs["components"] == ours["components"]
    assert without_errors(theirs["training"]["selection"]) == without_errors(
        ours["training"]["selection"]
    )


def without_errors(selection):
    """Leave out the standard errors, which are those of the folds that there are."""
    evaluations = [{k: v for k, v in p.items() if k != "error"} for p in selection["frontier"]]
    return {**selection, "frontier": evaluations}


def as_rows(inputs, y):
    columns = [np.where(np.isnan(c), 1e9, c) for c in map(np.float64, inputs.columns)]
    return np.column_stack([*columns, y]).tolist()
