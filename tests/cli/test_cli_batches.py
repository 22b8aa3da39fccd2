"""`rpte fit` and `rpte score` of tables that are read in batches."""

import signal
import subprocess
import time

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyarrow", reason="tables in batches need pyarrow, the extra 'files'")

from command_tables import SECONDS, refused, run, started
from rpte import load
from rpte.cli import in_batches as batches
from rpte.rows import files

N = 900


def good(*arguments):
    """Run a command that works; return what it says on both streams."""
    done = run(*arguments)
    assert done.exit_code == 0, done.output
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return three files of a table, and the whole of it."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(N, 3)), columns=list("abc"))
    table["town"] = rng.choice(["x", "y", "z"], N)
    table["case"] = [f"case {i}" for i in range(N)]
    table["times"] = rng.choice([1.0, 2.0], N)
    score = 2 * table["a"] - table["b"].abs() + (table["town"] == "x")
    table["bad"] = np.where(rng.random(N) < 1 / (1 + np.exp(-score)), "yes", "no")
    found = tmp_path_factory.mktemp("batches")
    (found / "parts").mkdir()
    for number in range(3):
        some = table.iloc[number * N // 3 : (number + 1) * N // 3]
        some.to_parquet(found / "parts" / f"part{number}.parquet", row_group_size=70)
    table.to_parquet(found / "whole.parquet")
    return found


OPTIONS = ["--target", "bad", "--id-column", "case", "--weight-column", "times", "--l1", "0.01"]


def parts(folder):
    return sorted((folder / "parts").iterdir())


@pytest.fixture(scope="module")
def model(folder):
    good("fit", folder / "whole.parquet", *OPTIONS, "--folds", "0", "-o", folder / "model.json")
    return folder / "model.json"


def test_files_a_folder_and_a_pattern_give_the_model_of_one_file(folder, model, tmp_path):
    for tables in (parts(folder), [folder / "parts"], [f"{folder}/parts/*.parquet"]):
        made = tmp_path / "model.json"
        said = good("fit", *tables, *OPTIONS, "-o", made, "--cache-dir", tmp_path)
        assert "900 rows in files, bad no in" in said.stdout
        assert "Next: rpte show" in said.stdout
        assert "verify" not in said.stdout
        assert made.read_bytes() == model.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]


def test_one_large_file_is_read_in_batches(folder, model, tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "LARGE_FILE", 1_000)
    said = good("fit", folder / "whole.parquet", *OPTIONS, "-o", tmp_path / "model.json")
    assert "rows in files" in said.stdout
    assert "no estimate: the table is read in batches" in said.stderr
    assert (tmp_path / "model.json").read_bytes() == model.read_bytes()


def test_rows_without_outcome_are_left_out_when_asked(folder, tmp_path):
    table = pd.read_parquet(folder / "whole.parquet")
    table.loc[[3, 500], "bad"] = None
    table.iloc[:450].to_parquet(tmp_path / "a.parquet")
    table.iloc[450:].to_parquet(tmp_path / "b.parquet")
    tables = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    error = refused("fit", *tables, *OPTIONS, "-o", tmp_path / "m.json")
    assert "missing in 2 of 900 rows, first in row 4; fill them in, or leave them out" in error
    good("fit", *tables, *OPTIONS, "--drop-unlabelled", "-o", tmp_path / "m.json")
    assert load(tmp_path / "m.json").data["rows"] == table["times"][table["bad"].notna()].sum()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--target", "bda"], "the target column 'bda' is not in the table (did you mean 'bad'?)"),
        (["--target", "town", "--task", "binary"], "the target 'town' holds 3 values"),
        ([*OPTIONS, "--id-column", "cse"], "column 'cse' is not in the table"),
    ],
)
def test_what_is_refused(folder, tmp_path, given, message):
    assert message in refused("fit", *parts(folder), *given, "-o", tmp_path / "m.json")


def test_several_csv_files_are_refused(tmp_path):
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("x,bad\n1,0\n")
    tables = [tmp_path / "a.csv", tmp_path / "b.csv"]
    assert "is no Parquet file" in refused(
        "fit", *tables, "--target", "bad", "-o", tmp_path / "m.json"
    )


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_scores_in_batches_are_those_of_the_whole(folder, model, tmp_path, monkeypatch, ending):
    monkeypatch.setattr(files, "BATCH_ROWS", 64)
    whole, found = tmp_path / f"whole.{ending}", tmp_path / f"found.{ending}"
    more = ["--class", "--contributions"]
    for ids in ([], ["--id-column", "case"]):
        good("score", model, folder / "whole.parquet", *ids, *more, "-o", whole)
        said = good("score", model, *parts(folder), *ids, *more, "-o", found)
        assert f"Wrote {found}: 900 rows" in said.stderr
        read = pd.read_parquet if ending == "parquet" else pd.read_csv
        pd.testing.assert_frame_equal(read(found), read(whole))


def test_unknown_levels_are_judged_over_all_batches(folder, model, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "BATCH_ROWS", 64)
    table = pd.read_parquet(folder / "whole.parquet")
    assert "town" in load(model).sources
    strange = tmp_path / "strange"
    strange.mkdir()
    table.assign(town=np.where(np.arange(N) < 100, "new", table["town"])).to_parquet(
        strange / "some.parquet"
    )
    said = good("score", model, strange, "-o", tmp_path / "some.csv")
    assert "100 of 900 cells hold a level that training did not have" in said.stderr
    table.assign(town="new").to_parquet(strange / "some.parquet")
    error = refused("score", model, strange, "-o", tmp_path / "all.csv")
    assert "most of the column" in error
    assert not (tmp_path / "all.csv").exists()
    good("score", model, strange, "--allow-unknown", "-o", tmp_path / "all.csv")


def test_scores_in_batches_need_a_file(folder, model):
    assert "name it with -o" in refused("score", model, *parts(folder))


def test_no_table_is_written_over(folder, model):
    assert "would be written over" in refused(
        "score", model, *parts(folder), "-o", parts(folder)[1]
    )


@pytest.mark.slow(reason="a process must be at work on a table that is large enough to interrupt")
def test_an_interrupt_leaves_nothing_on_disk(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400_000, 20)), columns=[f"x{k}" for k in range(20)])
    table["bad"] = (table["x0"] + rng.normal(size=len(table)) > 0).astype(int)
    cache = tmp_path / "cache"
    cache.mkdir()
    table.to_parquet(tmp_path / "a.parquet")
    table.iloc[:9].to_parquet(tmp_path / "b.parquet")
    names = [str(tmp_path / f"{name}.parquet") for name in "ab"]
    asked = ("--target", "bad", "-o", tmp_path / "m.json", "--cache-dir", cache)
    with started("fit", *names, *asked, stderr=subprocess.PIPE) as process:
        end = time.monotonic() + SECONDS
        while not [*cache.rglob("blocks")] and time.monotonic() < end:
            time.sleep(0.01)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 130
    assert [*cache.iterdir()] == []
    assert not (tmp_path / "m.json").exists()
