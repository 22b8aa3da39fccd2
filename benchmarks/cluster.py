"""Fits on a dask cluster of one machine: seconds, and bytes that move, by number of workers.

Run `python benchmarks/cluster.py --rows 1000000 --workers 1 2`. Each cluster has processes of one
thread. The table is made on the workers, partition by partition, and stays there; bytes are those
that the workers' own counters say they have sent to each other, and those of all results that came
to the client (pickled). The models must be equal to the last bit.
"""

from __future__ import annotations

import argparse
import pickle
import time
from pathlib import Path
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client, LocalCluster

from rpte.dask import RPTEClassifier
from rpte.dask.blocks import Session
from rpte.model.file import to_text

RESULTS = Path(__file__).parent / "results" / "cluster.csv"


def partition(number: int, n_rows: int, n_columns: int) -> pd.DataFrame:
    """Return some rows of numbers, a category, and an outcome that depends on some of them."""
    rng = np.random.default_rng(number)
    numbers = rng.normal(size=(n_rows, n_columns - 1))
    table = pd.DataFrame(numbers, columns=[f"x{k}" for k in range(n_columns - 1)])
    table["town"] = rng.choice([f"town {k}" for k in range(30)], n_rows)
    score = numbers[:, :4] @ [1.0, -0.7, 0.4, 0.3] + (table["town"] < "town 2") - 0.5
    score += np.maximum(numbers[:, 4], 0.3) * numbers[:, 5]
    table["bad"] = rng.random(n_rows) < 1 / (1 + np.exp(-score))
    return table


def sent_bytes(dask_worker: Any) -> int:
    """Return how many bytes a worker has sent to others."""
    return int(dask_worker.transfer_outgoing_bytes_total)


def peak_memory() -> float:
    """Return the most memory that a process has held, in MB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(workers: int, rows: int, columns: int, partitions: int) -> dict[str, Any]:
    """Fit on a cluster of some workers."""
    came: list[int] = []
    whole = Session.result

    def counted(self: Session, *given: Any) -> Any:
        found = whole(self, *given)
        came.append(len(pickle.dumps(found)))
        return found

    Session.result = counted  # type: ignore[method-assign]
    try:
        with (
            LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as made,
            Client(made) as client,
        ):
            size = rows // partitions
            X = dd.from_map(partition, range(partitions), n_rows=size, n_columns=columns).persist()
            held = int(X.memory_usage(index=False).sum().compute())
            warm = dd.from_map(partition, range(2), n_rows=20_000, n_columns=columns)
            RPTEClassifier(client).fit(warm, "bad")  # kernels are compiled or loaded
            del came[:]
            before = sum(client.run(sent_bytes).values())
            start = time.perf_counter()
            clf = RPTEClassifier(client).fit(X, "bad")
            seconds = time.perf_counter() - start
            moved = sum(client.run(sent_bytes).values()) - before
            peak = max(client.run(peak_memory).values())
    finally:
        Session.result = whole  # type: ignore[method-assign]
    return {
        "rows": rows,
        "columns": columns,
        "partitions": partitions,
        "workers": workers,
        "seconds": round(seconds, 1),
        "table_mb": round(held / 1e6, 1),
        "between_workers_mb": round(moved / 1e6, 2),
        "to_client_mb": round(sum(came) / 1e6, 2),
        "results_fetched": len(came),
        "worker_peak_mb": round(peak),
        "terms": clf.model_.audit().mu,
        "model": to_text(clf.model_),
    }


def main() -> None:
    """Measure and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--partitions", type=int, default=16)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--output", type=Path, default=RESULTS)
    given = parser.parse_args()
    found = []
    for workers in given.workers:
        found.append(measure(workers, given.rows, given.columns, given.partitions))
        print({name: value for name, value in found[-1].items() if name != "model"}, flush=True)
    models = {each.pop("model") for each in found}
    assert len(models) == 1, "workers have changed the model"
    pd.DataFrame(found).to_csv(given.output, index=False)


if __name__ == "__main__":
    main()
