"""The checker agrees with the library to the last bit, and finds what was tampered with."""

import importlib.resources
import json
import math
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rpte
from data_folder import DATA, needs_data
from dirty_tables import ODD, checker_scores, library_scores, plain, scores_of_dirty
from effort import examples
from file_fuzz import damaged_bytes, damaged_document, moved_document, places, verdicts
from fit_tables import cases
from model_files import (
    CLASS_NAMES,
    EVERY_NAME,
    NUMBER_NAMES,
    direct,
    sealed,
    stored,
    trees,
    write,
)
from rpte.check import rpte_check
from rpte.columns.logarithm import logarithm
from rpte.model.file import from_dict, to_dict
from rpte.model.format import CAUSES_SCHEMA, SCHEMAS
from rpte.table.files import read_table
from rpte.utils.exponential import exponential

GOLDEN = Path(__file__).parents[1] / "golden"
FILES = sorted(p for p in GOLDEN.glob("*/*.json") if not p.name.endswith(".rows.json"))
SOURCE = Path(rpte_check.__file__)


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-I", "-S", str(SOURCE), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_runs_alone(tmp_path):
    done = run(FILES[0])
    assert done.returncode == 0, done.stderr
    assert all(line.startswith("holds") for line in done.stdout.splitlines())
    assert run().returncode == 2
    assert run(FILES[0], "--expect", "x.csv").returncode == 2
    done = run(tmp_path / "absent.json")
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_it_imports_nothing_but_the_standard_library():
    lines = SOURCE.read_text(encoding="utf-8").splitlines()
    imports = {
        line.split()[1].split(".")[0] for line in lines if line.startswith(("import", "from"))
    }
    assert imports <= set(sys.stdlib_module_names)


def test_the_package_brings_it():
    found = importlib.resources.files("rpte.check") / "rpte_check.py"
    assert found.read_text(encoding="utf-8").startswith("#!/usr/bin/env python3")


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_golden_files(path, tmp_path, capsys):
    document = json.loads(path.read_text())
    assert [c for c in rpte_check.file_checks(document) if c[1]] == []
    expected = json.loads(path.with_suffix(".rows.json").read_text())
    rows = expected["rows"]
    frame = pd.DataFrame(rows if isinstance(rows, dict) else np.array(rows, object))
    table, scores = tmp_path / "table.csv", tmp_path / "scores.csv"
    frame.to_csv(table, index=False)
    labels = document["target"]["classes"] if document.get("scores", 1) > 1 else []
    names = [f"score_{label}" for label in labels] or ["score"]
    given = np.array([np.atleast_1d(v) for v in expected["score"]]).T
    given = pd.DataFrame({n: map(float.fromhex, v) for n, v in zip(names, given, strict=True)})
    given.to_csv(scores)
    given_files = [str(path), str(table), "--expect", str(scores)]
    code = rpte_check.main([*given_files, "--scores", str(tmp_path / "out.csv")])
    told = capsys.readouterr()
    assert code == 0, told.out + told.err
    assert "equal to the last bit" in told.out
    assert pd.read_csv(tmp_path / "out.csv", float_precision="round_trip")[names].equals(given)
    given.loc[0, names[-1]] = math.nextafter(given.loc[0, names[-1]], math.inf)
    given.to_csv(scores)
    assert rpte_check.main(given_files) == 1
    told = capsys.readouterr().out
    assert "FAILS  expected scores" in told
    assert ": row 1: " in told


@pytest.mark.parametrize("name", EVERY_NAME)
def test_dirty_tables(name, tmp_path):
    """Whatever stands in the cells, both give the same scores, or both refuse."""
    rng, outcomes = random.Random(name), []
    for share in [0.0, 0.002, 0.01, 0.05] * 6 + [0.0]:
        here, there = scores_of_dirty(name, rng, share, tmp_path / "dirty.csv")
        assert here == there, (tmp_path / "dirty.csv").read_bytes()
        outcomes.append(here is not None)
    assert any(outcomes)


@pytest.mark.slow(reason="reads a table for each odd cell, in library and checker")
@pytest.mark.parametrize("cell", ODD)
def test_one_odd_cell(cell, tmp_path):
    """Every odd cell in every column of a model with special codes and of one by position."""
    for name in ("special", "array", "chosen"):
        made = stored(name)
        frame = plain(made.X).head(3)
        for column in frame.columns:
            odd = frame.copy()
            odd.loc[odd.index[1], column] = cell
            odd.to_csv(tmp_path / "t.csv", index=False)
            here = library_scores(made.document, tmp_path / "t.csv")
            assert here == checker_scores(made.document, tmp_path / "t.csv"), (name, column, cell)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("odd", ["", "1.5", "n/a", "12", "x", " 7,25 "])
def test_decimal_commas(delimiter, odd, tmp_path):
    made, path = stored("mixed"), tmp_path / "commas.csv"
    frame = plain(made.X).head(8)
    frame["income"] = [None if v is None else str(v).replace(".", ",") for v in frame["income"]]
    frame.loc[frame.index[0], "income"] = odd
    frame.to_csv(path, index=False, sep=delimiter)
    assert library_scores(made.document, path) == checker_scores(made.document, path)


@examples(12)
@given(case=cases(clear=True), miner=st.sampled_from(("shapes", "hug", "original")))
def test_models_of_random_tables(case, miner, tmp_path_factory):
    clf = rpte.RPTEClassifier(l1="4/n", vocabulary=miner, budget=30, min_samples_leaf=2)
    document = json.loads(json.dumps(to_dict(case.fit(clf).model_)))
    assert [c for c in rpte_check.file_checks(document) if c[1]] == []
    path = tmp_path_factory.mktemp("random") / "table.csv"
    plain(case.X).to_csv(path, index=False)
    scores = library_scores(document, path)
    assert scores is not None
    assert scores == checker_scores(document, path)


@given(st.floats(min_value=5e-324, max_value=1e300))
def test_the_logarithm_is_the_librarys(x):
    found = rpte_check.logarithm(x)
    assert found.hex() == float(logarithm(np.array([x]))[0]).hex()
    assert math.isclose(found, math.log(x), rel_tol=1e-15, abs_tol=1e-16)


@given(st.floats(-1e300, 1e300) | st.floats(-760.0, 760.0) | st.floats(709.4, 709.8))
def test_the_exponential_is_the_librarys(x):
    found = rpte_check.exponential(x)
    assert found.hex() == float(exponential(np.array([x]))[0]).hex()
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, np.exp(x), rtol=1e-15, atol=1e-323)


@needs_data
@pytest.mark.parametrize(
    "name", ["hepatitis_uci", "credit_scoring_spain", "loan_eligibility", "stroke"]
)
def test_real_tables(name, tmp_path):
    path = next((DATA / "panel").glob(f"{name}.csv*"))
    table = pd.read_csv(path, nrows=400)
    target = next(c for c in table.columns[::-1] if table[c].dropna().nunique() == 2)
    kept = table[table[target].notna()]
    kept.drop(columns=target).to_csv(tmp_path / "rows.csv", index=False)
    X = read_table(tmp_path / "rows.csv")
    clf = rpte.RPTEClassifier(l1="4/n", budget=40)
    document = to_dict(clf.fit(X, kept[target].to_numpy()).model_)
    assert [c for c in rpte_check.file_checks(document) if c[1]] == []
    scores = library_scores(document, tmp_path / "rows.csv")
    assert scores is not None
    assert scores == checker_scores(document, tmp_path / "rows.csv")


def failing(document, tmp_path):
    done = run(write(document, tmp_path))
    assert done.returncode == 1, done.stdout
    return [
        line.split(":")[0].removeprefix("FAILS  ")
        for line in done.stdout.splitlines()
        if "FAILS" in line
    ]


def columns(component):
    """Return the columns that a component reads."""
    return rpte_check.columns({"components": [component]})


def flat(rule):
    """Return every set of fields of the checker's rules: (needed, optional)."""
    if isinstance(rule, dict):
        needed = frozenset(key for key in rule if not key.endswith("?"))
        yield needed, frozenset(key[:-1] for key in rule if key.endswith("?"))
    inside = {
        dict: lambda: rule.values(),
        list: lambda: rule[:1],
        rpte_check.Each: lambda: [rule.rule],
        rpte_check.Either: lambda: rule.rules,
    }
    for item in inside.get(type(rule), list)():
        yield from flat(item)


def objects(schema):
    """Return every set of fields of the JSON Schema: (needed, optional)."""
    if isinstance(schema, dict):
        if "properties" in schema and schema.get("additionalProperties") is False:
            needed = frozenset(schema["required"])
            yield needed, frozenset(schema["properties"]) - needed
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


def test_its_fields_are_those_of_the_schema():
    """A field that is new in the one has to be new in the other."""
    mine = {fields for rule in rpte_check.FORM.values() for fields in flat(rule)}
    test, whole = frozenset({"column"}), frozenset({"column", "at_most", "missing_holds"})
    mine = mine - {(whole, frozenset())} - {(test, frozenset())} | {(test, whole - test)}
    schemas = *SCHEMAS.values(), CAUSES_SCHEMA
    assert mine == {fields for schema in schemas for fields in objects(schema)}


class TestTampering:
    def test_a_changed_coefficient(self, tmp_path):
        document = stored("mixed").copy()
        trees(document)[0]["leaves"][1]["coefficient"] += 0.5
        assert failing(document, tmp_path) == ["content hash", "sums"]
        assert failing(sealed(document), tmp_path) == ["sums"]

    @pytest.mark.parametrize("name", EVERY_NAME)
    def test_it_agrees_on_files_as_written(self, name, tmp_path):
        assert verdicts(write(stored(name).document, tmp_path)) == (True, True)

    @pytest.mark.parametrize("name", EVERY_NAME)
    def test_it_agrees_on_whole_numbers_without_decimals(self, name, tmp_path):
        """As JavaScript writes them; a ledger holds the hash of another text."""
        document = stored(name).copy()
        for holder, key in list(places(document)):
            if type(holder[key]) is float and holder[key].is_integer():
                holder[key] = int(holder[key])
        passes = "ledger" not in document
        assert verdicts(write(sealed(document), tmp_path)) == (passes, passes)

    def test_a_file_with_a_ledger_has_its_numbers_as_the_library_writes_them(self, tmp_path):
        document = stored("edited").copy()
        leaf = trees(document)[0]["leaves"][0]
        leaf["penalty"] = int(leaf["penalty"])
        assert "fields" in failing(sealed(document), tmp_path)

    @pytest.mark.slow(reason="loads, verifies and checks each model file with many kinds of damage")
    @pytest.mark.parametrize("damage", [damaged_document, moved_document])
    def test_it_agrees_with_the_library(self, damage, tmp_path):
        """It passes exactly the files that `load` takes and `verify` finds no fault with."""
        rng, passed, names = random.Random(0), 0, EVERY_NAME
        for name in names * 6:
            mine, other = verdicts(write(damage(stored(name).document, rng), tmp_path))
            assert mine == other
            passed += mine
        assert 0 < passed < 6 * len(names)

    def test_it_agrees_on_damaged_bytes(self, tmp_path):
        rng, path = random.Random(1), tmp_path / "model.json"
        for name in EVERY_NAME * 10:
            content = json.dumps(stored(name).document).encode()
            path.write_bytes(damaged_bytes(content, rng))
            mine, other = verdicts(path)
            assert mine == other

    @pytest.mark.parametrize("seed", range(20))
    def test_damage_is_one_line(self, seed, tmp_path, capsys):
        """A field lost or of the wrong type ends in one line, never in a traceback."""
        rng, document = random.Random(seed), stored("shaped").copy()
        node = document
        while True:
            key = rng.choice(list(node) if isinstance(node, dict) else range(len(node)))
            if not isinstance(node[key], dict | list) or not node[key] or rng.random() < 0.1:
                break
            node = node[key]
        node[key] = rng.choice([None, "x", [], {}, -1, 1e308])
        assert rpte_check.main([str(write(sealed(document), tmp_path))]) in (0, 1)
        assert capsys.readouterr().err.count("\n") <= 1


BALANCE = "sum of predictions equals the sum of the target"
OPTIMUM = "Stage 3 optimality of the active terms"
COLUMNS = {"weight": "my weight", "exposure": "my exposure", "offset": "my offset"}


def training_table(made, folder, rows=slice(None)):
    """Write the training table of a model; return its path and the options that name columns."""
    frame = plain(made.X).assign(**{"my target": np.asarray(made.y)})
    options = ["--target", "my target"]
    for what, name in COLUMNS.items():
        if getattr(made, what) is not None:
            frame[name] = getattr(made, what)
            options += [f"--{what}-column", name]
    path = folder / "train.csv"
    frame[rows].to_csv(path, index=False)
    return path, options


def on_training_table(document, made, folder, capsys, **how):
    """Return the names of the checks with the training table, and of those that fail."""
    table, options = training_table(made, folder, **how)
    code = rpte_check.main([str(write(sealed(document), folder)), str(table), *options])
    lines = capsys.readouterr().out.splitlines()
    names = {line[7:].split(": ")[0]: line.startswith("FAILS") for line in lines}
    assert code == any(names.values())
    return set(names), {name for name, fails in names.items() if fails}


class TestTrainingTable:
    """What the checker proves with the training table is what the library proves."""

    @pytest.mark.parametrize(
        "name", ["mixed", "array", "monotone", "special", *NUMBER_NAMES, *CLASS_NAMES]
    )
    def test_files_as_written_pass(self, name, tmp_path, capsys):
        made = stored(name)
        found, failing = on_training_table(made.document, made, tmp_path, capsys)
        assert failing == set()
        solved = made.document["training"]["objective"] is not None
        assert ("supports and means" in found) == (name in NUMBER_NAMES)
        assert (OPTIMUM in found) == solved
        assert (BALANCE in found) == (name in ("squared", "counts"))
        mine = from_dict(made.copy()).verify(*made.given, **made.beside)
        assert all(check.holds for check in mine)
        assert (BALANCE in {check.name for check in mine}) == (BALANCE in found)

    @pytest.mark.parametrize("name", ["mixed", "counts", "squared"])
    def test_a_row_less_is_another_table(self, name, tmp_path, capsys):
        made = stored(name)
        rows = slice(1, None)
        failing = on_training_table(made.document, made, tmp_path, capsys, rows=rows)[1]
        assert "training table" in failing

    @pytest.mark.parametrize("name", ["counts", "squared", "claims"])
    def test_the_hash_has_every_target(self, name, tmp_path, capsys):
        """Two targets that change places leave the sums over all rows as they are."""
        made = stored(name)
        y = np.array(made.y)
        low, high = int(y.argmin()), int(y.argmax())
        y[[low, high]] = y[[high, low]]
        moved = type(made)(made.document, made.X, y, made.weight, made.exposure, made.offset)
        table, options = training_table(moved, tmp_path)
        rpte_check.main([str(write(made.document, tmp_path)), str(table), *options])
        assert "FAILS  training table: " in capsys.readouterr().out

    def test_a_support_and_a_sum_that_are_not_the_tables(self, tmp_path, capsys):
        for name in ("counts", "mixed"):
            made = stored(name)
            for field in ("support", "target_total"):
                document = made.copy()
                direct(document)[0][field] *= 0.999
                word = "means" if name == "counts" else "event rates"
                failing = on_training_table(document, made, tmp_path, capsys)[1]
                assert f"supports and {word}" in failing

    @pytest.mark.parametrize("name", ["squared", "counts", "amounts", "claims", "mixed"])
    def test_a_coefficient_that_is_not_optimal(self, name, tmp_path, capsys):
        made = stored(name)
        document = made.copy()
        term = direct(document)[0]
        term["coefficient"] *= 1.01
        document["training"]["mean_contributions"][term["name"]] *= 1.01
        failing = on_training_table(document, made, tmp_path, capsys)[1]
        assert OPTIMUM in failing

    @pytest.mark.parametrize("name", ["squared", "counts", "amounts", "claims", "boosted_counts"])
    def test_an_intercept_that_is_off_balance(self, name, tmp_path, capsys):
        made = stored(name)
        document = made.copy()
        document["intercept"] += 1e-4 * (1 + abs(document["intercept"]))
        failing = on_training_table(document, made, tmp_path, capsys)[1]
        solved = {OPTIMUM} if name != "boosted_counts" else set()
        assert failing == solved | ({BALANCE} if name in ("squared", "counts") else set())
        mine = from_dict(sealed(document)).verify(*made.given, **made.beside)
        unbalanced = [c for c in mine if c.name == BALANCE and not c.holds]
        assert len(unbalanced) == (name in ("squared", "counts"))

    def test_units_that_are_not_the_fits(self, tmp_path, capsys):
        for name, field in (("squared", "centre"), ("squared", "scale"), ("counts", "weight")):
            made = stored(name)
            document = made.copy()
            document["target"]["units"][field] *= 1.001
            assert on_training_table(document, made, tmp_path, capsys)[1]

    def test_an_edit_withdraws_the_balance_too(self, tmp_path, capsys):
        made = stored("counts")
        model = rpte.edit(from_dict(made.copy()), drop_terms=["D1"], by="A. Smith", reason="a test")
        names = {check.name for check in model.verify(*made.given, **made.beside)}
        found, failing = on_training_table(to_dict(model), made, tmp_path, capsys)
        assert not {BALANCE, OPTIMUM} & (names | found)
        assert failing == set()

    def test_columns_that_are_asked_for(self, tmp_path, capsys):
        made = stored("counts")
        path, (table, options) = write(made.document, tmp_path), training_table(made, tmp_path)
        assert rpte_check.main([str(path), str(table), *options[:2]]) == 1
        words = "the model was fitted with the exposure 'exposure'; give --exposure-column"
        assert words in capsys.readouterr().err
        assert rpte_check.main([str(path), str(table), *options, "--offset-column", "age"]) == 1
        assert "the model was fitted without offset" in capsys.readouterr().err
        assert rpte_check.main([str(path), str(table), "--target", "absent"]) == 1
        assert "has no column 'absent'" in capsys.readouterr().err
        frame = pd.read_csv(table)
        frame.loc[0, "my exposure"] = 0
        frame.to_csv(table, index=False)
        assert rpte_check.main([str(path), str(table), *options]) == 1
        assert "exposure 'my exposure' holds 0; it must be above 0" in capsys.readouterr().err
        classes = stored("mixed")
        plain(classes.X).to_csv(tmp_path / "t.csv", index=False)
        path = write(classes.document, tmp_path)
        assert rpte_check.main([str(path), str(tmp_path / "t.csv"), "--exposure-column", "age"])
        assert "exposure is for models" in capsys.readouterr().err


@pytest.mark.parametrize("name", NUMBER_NAMES)
def test_means_are_the_librarys(name, tmp_path, capsys):
    made = stored(name)
    table, options = training_table(made, tmp_path)
    out = tmp_path / "out.csv"
    path = write(made.document, tmp_path)
    assert rpte_check.main([str(path), str(table), *options, "--scores", str(out)]) == 0
    assert "probabilit" not in capsys.readouterr().out
    found = pd.read_csv(out, float_precision="round_trip")
    assert list(found) == ["row", "score", "mean"]
    model = from_dict(made.copy())
    assert [v.hex() for v in found["score"]] == [float(v).hex() for v in model.score(made.X)]
    mean = model.predict(made.X, made.exposure, made.offset)
    np.testing.assert_allclose(found["mean"], mean, rtol=1e-14)
    arguments = [str(path), str(table), *options, "--expect", str(out)]
    assert rpte_check.main(arguments) == 0
    assert "expected means: " in capsys.readouterr().out
    found.assign(mean=found["mean"] * (1 + 1e-9)).to_csv(out, index=False)
    assert rpte_check.main(arguments) == 1
    assert "FAILS  expected means: row 1: " in capsys.readouterr().out
