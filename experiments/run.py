"""Carrying units out: in this process, with joblib, or on a Dask cluster; the tables are the same.

A unit is computed anywhere and written here, so workers need no common disk. What is already there
and rests on the same sources is not done again; a failure is kept with its error and tried again
in the next run.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from threadpoolctl import threadpool_limits

from experiments.data import DataSet, load
from experiments.kinds import KINDS, depends_on, needs
from experiments.protocol import Unit
from experiments.store import Store, fingerprint, package

Record = dict[str, Any]
Job = tuple[Unit, DataSet, Record]


def work(unit: Unit, data: DataSet, given: Record) -> Record:
    """Carry a unit out on one thread; an error becomes part of the record."""
    kind, packages = depends_on(unit)
    about = {
        "made": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "sources": fingerprint(kind),
        "data": data.hash(),
        "packages": [package(name) for name in packages],
    }
    try:
        with threadpool_limits(1):
            return {"status": "done", **about, **KINDS[unit.what](unit, data, **given)}
    except Exception as error:  # recorded, never dropped
        trace = traceback.format_exc(limit=-4)
        return {"status": "failed", **about, "error": f"{type(error).__name__}: {error}\n{trace}"}


@dataclass
class Runner:
    """Units, where they are kept, and with what they are carried out.

    Parameters
    ----------
    source : str
        Where data come from.
    known : mapping
        Records that are committed already, by unit.
    engine : {"joblib", "dask"}
    scheduler : str, optional
        Address of a Dask scheduler; a local cluster of `jobs` processes if None.
    """

    source: str
    store: Store
    jobs: int = 1
    engine: str = "joblib"
    scheduler: str | None = None
    known: dict[Unit, Record] = field(default_factory=dict)
    again: bool = False
    loaded: dict[str, DataSet] = field(default_factory=dict)

    def record(self, unit: Unit) -> Record | None:
        """Return what is known of a unit."""
        return self.store.read(unit) or self.known.get(unit)

    def is_done(self, unit: Unit) -> bool:
        """Tell whether a unit is there and rests on the sources as they are now."""
        record = self.record(unit)
        if record is None or record["status"] != "done":
            return False
        return not self.again or record["sources"] == fingerprint(depends_on(unit)[0])

    def run(self, units: list[Unit]) -> None:
        """Carry out what is missing; first what others need."""
        first = [unit for unit in dict.fromkeys(needs(units)) if not self.is_done(unit)]
        if first:
            self._run(first)
        self._run([unit for unit in units if not self.is_done(unit)])

    def _run(self, units: list[Unit]) -> None:
        columns = (TextColumn("{task.description:56}"), BarColumn(), MofNCompleteColumn())
        with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn()) as progress:
            bar = progress.add_task("", total=len(units))
            for unit, record in self._engine()(self._jobs(units)):
                self.store.write(unit, record)
                failed = " FAILED" if record["status"] == "failed" else ""
                label = f"{unit.table} {unit.model} {unit.split}{failed}"
                progress.update(bar, advance=1, description=label)

    def _jobs(self, units: list[Unit]) -> Iterator[Job]:
        for unit in units:
            if unit.table not in self.loaded:
                self.loaded = {unit.table: load(unit.table, self.source)}
            given = {need.model: self.record(need) for need in needs([unit])}
            yield unit, self.loaded[unit.table], {"given": given} if given else {}

    def _engine(self) -> Callable[[Iterator[Job]], Iterator[tuple[Unit, Record]]]:
        if self.engine == "dask":
            return self._dask
        return self._here if self.jobs == 1 else self._joblib

    def _here(self, jobs: Iterator[Job]) -> Iterator[tuple[Unit, Record]]:
        for unit, data, given in jobs:
            yield unit, work(unit, data, given)

    def _joblib(self, jobs: Iterator[Job]) -> Iterator[tuple[Unit, Record]]:
        from joblib import Parallel, delayed

        pool = Parallel(n_jobs=self.jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")
        yield from pool(delayed(_with_unit)(*job) for job in jobs)

    def _dask(self, jobs: Iterator[Job]) -> Iterator[tuple[Unit, Record]]:
        from distributed import Client, as_completed

        local = {"n_workers": self.jobs, "threads_per_worker": 1, "dashboard_address": None}
        with Client(self.scheduler) if self.scheduler else Client(**local) as client:
            _check_cluster(client)
            ahead = max(2 * len(client.scheduler_info()["workers"]), 2)
            waiting = as_completed([])
            for number, job in enumerate(jobs):
                waiting.add(client.submit(_with_unit, *job, pure=False))
                if number >= ahead:
                    yield next(waiting).result()
            for future in waiting:
                yield future.result()


def _check_cluster(client: Any) -> None:
    """Refuse a cluster that could not carry a unit out, before any is sent."""
    for who, ask in (("scheduler", client.run_on_scheduler), ("worker", client.run)):
        try:
            ask(import_module, "experiments.run")
        except ImportError as error:
            raise ValueError(
                f"the Dask {who} cannot import experiments ({error}); start scheduler and workers "
                "in the root of the repository with PYTHONPATH=. and [experiments] installed"
            ) from error


def _with_unit(unit: Unit, data: DataSet, given: Record) -> tuple[Unit, Record]:
    return unit, work(unit, data, given)
