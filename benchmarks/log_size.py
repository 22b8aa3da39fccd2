"""How large a log of decisions is, beside the table that was decided on.

Run: python benchmarks/log_size.py [--rows 30000] [--tables adult,bank_marketing]

A model is fitted to some rows of each table, decides on all of them with ids, a threshold
and reasons, and the log is replayed. A made table with narrow columns is always among them: it has
the fewest bytes per row. The command ends with status 1 if a log has more than `MOST` times the
bytes of its table (as CSV, without its outcome), or does not replay.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

import data
import rpte

MOST = 5.0
TRAINING = 5000


def made(rows: int, seed: int = 0) -> tuple[pd.DataFrame, pd.Series]:
    """Return a table of ten narrow columns, about twenty bytes a row."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({f"x{i}": rng.integers(0, 10, rows) for i in range(8)})
    X["a"], X["b"] = rng.choice(list("uvw"), rows), rng.choice(list("yn"), rows)
    score = X["x0"] - X["x1"] + 3 * (X["a"] == "u") * (X["x2"] > 5) + X["x3"] * X["x4"] / 10 - 2
    return X, pd.Series(score + rng.normal(0, 3, rows) > 0)


def tables(names: list[str], rows: int) -> dict[str, tuple[pd.DataFrame, pd.Series]]:
    """Return the made table and those of the stored ones that are there, repeated to the rows."""
    found = {"made": made(rows)}
    for name in names:
        try:
            X, y = data.read(f"panel/{name}")
        except FileNotFoundError as error:
            print(f"left out: {error}")
            continue
        again = np.resize(np.arange(len(X)), rows)
        found[name] = (X.iloc[again].reset_index(drop=True), y.iloc[again].reset_index(drop=True))
    return found


def measured(X: pd.DataFrame, y: pd.Series, folder: Path) -> dict[str, float]:
    """Return the bytes of table and log, and whether the log replays."""
    model = rpte.RPTEClassifier(l1="4/n").fit(X[:TRAINING], y[:TRAINING]).model_
    table, log = folder / "table.csv", folder / "log.jsonl"
    X.to_csv(table, index=False)
    cells = rpte.read_table(table, schema=model.schema)
    rule = rpte.reason_rule(model, threshold=0.5)
    begun = time.perf_counter()
    done = rpte.append_decisions(log, model, cells, rule, ids=range(1, len(X) + 1), replace=True)
    seconds = time.perf_counter() - begun
    sizes = {"table": table.stat().st_size, "log": log.stat().st_size}
    found = rpte.replay(log, model, done.head)
    return {
        **sizes,
        "times": sizes["log"] / sizes["table"],
        "variables": len({s for c in model.components for s in c.sources}),
        "findings": len(found.findings),
        "seconds": seconds,
    }


def main() -> int:
    """Measure the tables and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=30_000)
    parser.add_argument("--tables", default="adult,bank_marketing,nycflights_late30")
    options = parser.parse_args()
    failed = False
    print("table,rows,variables read,table bytes,log bytes,times,findings of replay,seconds")
    for name, (X, y) in tables(options.tables.split(","), options.rows).items():
        with tempfile.TemporaryDirectory() as folder:
            found = measured(X, y, Path(folder))
        failed |= found["times"] >= MOST or found["findings"] > 0
        shown = [f"{found[key]:.0f}" for key in ("variables", "table", "log")]
        shown += [f"{found['times']:.2f}", f"{found['findings']:.0f}", f"{found['seconds']:.1f}"]
        print(",".join([name, str(options.rows), *shown]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
