"""`form="rules"`: every term is a yes/no statement, and the model is as good as any other."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from typer.testing import CliRunner

from effort import examples
from fit_tables import QUICK, cases, mixed_case
from rpte import InputError, Limits, RPTEClassifier, load
from rpte.check import rpte_check
from rpte.cli import app
from rpte.columns.kinds import Value
from rpte.export.exporting import export_model
from rpte.model.file import from_dict, sealed_hash, to_dict

CASE = mixed_case(400)
CLAIM = "every term is a yes/no statement"


def rules(**changes):
    return RPTEClassifier(form="rules", **changes)


@pytest.fixture(scope="module")
def fitted():
    return CASE.fit(rules())


def all_say_yes_or_no(model):
    """Tell, column by column, whether the terms of a model are 0 or 1 or cells of a partition."""
    tested = [split.column for tree in model.trees for split in tree.tree.splits]
    plain = all(column.binary or isinstance(column, Value) for column in tested)
    return plain and all(term.column.binary for term in model.direct)


def holds(model, *table):
    return {check.name: check.holds for check in model.verify(*table)}


class TestTerms:
    @pytest.mark.parametrize(
        "changes",
        [
            {},
            QUICK,
            {"ownership": "strict", **QUICK},
            {"ownership": "separate", **QUICK},
            {"ownership": "paper", **QUICK},
            {"reassign": False},
            {"max_inspection_units": 4},
            {"pattern_order": 1},
        ],
        ids=str,
    )
    def test_no_term_is_a_number(self, changes):
        clf = CASE.fit(rules(**changes))
        assert clf.model_.components
        assert all(all_say_yes_or_no(m) for m in (clf.model_, *clf.frontier_models_))
        checks = holds(clf.model_, CASE.X, CASE.y, CASE.weight)
        assert checks[CLAIM]
        assert all(checks.values())

    @examples(15)
    @given(cases(clear=True))
    def test_random_tables(self, case):
        """Missing cells, categories, two values, skewed numbers, fractional weights."""
        model = case.fit(rules(**QUICK)).model_
        assert all_say_yes_or_no(model)
        assert all(holds(model, case.X, case.y, case.weight).values())

    @pytest.mark.parametrize(("half", "text"), [(0.0, "dose = 7"), (0.5, "dose > 6")])
    def test_a_number_of_two_values_has_one_term(self, half, text):
        x = np.repeat([3.0 + half, 7.0 + half], 60)
        y = np.r_[np.zeros(50), np.ones(10), np.zeros(10), np.ones(50)]
        model = rules().fit(pd.DataFrame({"dose": x}), y).model_
        assert [term.column.text for term in model.direct] == [text]

    def test_missing_cells_have_flags(self, fitted):
        assert any(term.column.text == "income is missing" for term in fitted.model_.direct)

    def test_it_learns(self, fitted):
        """A rule model must tell the classes apart about as well as one of any form."""
        other = CASE.fit(RPTEClassifier())
        assert fitted.score(CASE.X, CASE.y) > other.score(CASE.X, CASE.y) - 0.05
        assert not all_say_yes_or_no(other.model_)

    @pytest.mark.parametrize("ownership", ["component", "separate"])
    def test_trees_carry_interactions(self, ownership):
        """Where three variables must meet, the tree that reads them is found, and verified."""
        rng = np.random.default_rng(5)
        X = pd.DataFrame(rng.integers(0, 10, (1500, 5)).astype(float), columns=list("abcde"))
        high = X > 4.5
        signal = 3.0 * (high["a"] & high["b"] & high["c"]) + 1.5 * high["d"] - 1.5
        y = rng.random(1500) < 1 / (1 + np.exp(-signal))
        clf = rules(ownership=ownership, pattern_order=1).fit(X, y)
        (tree,) = clf.model_.trees
        assert tree.sources == ("a", "b", "c")
        assert {split.threshold for split in tree.tree.splits} == {4.5}
        assert all(holds(clf.model_, X, y).values())

    def test_monotone_limits(self):
        limits = Limits(monotone={"age": "increasing"})
        model = CASE.fit(rules(limits=limits)).model_
        assert "age" in {source for part in model.components for source in part.sources}
        checks = holds(model, CASE.X, CASE.y, CASE.weight)
        assert all(checks.values())
        assert any(name.startswith("monotone") for name in checks)
        older = CASE.X.assign(age=CASE.X["age"] + 20)
        assert (model.score(older) >= model.score(CASE.X)).all()


class TestParameters:
    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"form": "rule"}, "form='rule'; it must be one of"),
            ({"form": None}, "form=None; it must be one of"),
            ({"vocabulary": "hug"}, "vocabulary='hug'"),
            ({"vocabulary": "original"}, "vocabulary='original'"),
            ({"criterion": "label"}, "criterion='label'"),
            ({"conventions": "paper"}, "conventions='paper'"),
            ({"lookahead": True}, "lookahead=True"),
            ({"limits": Limits(linear_only=["age"])}, "a slope is no yes/no statement"),
        ],
        ids=str,
    )
    def test_errors(self, changes, said):
        with pytest.raises(InputError, match=said.replace("(", r"\(")):
            CASE.fit(RPTEClassifier(**{"form": "rules", **changes}))

    def test_any_is_not_written(self):
        """Files of other models are as they were before there was a form."""
        assert "form" not in CASE.fit(RPTEClassifier(**QUICK)).model_.settings


class TestFiles:
    def test_the_checker_agrees(self, fitted, tmp_path):
        fitted.save(tmp_path / "model.json")
        done = subprocess.run(
            [sys.executable, "-I", "-S", rpte_check.__file__, str(tmp_path / "model.json")],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"holds  rules: {CLAIM}" in done.stdout

    def test_a_slope_in_a_file_of_rules_is_found(self, tmp_path):
        """A model with slopes that claims to consist of rules."""
        document = to_dict(CASE.fit(RPTEClassifier(**QUICK)).model_)
        document["settings"]["form"] = "rules"
        del document["hash"]
        document["hash"] = sealed_hash(document)
        assert not holds(from_dict(document))[CLAIM]
        path = tmp_path / "model.json"
        path.write_text(json.dumps(document))
        checks = {name: faults for name, faults, _ in rpte_check.file_checks(document)}
        assert any("is a number, not a yes/no statement" in fault for fault in checks["rules"])

    @pytest.mark.parametrize(
        "target",
        ["sql", pytest.param("xlsx", marks=pytest.mark.slow(reason="starts LibreOffice"))],
    )
    def test_exports(self, fitted, target, tmp_path):
        pytest.importorskip({"sql": "sqlglot", "xlsx": "openpyxl"}[target])
        parity = export_model(fitted.model_, target, tmp_path / f"model.{target}", CASE.X)
        assert (tmp_path / f"model.{target}").stat().st_size > 0
        assert parity.holds
        assert target == "xlsx" or parity.rows == len(CASE.X)  # a workbook needs an office here

    def test_command(self, tmp_path):
        CASE.X.assign(outcome=CASE.y).to_csv(tmp_path / "table.csv", index=False)
        asked = ["fit", tmp_path / "table.csv", "--target", "outcome", "-o", tmp_path / "m.json"]
        more = ["--form", "rules", "--l1", "4/n", "--folds", "0"]
        done = CliRunner().invoke(app, [*map(str, asked), *more])
        assert done.exit_code == 0, done.output
        assert all_say_yes_or_no(load(tmp_path / "m.json"))
        wrong = CliRunner().invoke(app, [*map(str, asked), "--form", "points"])
        assert wrong.exit_code != 0
