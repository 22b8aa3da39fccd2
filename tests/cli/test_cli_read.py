"""The commands that read a model: score, explain, show, audit, verify, frontier."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from command_tables import (
    CREDIT,
    QUICK,
    SOURCE,
    credit,
    file_of_folder,
    good,
    refused,
    run,
    write_csv,
)
from model_files import sealed, stored, write
from rpte import load
from rpte.cli import app
from rpte.table.files import read_table

COMMANDS = [command.callback.__name__ for command in app.registered_commands]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("loans")
    table = write_csv(credit(), folder / "loans.csv")
    good("fit", table, *CREDIT, "-o", folder / "model.json", *QUICK)
    return folder


loans = file_of_folder("loans.csv")
model = file_of_folder("model.json")


def scored(model):
    """Score the table as the library does."""
    return load(model).score(credit().drop(columns=["case", "outcome", "weight"]))


def test_the_table_of_commands_is_whole():
    wanted = {"fit", "show", "score", "explain", "audit", "frontier", "verify", "compare"}
    assert wanted | {"demo", "schema"} <= set(COMMANDS)


class TestScore:
    def test_scores_are_those_of_the_library(self, model, loans, tmp_path):
        outcome = run("score", model, loans, "--id-column", "case", "-o", tmp_path / "s.csv")
        assert outcome.exit_code == 0, outcome.output
        assert outcome.stderr == f"Wrote {tmp_path / 's.csv'}: 400 rows\n"
        found = read_table(tmp_path / "s.csv", as_text=["case"])
        assert list(found) == ["case", "score", "probability"]
        assert found["case"].tolist() == credit()["case"].tolist()
        assert (found["score"] == scored(model)).all()
        assert np.allclose(found["probability"], 1 / (1 + np.exp(-found["score"])), atol=1e-15)

    def test_contributions_add_up_to_the_last_bit(self, model, loans):
        header, *lines = good("score", model, loans, "--contributions").splitlines()
        parts = [component.name for component in load(model).components]
        assert header.split(",") == ["row", "score", "probability", "intercept", *parts]
        assert len(lines) == 400
        for number, line in enumerate(lines, 1):
            row, score, _, *adds = line.split(",")
            assert int(row) == number
            total = float(adds[0])
            for add in adds[1:]:
                total += float(add)
            assert total == float(score)

    def test_classes(self, model, loans, tmp_path):
        for option, least in ((("--class",), 0.5), (("--threshold", "0.2"), 0.2)):
            good("score", model, loans, "-o", tmp_path / "s.parquet", *option)
            found = pd.read_parquet(tmp_path / "s.parquet")
            wanted = np.where(found["probability"] >= least, "bad", "good")
            assert found["class"].tolist() == wanted.tolist()

    def test_only_the_columns_that_are_read_are_needed(self, model, tmp_path):
        read = {s for c in load(model).components for s in c.sources}
        frame = credit()[[name for name in credit() if name in read][::-1]]
        table = write_csv(frame, tmp_path / "t.csv")
        found = [line.split(",")[1] for line in good("score", model, table).splitlines()[1:]]
        assert [float(text) for text in found] == scored(model).tolist()

    def test_what_training_did_not_have_is_said(self, model, tmp_path):
        frame = credit(20)
        frame.loc[:2, "branch"] = "999"
        frame.loc[3, "debts"] = np.nan
        outcome = run("score", model, write_csv(frame, tmp_path / "t.csv"))
        assert outcome.stderr.count("branch") == 1
        assert "note: column 'branch': 3 of 20 cells hold a level that training" in outcome.stderr
        assert "note: 1 of 20 rows: debts is missing, which it never was" in outcome.stderr

    def test_refusals(self, model, loans, tmp_path):
        other = write_csv(credit(9).rename(columns={"debts": "Debts"}), tmp_path / "t.csv")
        assert "did you mean 'Debts'?" in refused("score", model, other)
        dirty = write_csv(credit(9).assign(debts="three"), tmp_path / "u.csv")
        assert "'debts' is a number but holds the text 'three'" in refused("score", model, dirty)
        assert "lies between 0 and 1" in refused("score", model, loans, "--threshold", 2)
        assert "names no format" in refused("score", model, loans, "-o", tmp_path / "s.doc")
        assert "make it first" in refused("score", model, loans, "-o", tmp_path / "no" / "s.csv")
        assert "id column 'cas'" in refused("score", model, loans, "--id-column", "cas")
        named = write_csv(credit(9).rename(columns={"case": "score"}), tmp_path / "v.csv")
        assert "name of a result" in refused("score", model, named, "--id-column", "score")
        assert "not a model file" in refused("score", write({}, tmp_path), loans)

    @pytest.mark.slow(reason="starts a process of its own")
    def test_a_pipe_that_closes_is_no_traceback(self, model, loans):
        command = f"{sys.executable} -m rpte score {model} {loans} | head -1"
        done = subprocess.run(
            command, shell=True, capture_output=True, text=True, check=False,
            env={"PYTHONPATH": SOURCE, "PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        assert done.stdout == "row,score,probability\n"
        assert "Traceback" not in done.stderr

    def test_models_of_arrays_count_columns_off(self, tmp_path):
        kept = stored("array")
        model = write(kept.document, tmp_path)
        table = tmp_path / "t.csv"
        X = np.asarray(kept.X)
        pd.DataFrame(X, columns=[f"v{k}" for k in range(X.shape[1])]).to_csv(table, index=False)
        found = [line.split(",")[1] for line in good("score", model, table).splitlines()[1:]]
        assert [float(text) for text in found] == load(model).score(X).tolist()


class TestExplain:
    def test_a_row_is_a_sum(self, model, loans):
        told = good("explain", model, loans, "--row", 17)
        assert told.startswith("row 17")
        adds = re.findall(r"^ *([+-]\d\S*|0)  \S", told.split("-------")[0], re.M)
        total = re.search(r"([+-]\d\S*)  score; probability of outcome = bad", told)[1]
        assert sum(map(float, adds)) == pytest.approx(float(total), abs=0.005)
        assert float(total) == pytest.approx(scored(model)[16], abs=0.001)

    def test_a_case_by_its_id(self, model, loans):
        given = ("--id", "00017", "--id-column", "case", "--json")
        found = json.loads(good("explain", model, loans, *given))
        assert found["case"] == "00017"
        assert found["score"] == scored(model)[16]
        total = found["intercept"]
        for component in found["components"]:
            subtotal = 0.0
            for contribution in component["contributions"]:
                subtotal += contribution["value"]
            total += subtotal
        assert total == found["score"]

    def test_against_the_mean(self, model, loans):
        told = good("explain", model, loans, "--row", 1, "--mean")
        assert "mean score in training" in told
        assert "intercept" not in told

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ((), "name one case"),
            (("--row", 1, "--id", "00001"), "name one case"),
            (("--row", 0), "--row 0: the table has the rows 1 to 400"),
            (("--row", 401), "the rows 1 to 400"),
            (("--id", "00001"), "say which column holds it"),
            (("--id", "1", "--id-column", "case"), "in no row"),
            (("--id", "00499", "--id-column", "case"), "did you mean '00"),
            (("--id", "007", "--id-column", "branch"), "rows of the column 'branch'; name one"),
        ],
    )
    def test_refusals(self, model, loans, options, message):
        assert message in refused("explain", model, loans, *options)


class TestShow:
    def test_every_term_is_there(self, model):
        told, fitted = good("show", model, width=200), load(model)
        assert "conditions to read" in told
        assert "income [EUR]" in told
        for rule in fitted.rules():
            assert f"{rule.term}  {rule.coefficient:+.4g}" in told

    def test_json(self, model):
        found, fitted = json.loads(good("show", model, "--json")), load(model)
        assert [rule["coefficient"] for rule in found["rules"]] == [
            rule.coefficient for rule in fitted.rules()
        ]
        assert found["positive"] == "bad"

    def test_a_picture(self, model, tmp_path):
        assert "Wrote" in good("show", model, "--svg", tmp_path / "m.svg")
        assert (tmp_path / "m.svg").read_text().startswith("<svg")

    @pytest.mark.parametrize("name", ["published", "monotone", "limited", "special", "chosen"])
    def test_models_of_every_kind(self, name, tmp_path):
        path = write(stored(name).document, tmp_path)
        assert "log odds of" in good("show", path)
        assert json.loads(good("show", path, "--json"))["rules"]
        assert json.loads(good("audit", path, "--json"))["miu"] >= 1


class TestAudit:
    def test_the_units_are_those_of_the_library(self, model, loans):
        found, load_ = json.loads(good("audit", model, loans, "--json")), load(model).audit()
        assert (found["mu"], found["miu"], found["bound"]) == (load_.mu, load_.miu, load_.bound)
        assert sum(part["conditions"] for part in found["components"]) == load_.miu
        assert sum(part["terms"] for part in found["components"]) == load_.mu
        rows = load(model).audit(credit().drop(columns=["case", "outcome", "weight"]))
        assert found["iiu"]["mean"] == rows.iiu
        assert found["iiu"]["most"] == rows.per_row.max()
        told = good("audit", model, loans)
        assert f"{load_.miu}  conditions in the whole model (MIU)" in told
        assert "(IIU)" in told

    def test_without_a_table_there_is_no_iiu(self, model):
        assert json.loads(good("audit", model, "--json"))["iiu"] is None
        assert "IIU" not in good("audit", model)


class TestVerify:
    WEIGHED = ("--target", "outcome", "--weight-column", "weight")

    def test_every_check_holds_on_the_training_table(self, model, loans):
        told = good("verify", model, loans, *self.WEIGHED)
        assert "FAILS" not in told
        for claim in ("content hash", "training table", "contributions sum", "optimality"):
            assert re.search(rf"^holds .*{claim}", told, re.M)

    def test_less_is_checked_with_less(self, model, loans):
        alone = json.loads(good("verify", model, "--json"))
        rows = json.loads(good("verify", model, loans, "--json"))
        whole = json.loads(good("verify", model, loans, *self.WEIGHED, "--json"))
        counts = [len(found["checks"]) for found in (alone, rows, whole)]
        assert counts == sorted(set(counts))
        assert alone["checks"][-1]["name"] == rows["checks"][-1]["name"] == "not checked"
        assert whole["checks"][-1]["name"] != "not checked"
        assert all(found["holds"] for found in (alone, rows, whole))
        assert re.search(r"^open +not checked +one leaf per tree", good("verify", model), re.M)

    def test_a_changed_table_fails_and_is_named(self, model, tmp_path):
        frame = credit()
        frame.loc[3, "debts"] += 1
        outcome = run("verify", model, write_csv(frame, tmp_path / "t.csv"), *self.WEIGHED)
        assert outcome.exit_code == 1
        assert re.search(r"^FAILS +training table", outcome.stdout, re.M)
        assert re.match(r"error: \d of \d+ fail: .*training table", outcome.stderr)

    def test_forgotten_weights_fail(self, model, loans):
        outcome = run("verify", model, loans, "--target", "outcome", "--json")
        assert outcome.exit_code == 1
        assert "training table" in json.loads(outcome.stdout)["failed"]

    def test_a_changed_file_fails_and_is_named(self, model, loans, tmp_path):
        document = json.loads(model.read_text())
        document["intercept"] += 0.25
        path = write(document, tmp_path)
        outcome = run("verify", path)
        assert outcome.exit_code == 1
        assert "fail: content hash" in outcome.stderr
        outcome = run("verify", write(sealed(document), tmp_path), loans, *self.WEIGHED)
        assert outcome.exit_code == 1
        assert "Stage 3 optimality" in outcome.stderr
        assert "hash" in refused("score", write(document, tmp_path), loans)

    def test_absent_columns_are_said(self, model, tmp_path):
        unread = [v for v in load(model).schema.names if v not in
                  {s for c in load(model).components for s in c.sources}]  # fmt: skip
        dropped = unread[:1] or ["debts"]
        outcome = run(
            "verify", model, write_csv(credit().drop(columns=dropped), tmp_path / "t.csv"),
            *self.WEIGHED,
        )  # fmt: skip
        assert outcome.exit_code == 1
        assert dropped[0] in outcome.stderr

    def test_refusals(self, model, loans):
        assert "give the table" in refused("verify", model, "--target", "outcome")
        assert "needs --target" in refused("verify", model, loans, "--weight-column", "weight")
        assert "target column 'bad'" in refused("verify", model, loans, "--target", "bad")
        line = refused("verify", model, loans, "--target", "branch")
        assert "'001' is not a class; the classes are bad, good" in line


def test_the_frontier_as_json(tmp_path):
    document = stored("chosen").document
    found = json.loads(good("frontier", write(document, tmp_path), "--json"))
    selection = document["training"]["selection"]
    assert [p["miu"] for p in found["points"]] == [at["miu"] for at in selection["frontier"]]
    assert found["null_deviance"] == selection["null_deviance"]
    assert sum(p["chosen"] for p in found["points"]) == 1


@pytest.mark.slow(reason="starts a process of its own")
def test_reading_commands_need_no_learner(model, loans):
    """Neither numba nor scikit-learn nor scipy is imported by what only reads a model."""
    script = f"""
import sys
sys.path.insert(0, {SOURCE!r})
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("numba", "sklearn", "scipy"):
            raise ImportError(name + " is blocked")
sys.meta_path.insert(0, Refuse())
from rpte.cli import app
rows = [{str(model)!r}, {str(loans)!r}]
for arguments in (
    ["show", rows[0]], ["score", *rows], ["explain", *rows, "--row", "1"], ["audit", *rows],
    ["verify", *rows, "--target", "outcome", "--weight-column", "weight"],
    ["compare", rows[0], rows[0], rows[1]],
):
    app(arguments, standalone_mode=False)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


HOSTILE = {
    "formulas": ["=1+1", "@x"],
    "markup": ["[red]a[/red]", "[/] :smile:"],
    "percent": ["%s %d", "{0} {name}"],
    "signs": ["a=b", "--c"],
    "quotes": ['a "b"', "c,d"],
    "lines": ["a\nb", "c"],
    "escape codes": ["a\x1b[31m", "b"],
    "one letter apart": ["x", "X"],
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_names_survive_the_whole_way(kind, tmp_path):
    x = np.random.default_rng(0).normal(size=(60, 2)).round(2)
    names, y = HOSTILE[kind], (x.sum(axis=1) > 0).astype(int)
    table, model = tmp_path / "t.csv", tmp_path / "m.json"
    pd.DataFrame(x, columns=names).assign(y=y).to_csv(table, index=False)
    limit = ("--monotone", f"{names[0]}=increasing")
    good("fit", table, "--target", "y", "-o", model, *QUICK, *limit)
    assert list(load(model).schema.names) == names
    told = good("show", model, width=300) + good("explain", model, table, "--row", 1, width=300)
    assert "\x1b" not in told
    if kind not in ("lines", "escape codes"):
        assert all(name in told for name in names)
    assert "\x1b" not in refused("fit", table, "--target", "z", "-o", model)
    good("verify", model, table, "--target", "y")
    good("score", model, table, "-o", tmp_path / "s.xlsx", "--contributions")
