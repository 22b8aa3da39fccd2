"""Units end to end: run, kill and resume, failures, and the same tables from a Dask cluster."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
from made_sets import ROOT

from experiments import run as running
from experiments.data import load, splits
from experiments.kinds import KINDS, needs, planned
from experiments.protocol import Unit
from experiments.results import KEY, Results, check, consolidate, known_records, read_units
from experiments.run import Runner
from experiments.store import Store, fingerprint

SMALL = [
    Unit("performance", table, model, split)
    for model in ("l1_logistic", "lightgbm")
    for table in ("lupus", "haberman")
    for split in (0, 1)
]
TIMES = ["tuning_seconds", "fit_seconds", "predict_seconds", "made"]


def carried_out(folder, place, units=SMALL, **changes):
    store = Store(place / "units")
    Runner(str(folder), store, **changes).run(units)
    consolidate(store, place / "results")


@pytest.fixture(scope="module")
def whole(folder, tmp_path_factory):
    """A finished run: units and results; copy it before you change it."""
    place = tmp_path_factory.mktemp("whole")
    carried_out(folder, place)
    return place


@pytest.fixture
def finished(whole, tmp_path):
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True)
    return tmp_path


def table_of(place):
    return read_units(place / "results").drop(columns=TIMES)


def command(folder, place, *more):
    names = "l1_logistic,lightgbm"
    return [
        *(sys.executable, "-m", "experiments", "run", "--data", str(folder), "--models", names),
        *("--sets", "lupus,haberman", "--splits", "0-1", "--units", str(place / "units")),
        *("--results", str(place / "results"), *more),
    ]


@pytest.mark.slow(reason="eight units, each tuned by cross-validation")
def test_a_small_run_gives_complete_results(folder, whole):
    units = table_of(whole)
    assert len(units) == 8
    assert set(units["status"]) == {"done"}
    assert units["auc"].between(0, 1).all()
    assert check(whole / "results") == []
    results = Results(whole / "results")
    assert results.counts().loc["lupus", "lightgbm"] == 2
    assert len(results.folds("lupus", "l1_logistic", "miu")) == 2
    held = results.scores_of("lupus", "lightgbm")
    test = splits(load("lupus", str(folder)))[0][1]
    assert sorted(held.loc[held["split"] == 0, "row"]) == sorted(test)


@pytest.mark.slow(reason="two processes: one that is killed, one that resumes")
def test_a_killed_run_is_resumed_and_gives_the_same_tables(folder, tmp_path, whole):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    first = subprocess.Popen(
        command(folder, tmp_path), cwd=ROOT, env=environment, stdout=subprocess.DEVNULL
    )
    units = tmp_path / "units"
    deadline = time.monotonic() + 600
    while not list(units.rglob("*.json")) and time.monotonic() < deadline:
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.wait()
    done = {path: path.stat().st_mtime_ns for path in units.rglob("*.json")}
    assert 0 < len(done) < 8
    assert all(json.loads(path.read_text())["status"] == "done" for path in done)
    again = subprocess.run(
        command(folder, tmp_path), cwd=ROOT, env=environment, capture_output=True, check=True
    )
    assert again.returncode == 0
    assert {path: path.stat().st_mtime_ns for path in done} == done
    consolidate(Store(units), tmp_path / "results")
    pd.testing.assert_frame_equal(table_of(tmp_path), table_of(whole))


@pytest.mark.slow(reason="starts a cluster")
def test_a_dask_cluster_gives_the_same_tables(folder, tmp_path, whole):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        carried_out(folder, tmp_path, SMALL[::4], engine="dask", scheduler=address)
    same = table_of(whole).merge(table_of(tmp_path)[KEY], on=KEY)
    pd.testing.assert_frame_equal(table_of(tmp_path), same)


@pytest.mark.slow(reason="starts two processes")
def test_two_processes_give_the_same_tables(folder, tmp_path, whole):
    carried_out(folder, tmp_path, SMALL[:2], jobs=2)
    same = table_of(whole).merge(table_of(tmp_path)[KEY], on=KEY)
    pd.testing.assert_frame_equal(table_of(tmp_path), same)


def test_a_failure_is_recorded_and_tried_again(folder, tmp_path, monkeypatch):
    store, unit = Store(tmp_path / "units"), SMALL[0]

    def broken(unit, data):
        raise ValueError("no such luck")

    monkeypatch.setitem(running.KINDS, "performance", broken)
    Runner(str(folder), store).run([unit])
    record = store.read(unit)
    assert record["status"] == "failed"
    assert record["error"].startswith("ValueError: no such luck")
    monkeypatch.undo()
    Runner(str(folder), store).run([unit])
    assert store.read(unit)["status"] == "done"


@pytest.mark.slow(reason="fits every family of models")
def test_what_is_committed_is_not_done_again_unless_its_sources_changed(folder, finished):
    known = known_records(finished / "results")
    runner = Runner(str(folder), Store(finished / "none"), known=known)
    assert all(runner.is_done(unit) for unit in SMALL)
    runner.again = True
    assert all(runner.is_done(unit) for unit in SMALL)
    known[SMALL[0]]["sources"] = "older"
    assert [runner.is_done(unit) for unit in SMALL] == [False, *[True] * 7]


def test_results_grow_and_a_new_unit_takes_the_place_of_the_old(finished):
    record = Store(finished / "units").read(SMALL[0])
    other = Store(finished / "other")
    other.write(SMALL[0], {**record, "auc": 0.25})
    consolidate(other, finished / "results")
    units = read_units(finished / "results")
    assert len(units) == 8
    mine = units[(units["model"] == "l1_logistic") & (units["table"] == "lupus")]
    assert mine["auc"].tolist()[0] == 0.25
    assert check(finished / "results") == []
    assert not units.duplicated(KEY).any()


def test_check_sees_a_changed_file(finished):
    path = finished / "results" / "units.csv"
    path.write_text(
        path.read_text().replace("l1_logistic,1,nested,done", "l1_logistic,1,nested,gone")
    )
    assert any("checksum" in line for line in check(finished / "results"))


def test_ablations_are_given_what_was_tuned_on_the_same_split():
    unit = Unit("ablation", "lupus", "hug", 3)
    assert needs([unit]) == [Unit("performance", "lupus", "rpte_paper", 3)]
    assert needs([Unit("substitutes", "lupus", "rpte", 0)]) == []
    assert set(KINDS) == {"performance", "ablation", "alignment", "substitutes"}


def test_what_takes_too_long_is_planned_with_fixed_settings():
    units = [Unit("performance", "eeg_seizure", "ebm", split) for split in range(5)]
    fixed = [Unit("performance", "eeg_seizure", "ebm", split, "fixed") for split in range(3)]
    assert planned(units) == fixed
    small = [Unit("performance", "lupus", model, 1) for model in ("ebm", "figs_100", "rpte")]
    assert planned(small) == [small[0], small[2]]


def test_fingerprints_differ_by_what_a_unit_depends_on():
    kinds = ("ours", "peer", "rules", "ablation", "alignment", "substitutes")
    assert len({fingerprint(kind) for kind in kinds}) == len(kinds)
