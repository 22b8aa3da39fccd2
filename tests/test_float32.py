"""The float32 and the float64 copy of one table: the same leaves, steps and special codes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_folder import DATA, needs_data
from effort import examples
from rpte import RPTEClassifier, load
from rpte.check import rpte_check
from rpte.columns.kinds import Flag, TwoSources
from rpte.model.parts import DirectTerm

CONFIGURATIONS = {
    "default": lambda **given: RPTEClassifier(cv=2, l1_ratio=1.0, max_trees=2, **given),
    "trees": lambda **given: RPTEClassifier(
        vocabulary="hug", budget=100, l1="4/n", lookahead=True, **given
    ),
    "published": RPTEClassifier.paper,
}


def in_float32(frame):
    """Return the float32 copy of a table."""
    floats = [name for name in frame if frame[name].dtype.kind == "f"]
    return frame.astype(dict.fromkeys(floats, np.float32))


def back(frame):
    """Return a float32 table in float64."""
    floats = [name for name in frame if frame[name].dtype == np.float32]
    return frame.astype(dict.fromkeys(floats, np.float64))


def memberships(model, X):
    """Return what a model only asks yes or no of: leaves of trees, steps, intervals, levels."""
    inputs = model.read(X)
    found = {}
    for component in model.components:
        for part in component.parts:
            if not isinstance(part, DirectTerm):
                found[part.name] = part.tree.apply(inputs)
            for flag in flags(part.column) if isinstance(part, DirectTerm) else ():
                found[f"{part.name}: {flag.text}"] = flag.holds(inputs)
    return found


def flags(column):
    if isinstance(column, Flag):
        return [column]
    parts = (column.left, column.right) if isinstance(column, TwoSources) else ()
    return [part for part in parts if isinstance(part, Flag)]


def assert_alike(model, X):
    """Both copies go the same way everywhere, and differ by no more than slopes explain."""
    single = in_float32(X)
    own, other = memberships(model, X), memberships(model, single)
    moved = {name: int((own[name] != other[name]).sum()) for name in own}
    assert not any(moved.values()), {name: rows for name, rows in moved.items() if rows}
    assert model.score(single).tolist() == model.score(back(single)).tolist()
    difference = np.abs(model.predict_proba(X) - model.predict_proba(single))
    assert difference.max() < 1e-4


def made(kind, seed, rows=250):
    """Return a table of numbers as people round them, and labels that depend on thresholds."""
    rng = np.random.default_rng(seed)
    raw = rng.normal(size=(rows, 4)) * [1.0, 10.0, 100.0, 5.0] + [0.0, 40.0, 0.0, 5.0]
    if kind == "thirds":
        X = np.round(raw * 3) / 3
    elif kind == "single":
        X = raw.astype(np.float32).astype(np.float64)
    else:
        X = np.round(raw, {"tenths": 1, "hundredths": 2, "full": 15}[kind])
    odds = 2.0 * (X[:, 0] > 0.4) - 1.5 * (X[:, 1] >= 38.7) + 2.0 * (np.abs(X[:, 3]) < 4.7)
    y = (rng.random(rows) < 1 / (1 + np.exp(-odds))).astype(int)
    return pd.DataFrame(X, columns=list("abcd")), y


KINDS = ("tenths", "hundredths", "thirds", "full", "single")


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_both_copies_of_a_table_go_the_same_way(kind, configuration):
    X, y = made(kind, 0)
    model = CONFIGURATIONS[configuration]().fit(X, y).model_
    assert_alike(model, X)


@examples(10)
@given(st.sampled_from(KINDS[:3]), st.integers(0, 10_000), st.sampled_from([1e-3, 1.0, 1e6]))
def test_both_copies_go_the_same_way_in_the_published_configuration(kind, seed, unit):
    X, y = made(kind, seed, 120)
    X = X * unit
    assert_alike(RPTEClassifier.paper().fit(X, y).model_, X)


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@pytest.mark.parametrize("kind", ["tenths", "hundredths", "full"])
def test_a_model_of_the_float32_copy_scores_the_original_alike(kind, configuration):
    X, y = made(kind, 2)
    model = CONFIGURATIONS[configuration]().fit(in_float32(X), y).model_
    assert_alike(model, X)


@needs_data
@pytest.mark.parametrize("configuration", ["default", "published"])
@pytest.mark.parametrize(
    "name",
    ["panel/chronic_kidney_disease", "panel/oil_spill", "panel/swiss_labor", "panel/surv_pbc"],
)
@pytest.mark.filterwarnings("ignore::rpte.RPTEWarning")
def test_both_copies_of_a_stored_table_go_the_same_way(name, configuration):
    table = pd.read_csv(next(DATA.glob(f"{name}.csv*")))
    X, y = table.drop(columns="target"), table["target"]
    assert_alike(CONFIGURATIONS[configuration]().fit(X, y).model_, X)


class TestSpecialCodes:
    CODES = (99.9, -9.99, 123456.789)

    def table(self):
        X, y = made("tenths", 3)
        for place, code in enumerate(self.CODES):
            X.loc[place * 40 : place * 40 + 39, "a"] = code
        y[40:80] = 1
        return X, y

    def model(self, X, y):
        return CONFIGURATIONS["default"](special_values={"a": list(self.CODES)}).fit(X, y).model_

    @pytest.mark.parametrize("given", [in_float32, lambda X: back(in_float32(X)), lambda X: X])
    def test_are_known_in_both_precisions(self, given):
        X, y = self.table()
        model = self.model(given(X), y)
        assert model.schema["a"].levels == ("99.9", "-9.99", "123456.789")
        for copy in (X, in_float32(X), back(in_float32(X))):
            codes = model.read(copy).codes("a")
            assert np.bincount(codes[codes >= 0]).tolist() == [40, 40, 40]
        assert_alike(model, X)

    def test_are_known_to_the_checker_and_an_export(self, tmp_path):
        X, y = self.table()
        model = self.model(X, y)
        copy = back(in_float32(X))
        model.save(tmp_path / "m.json")
        copy.to_csv(tmp_path / "t.csv", index=False)
        command = [sys.executable, rpte_check.__file__, tmp_path / "m.json", tmp_path / "t.csv"]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        assert load(tmp_path / "m.json").score(copy).tolist() == model.score(copy).tolist()
        assert model.export("python", tmp_path / "m.py", copy).holds

    def test_a_code_beside_the_float32_of_another_stays_itself(self):
        X, y = made("tenths", 4)
        X.loc[:39, "a"], X.loc[40:79, "a"] = 99.9, float(np.float32(99.9))
        special = {"a": [99.9, float(np.float32(99.9))]}
        model = CONFIGURATIONS["default"](special_values=special).fit(X, y).model_
        codes = model.read(X).codes("a")
        assert np.bincount(codes[codes >= 0]).tolist() == [40, 40]


def test_whole_numbers_that_float32_does_not_hold_are_no_codes():
    rng = np.random.default_rng(5)
    x = rng.choice([20_240_101, 20_240_103, 20_240_107, 20_240_111], 400).astype(float)
    y = ((x == 20_240_107) ^ (rng.random(400) < 0.1)).astype(int)
    X = pd.DataFrame({"day": x})
    model = RPTEClassifier().fit(X, y).model_
    own, other = memberships(model, X), memberships(model, in_float32(X))  # slopes may differ
    assert all((own[name] == other[name]).all() for name in own)
