"""`rpte fit`, as a user meets it: real tables, limits, interruption, and what is refused."""

import json
import os
import signal
import subprocess
import time

import numpy as np
import pandas as pd
import pytest

from command_tables import (
    CREDIT,
    QUICK,
    SECONDS,
    credit,
    good,
    refused,
    run,
    started,
    write_csv,
)
from data_folder import DATA, needs_data
from rpte import Progress, load
from rpte.table.files import read_table


@pytest.fixture(scope="module")
def loans(tmp_path_factory):
    return write_csv(credit(), tmp_path_factory.mktemp("loans") / "loans.csv")


@pytest.fixture(scope="module")
def quick(loans, tmp_path_factory):
    """Return the file of the model that a quick fit gives."""
    model = tmp_path_factory.mktemp("quick") / "m.json"
    good("fit", loans, *CREDIT, "-o", model, *QUICK)
    return model


def test_a_table_becomes_a_model_and_an_estimate(loans, tmp_path):
    """The command, on a table of a spreadsheet: semicolons, BOM, codes, gaps."""
    model = tmp_path / "model.json"
    done = run("fit", loans, *CREDIT, "-o", model, "--l1", "4/n", "--folds", "3")
    assert done.exit_code == 0, done.stderr
    assert "note:" not in done.stderr
    assert "\x1b" not in done.stderr  # no progress where no one watches
    assert "mining" not in done.stderr
    first, second, third, *measures, last = done.stdout.splitlines()
    assert first.startswith(f"Read {loans}: 400 rows, outcome bad in ")
    assert first.endswith("; 5 variables.")
    fitted = load(model)
    assert f"{fitted.audit().miu} conditions" in second
    assert "3-fold" in third
    assert [m.split()[0] for m in measures] == ["AUC", "log-loss", "Brier", "conditions"]
    assert 0.6 < float(measures[0].split()[1]) < 1
    assert last.startswith(f"Next: rpte show {model}; rpte verify {model} {loans} --target outcome")
    assert last.endswith("--weight-column weight")
    shown = fitted.training["cross_validation"]["auc"]["mean"]
    assert float(measures[0].split()[1]) == pytest.approx(shown, abs=1e-4)
    assert fitted.classes[fitted.positive] == "bad"
    assert set(fitted.schema.names) == {"age", "income [EUR]", "job", "branch", "debts"}
    assert fitted.schema["age"].levels == ("-9", "unknown")
    assert fitted.schema["age"].kind == "number"
    assert fitted.schema["branch"].levels == ("001", "007", "012")
    assert fitted.training["rows"] == credit()["weight"].sum()


def test_the_model_is_that_of_the_library(quick, tmp_path):
    from rpte import RPTEClassifier

    frame = credit()
    names = ["age", "income [EUR]", "job", "branch", "debts"]
    made = RPTEClassifier(l1="4/n", positive="bad", special_values={"age": [-9, "unknown"]})
    made.fit(frame[names], frame["outcome"], frame["weight"])
    made.save(tmp_path / "n.json")
    assert json.loads(good("compare", quick, tmp_path / "n.json", "--json"))["same"]


def test_every_option_reaches_the_learner(loans, tmp_path):
    model = tmp_path / "m.json"
    asked = (
        *("--monotone", "debts=increasing", "--linear-only", "income [EUR]"),
        *("--together", "age,debts", "--penalty", "job=2", "--ownership", "strict"),
        *("--max-component-sources", 3, "--audit-price", 0.001, "--l1", 0.02, "--balanced"),
        *("--profile", "none", "--jobs", 1, "--group-column", "branch", "--folds", 0),
    )
    good("fit", loans, *CREDIT, "-o", model, *asked)
    found = load(model)
    assert found.settings["limits"] == {
        "monotone": {"debts": "increasing"},
        "exclude": [],
        "linear_only": ["income [EUR]"],
        "interactions": [["age", "debts"]],
        "penalty": {"job": 2.0},
    }
    wanted = {"ownership": "strict", "max_component_sources": 3, "audit_price": 0.001, "l1": 0.02}
    assert {name: found.settings[name] for name in wanted} == wanted
    assert found.settings["profile"] == "none"
    assert found.training["class_factors"] != [1.0, 1.0]
    assert found.training["validation"]["by"] == "groups"
    assert "branch" not in found.schema.names
    good("fit", loans, *CREDIT, "-o", model, "--paper", "--exclude", "branch", "--folds", 0)
    found = load(model)
    assert (found.settings["conventions"], found.ownership) == ("paper", "paper")
    assert found.settings["limits"]["exclude"] == ["branch"]


def test_a_budget_is_kept(loans, tmp_path):
    model = tmp_path / "m.json"
    good("fit", loans, *CREDIT, "-o", model, "--max-inspection-units", 3, "--folds", 0)
    assert load(model).audit().miu <= 3


def test_json_is_for_machines(loans, tmp_path):
    model = tmp_path / "m.json"
    outcome = run("fit", loans, *CREDIT, "-o", model, "--l1", "4/n", "--folds", 2, "--json")
    told = json.loads(outcome.stdout)
    assert told["conditions"] == load(model).audit().miu
    assert told["hash"] == json.loads(model.read_text())["hash"]
    kept = load(model).training["cross_validation"]
    assert (kept["folds"], kept["by"], kept["rows"]) == (2, "content", 400)
    assert all(kept[name] == told["estimate"][name] for name in ("auc", "log_loss", "brier", "miu"))
    assert len(told["estimate"]["folds"]) == 2
    means = [fold["auc"] for fold in told["estimate"]["folds"]]
    assert told["estimate"]["auc"]["mean"] == pytest.approx(np.mean(means))
    assert sum(fold["rows"] for fold in told["estimate"]["folds"]) == 400


@pytest.mark.parametrize("ending", [".parquet", ".xlsx", ".csv.gz", ".tsv"])
def test_every_format_gives_the_same_model(quick, tmp_path, ending):
    from rpte.table.files import write_table

    frame = credit().astype({"age": str})
    write_table(frame, tmp_path / f"loans{ending}")
    good("fit", tmp_path / f"loans{ending}", *CREDIT, "-o", tmp_path / "b.json", *QUICK)
    found = json.loads(good("compare", quick, tmp_path / "b.json", "--json"))
    assert found["same"], found["models"]


REFUSED = {
    "no such table": (["none.csv"], {}, "none.csv: No such file"),
    "empty": (["empty.csv"], {}, "is empty"),
    "target": ([], {"--target": "Outcom"}, "did you mean 'outcome'?"),
    "three values": (
        [],
        {"--target": "branch", "--task": "binary"},
        "holds 3 values (001, 007, 012); several classes",
    ),
    "many values": (
        [],
        {"--target": "debts", "--task": "binary"},
        "holds 9 values (0, 1, 2, 3, 4, 5, ...)",
    ),
    "gaps": ([], {"--target": "job"}, "rows, first in row"),
    "positive": ([], {"--positive": "Bad"}, "'Bad' is not a class; the classes are bad, good"),
    "weight": ([], {"--weight-column": "job"}, "'job' holds texts; weights are numbers"),
    "gap in weight": ([], {"--weight-column": "income [EUR]"}, "is missing in row"),
    "id": (
        [],
        {"--id-column": "cse"},
        "id column 'cse' is not in the table (did you mean 'case'?)",
    ),
    "group": ([], {"--group-column": "none"}, "group column 'none'"),
    "monotone": ([], {"--monotone": "age"}, "--monotone age: write it as NAME=VALUE"),
    "direction": ([], {"--monotone": "age=up"}, "'increasing' or 'decreasing'"),
    "monotone name": ([], {"--monotone": "agee=increasing"}, "did you mean 'age'?"),
    "category": ([], {"--monotone": "job=increasing"}, "a category; it needs a number"),
    "exclude": ([], {"--exclude": "agee"}, "did you mean 'age'?"),
    "special": ([], {"--special": "=3"}, "--special =3: write it as"),
    "penalty": ([], {"--penalty": "age=much"}, "--penalty: 'much' is not a number"),
    "l1": ([], {"--l1": "much"}, "--l1: 'much' is not a number"),
    "l1 sign": ([], {"--l1": "-1"}, "positive number"),
    "ownership": ([], {"--ownership": "mine"}, "ownership='mine'; it must be one of"),
    "folds": ([], {"--folds": "1"}, "--folds 1: give 0"),
    "budget": ([], {"--max-inspection-units": "3"}, "use l1='cv'"),
    "folder": ([], {"-o": "none/m.json"}, "the folder none does not exist; make it first"),
    "overwrite": (
        [],
        {"-o": "loans.csv"},
        "would be written over loans.csv, which this command reads",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_is_refused_before_any_work(loans, tmp_path, monkeypatch, name):
    table, changes, message = REFUSED[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.csv").touch()
    (tmp_path / "loans.csv").write_bytes(loans.read_bytes())
    given = {"--target": "outcome", "-o": "m.json", "--l1": "4/n", "--folds": "0", **changes}
    assert message in refused("fit", *(table or ["loans.csv"]), *sum(given.items(), ()))
    assert not (tmp_path / "m.json").exists()


def test_rows_without_outcome_may_be_left_out(tmp_path):
    frame = credit(120)
    frame.loc[5:14, "outcome"] = None
    table = write_csv(frame, tmp_path / "t.csv")
    assert "missing in 10 of 120 rows, first in row 6" in refused(
        "fit", table, *CREDIT, "-o", tmp_path / "m.json"
    )
    told = good("fit", table, *CREDIT, "-o", tmp_path / "m.json", *QUICK, "--drop-unlabelled")
    assert "110 rows" in told
    outcome = run("verify", tmp_path / "m.json", table, *CREDIT[:2], *CREDIT[6:8])
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stderr == "note: 10 rows without an outcome are left out\n"


def test_usage_errors_are_code_2(loans):
    for arguments in (
        ["fit"],
        ["fit", loans],
        ["fit", loans, "--target", "x", "-o", "m", "--oops"],
    ):
        assert run(*arguments).exit_code == 2


def test_what_names_cases_is_said(tmp_path):
    frame = credit(60).assign(number=range(60))
    table = write_csv(frame.astype({"case": str}), tmp_path / "t.csv")
    outcome = run("fit", table, "--target", "outcome", "-o", tmp_path / "m.json", *QUICK)
    assert "column 'case' holds a different text in every row" in outcome.stderr
    assert "column 'number' holds the numbers of the rows" in outcome.stderr
    assert "unknown" in outcome.stderr  # among the numbers of age
    told = run("fit", table, *CREDIT, "-o", tmp_path / "m.json", *QUICK, "--exclude", "number")
    assert "'case'" not in told.stderr


def test_what_is_excluded_need_not_be_readable(tmp_path):
    days = pd.date_range("2020-01-01", periods=60)
    frame = credit(60).astype({"age": str}).assign(day=days)
    frame.to_parquet(tmp_path / "t.parquet")
    given = ("fit", tmp_path / "t.parquet", *CREDIT, "-o", tmp_path / "m.json", *QUICK)
    assert "column 'day' holds dates" in refused(*given)
    good(*given, "--exclude", "day")
    assert load(tmp_path / "m.json").settings["limits"]["exclude"] == ["day"]
    verify = ("verify", tmp_path / "m.json", tmp_path / "t.parquet")
    good(*verify, "--target", "outcome", "--weight-column", "weight")


def test_labels_of_any_kind(tmp_path):
    base = credit(80)[["income [EUR]", "debts"]]
    for values, positive in [(["0", "1"], "1"), (["True", "False"], "True"), (["1", "2"], "1")]:
        outcome = np.where(credit(80)["outcome"] == "bad", *values)
        table = write_csv(base.assign(y=outcome), tmp_path / "t.csv", ",")
        arguments = ("--target", "y", "-o", tmp_path / "m.json", "--positive", positive, *QUICK)
        good("fit", table, *arguments)
        assert (
            str(load(tmp_path / "m.json").classes[load(tmp_path / "m.json").positive]) == positive
        )
        good("verify", tmp_path / "m.json", table, "--target", "y")


def test_a_class_too_small_to_hold_out_gives_a_model_without_estimate(tmp_path):
    frame = pd.DataFrame({"x": np.arange(30.0) ** 2, "y": [1] + [0] * 29})
    table = write_csv(frame, tmp_path / "t.csv", ",")
    outcome = run("fit", table, "--target", "y", "-o", tmp_path / "m.json", "--l1", "4/n")
    assert outcome.exit_code == 0, outcome.output
    assert "note: no estimate: one class has fewer than two" in outcome.stderr
    assert load(tmp_path / "m.json")


def test_a_text_that_one_fold_lacks_does_not_stop_the_estimate(tmp_path):
    frame = credit(90)[["debts", "outcome"]].astype({"debts": str})
    frame.loc[0, "debts"] = "many"
    table = write_csv(frame, tmp_path / "t.csv")
    outcome = run(
        *("fit", table, "--target", "outcome", "-o", tmp_path / "m.json"),
        *("--l1", "4/n", "--folds", "3", "--json"),
    )
    assert outcome.exit_code == 0, outcome.output
    assert len(json.loads(outcome.stdout)["estimate"]["folds"]) == 3


def interrupt(arguments, until):
    """Start the command, send Ctrl-C as soon as `until()` holds, and return the outcome."""
    process = started(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + SECONDS
    while not until() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=SECONDS)
    return process.returncode, out, err


@pytest.mark.slow(reason="starts a process of its own and interrupts it")
def test_interrupting_the_estimate_loses_nothing(tmp_path):
    table, model = write_csv(credit(600), tmp_path / "t.csv"), tmp_path / "m.json"
    arguments = ("fit", table, *CREDIT, "-o", model, "--l1", "4/n", "--folds", "500")
    code, _, err = interrupt(arguments, model.exists)
    assert code == 130, err
    assert f"interrupted: {model} is written and complete, only the estimate is missing" in err
    assert "Traceback" not in err
    good("verify", model, table, "--target", "outcome", "--weight-column", "weight")


def test_interrupting_the_fit_writes_nothing(loans, tmp_path, monkeypatch):
    from rpte.cli.fit import Training

    def stop(training, *given):
        raise KeyboardInterrupt

    monkeypatch.setattr(Training, "fit", stop)
    outcome = run("fit", loans, *CREDIT, "-o", tmp_path / "m.json")
    assert outcome.exit_code == 130
    assert outcome.stderr == "interrupted: nothing was written\n"
    assert not list(tmp_path.iterdir())


def watched(arguments, until):
    """Run the command on a terminal, send Ctrl-C once it shows `until`; return code and screen."""
    pty = pytest.importorskip("pty")
    screen, other = pty.openpty()
    shape = {"COLUMNS": "100", "TERM": "xterm"}
    process = started(*arguments, env=shape, stdout=subprocess.DEVNULL, stderr=other)
    os.close(other)
    seen = b""
    while until not in seen and (more := shown(screen)):
        seen += more
    process.send_signal(signal.SIGINT)
    while more := shown(screen):
        seen += more
    os.close(screen)
    return process.wait(timeout=SECONDS), seen.decode(errors="replace")


def shown(screen):
    """Return what a terminal shows next; nothing once the command has ended."""
    try:
        return os.read(screen, 4096)
    except OSError:
        return b""


@pytest.mark.slow(reason="starts a process of its own and interrupts it")
def test_ctrl_c_at_a_terminal_ends_the_fit_with_one_line(tmp_path):
    table, folder = write_csv(credit(990), tmp_path / "t.csv"), tmp_path / "models"
    folder.mkdir()
    arguments = ("fit", table, *CREDIT, "-o", folder / "m.json", "--with-checker", "--folds", 0)
    code, seen = watched(arguments, b"comparing ")
    assert code == 130, seen[-500:]
    assert seen.endswith("interrupted: nothing was written\r\n")
    assert "Traceback" not in seen
    assert not list(folder.iterdir())


def test_codes_hints_and_times_are_said_with_the_options_for_them(tmp_path):
    table = credit().rename(columns={"outcome": "death", "job": "my job"})
    table["time"] = np.arange(len(table)) * 7.5 % 100
    table["late"] = np.where(np.arange(len(table)) % 9, np.arange(len(table)) % 50, -99)
    path = write_csv(table[["my job", "debts", "time", "late", "death"]], tmp_path / "t.csv")
    outcome = run("fit", path, "--target", "death", "-o", tmp_path / "m.json", *QUICK)
    assert outcome.exit_code == 0, outcome.output
    first, *_, second, third = outcome.stderr.splitlines()
    assert first.startswith("note: column 'time' beside the target 'death' looks like the time")
    assert "special_values={'late': [-99]" in outcome.stderr
    assert second.startswith("note: as options: --special late=-99")
    assert third.startswith("hint: 'debts' (0 to 8): few whole numbers")
    declared = ("--special", "late=-99", "--exclude", "time", "-o", tmp_path / "n.json", *QUICK)
    quiet = run("fit", path, "--target", "death", *declared)
    assert "special_values" not in quiet.stderr
    assert "'time'" not in quiet.stderr


def test_other_tasks_are_named(tmp_path):
    table = pd.DataFrame({"x": range(30), "time": np.arange(30) / 3, "event": [0, 1] * 15})
    path = write_csv(table, tmp_path / "t.csv")
    options = ("-o", tmp_path / "m.json", *QUICK)
    assert "is survival analysis" in refused("fit", path, "--target", "time", *options)
    binary = ("--task", "binary", *options)
    assert "use RPTERegressor" in refused("fit", path, "--target", "x", *binary)


def test_progress_is_said_with_the_best_model_so_far():
    from rpte.cli.fit import _progress_text

    assert _progress_text(Progress("mining the vocabulary", 0.1, 2.0)) == "mining the vocabulary"
    told = _progress_text(Progress("comparing trees", 0.6, 9.5, 0.43214, 12))
    assert told == "comparing trees; deviance 0.4321, 12 conditions"


def test_a_limit_of_time_is_kept_and_said(loans, tmp_path):
    model = tmp_path / "m.json"
    arguments = ("fit", loans, *CREDIT, "-o", model, "--max-fit-seconds", 0, "--folds", 2)
    outcome = run(*arguments)
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stderr.startswith("note: max_fit_seconds=0 was used up while mining the vocab")
    assert outcome.stderr.count("note: ") == 1
    stopped = load(model).training["validation"]["stopped"]
    assert stopped["max_fit_seconds"] == 0
    assert "stopped by max_fit_seconds=0 while mining" in good("show", model)
    assert json.loads(good("show", model, "--json"))["stopped"] == stopped
    verify = ("verify", model, loans, "--target", "outcome", "--weight-column", "weight")
    assert "FAILS" not in good(*verify)
    assert "max_fit_seconds=-1.0; it must be a number" in refused(
        "fit", loans, *CREDIT, "-o", model, "--max-fit-seconds", "-1"
    )


def test_the_checker_is_written_beside_the_model(loans, tmp_path):
    from importlib.resources import files

    source = files("rpte") / "check" / "rpte_check.py"
    if not source.is_file():
        pytest.skip("rpte_check.py is not in this version")
    good("fit", loans, *CREDIT, "-o", tmp_path / "m.json", *QUICK, "--with-checker")
    assert (tmp_path / "rpte_check.py").read_bytes() == source.read_bytes()


PANEL = {
    "hepatitis_uci.csv": (),
    "loan_eligibility.csv": (),
    "cylinder_bands.csv": ("--exclude", "timestamp", "--exclude", "job_number"),
    "credit_scoring_spain.csv.gz": (),
    "stroke.csv.gz": (),
}


@pytest.mark.slow(reason="fits real tables with the default settings")
@needs_data
@pytest.mark.parametrize("name", PANEL)
def test_real_tables_from_file_to_verified_model(name, tmp_path):
    table, model = DATA / "panel" / name, tmp_path / "m.json"
    good("fit", table, "--target", "target", "-o", model, *QUICK, *PANEL[name])
    good("verify", model, table, "--target", "target")
    scores = tmp_path / "scores.csv"
    good("score", model, table, "-o", scores, "--contributions")
    found, fitted = read_table(scores), load(model)
    read = pd.read_csv(table)
    assert (found["score"] == fitted.score(read[list(fitted.schema.names)])).all()
    total = found["intercept"]
    for component in fitted.components:
        total = total + found[component.name]
    assert (total == found["score"]).all()
