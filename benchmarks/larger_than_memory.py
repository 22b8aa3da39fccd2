"""A table that does not fit in memory: made as Parquet, fitted from its files, measured.

The table is that of `benchmarks/growth.py`, its numbers and products, made row group by row group,
so that making it takes no memory either. The fit runs in a process of its own; the script tells
its largest resident memory (VmHWM), what it wrote to disk, the time per row, and that of a fit in
memory of fewer rows, which may not be much less.

Run: python benchmarks/larger_than_memory.py [--rows 50000000] [--columns 20] [--folder /tmp/rows]
     [--memory-rows 5000000] [--jobs 1] [--gigabytes 3] [--keep]
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

FILE_ROWS, GROUP_ROWS = 5_000_000, 250_000
SLOWER = 1.3  # time per row, of that in memory
GIGABYTE = 1e9


def group(number: int, rows: int, columns: int) -> dict[str, np.ndarray]:
    """Return the columns of one row group, and its labels."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((rows, columns))
    X[:, 1::5] = np.exp(X[:, 1::5])
    X[:, 2::5] = np.round(3 * X[:, 2::5])
    bends = -1.6 * np.maximum(X[:, 5] - 0.3, 0) + 0.5 * np.abs(X[:, 8]) + 0.7 * (X[:, 2] > 1)
    products = 0.6 * X[:, 3] * X[:, 4] - 0.4 * X[:, 9] * (X[:, 10] > 0)
    score = X[:, 0] + 0.5 * np.log(X[:, 1]) + bends + products - 1.0
    bad = rng.random(rows) < 1.0 / (1.0 + np.exp(-score))
    return {**{f"x{k}": X[:, k] for k in range(columns)}, "bad": bad.astype(np.int8)}


def make(folder: Path, rows: int, columns: int) -> None:
    """Write the table, a row group at a time."""
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir(parents=True, exist_ok=True)
    for low in range(0, rows, FILE_ROWS):
        path, writer = folder / f"rows{low // FILE_ROWS:03d}.parquet", None
        for start in range(low, min(low + FILE_ROWS, rows), GROUP_ROWS):
            count = min(GROUP_ROWS, rows - start)
            table = pa.table(group(start // GROUP_ROWS, count, columns))
            writer = writer or parquet.ParquetWriter(path, table.schema, compression="none")
            writer.write_table(table)
        writer.close()


def status(name: str) -> float:
    """Return a line of /proc/self/status in gigabytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name)) / GIGABYTE


class Disk:
    """Watches how much a folder holds at most."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.most, self.ended = folder, 0.0, threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()

    def _watch(self) -> None:
        while not self.ended.wait(0.2):
            sizes = []
            for path in self.folder.rglob("*"):
                try:
                    sizes.append(path.stat().st_size)
                except OSError:  # removed meanwhile
                    continue
            self.most = max(self.most, sum(sizes) / GIGABYTE)

    def end(self) -> float:
        """Stop watching; return the most gigabytes."""
        self.ended.set()
        self.thread.join()
        return self.most


def warm(jobs: int) -> None:
    """Load the kernels."""
    from rpte import RPTEClassifier

    table = group(0, 1200, 12)
    y = table.pop("bad")
    RPTEClassifier(n_jobs=jobs).fit(table, y)


def fit_files(folder: Path, cache: Path, jobs: int) -> dict[str, Any]:
    """Return what a fit of files took, and what was estimated beforehand."""
    from rpte import RPTEClassifier

    warm(jobs)
    clf = RPTEClassifier(n_jobs=jobs)
    cost = clf.estimate_cost(str(folder), y="bad")
    disk, stages = Disk(cache), [("", 0.0)]

    def tell(now: Any) -> None:
        if now.stage != stages[-1][0]:
            stages.append((now.stage, now.seconds))

    cpu, wall = time.process_time(), time.perf_counter()
    clf.fit(str(folder), y="bad", cache_dir=cache, progress=tell)
    taken = {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    ends = [seconds for _, seconds in stages[2:]] + [taken["wall"]]
    named = {stage: round(end - at, 1) for (stage, at), end in zip(stages[1:], ends, strict=True)}
    sizes = {"resident": status("VmHWM"), "disk": disk.end(), "left": len([*cache.iterdir()])}
    return {**taken, **sizes, "stages": named, "cost": asdict(cost), "miu": clf.model_.audit().miu}


def fit_memory(rows: int, columns: int, jobs: int) -> dict[str, float]:
    """Return what a fit in memory took."""
    from rpte import RPTEClassifier

    warm(jobs)
    parts = [group(k, GROUP_ROWS, columns) for k in range(-(-rows // GROUP_ROWS))]
    table = {name: np.concatenate([part[name] for part in parts])[:rows] for name in parts[0]}
    del parts
    y = table.pop("bad")
    cpu, wall = time.process_time(), time.perf_counter()
    RPTEClassifier(n_jobs=jobs).fit(table, y)
    return {"cpu": time.process_time() - cpu, "wall": time.perf_counter() - wall}


def alone(*arguments: Any) -> dict[str, Any]:
    """Run one measurement in a process of its own."""
    command = [sys.executable, __file__, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Make the table, fit it, and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=50_000_000)
    parser.add_argument("--columns", type=int, default=20)
    parser.add_argument("--folder", type=Path, default=Path("/tmp/rpte_rows"))
    parser.add_argument("--memory-rows", type=int, default=5_000_000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--gigabytes", type=float, default=3.0)
    parser.add_argument("--keep", action="store_true", help="keep the files for the next run")
    given = parser.parse_args()
    files, cache = given.folder / f"{given.rows}x{given.columns}", given.folder / "cache"
    if not files.is_dir():
        make(files, given.rows, given.columns)
    cache.mkdir(exist_ok=True)
    found = alone("files", files, cache, given.jobs)
    short = alone("memory", given.memory_rows, given.columns, given.jobs)
    if not given.keep:
        shutil.rmtree(given.folder)
    per_row = {kind: 1e6 * found[kind] / given.rows for kind in ("cpu", "wall")}
    before = {kind: 1e6 * short[kind] / given.memory_rows for kind in ("cpu", "wall")}
    print(json.dumps(found, indent=2))
    print(
        f"{given.rows:,} x {given.columns} from files: {found['wall']:.0f} s, resident "
        f"{found['resident']:.2f} GB (limit {given.gigabytes:g}), disk {found['disk']:.2f} GB"
    )
    for kind in ("cpu", "wall"):
        ratio = per_row[kind] / before[kind]
        print(
            f"{kind}: {per_row[kind]:.2f} us a row, {before[kind]:.2f} in memory at "
            f"{given.memory_rows:,} rows: {ratio:.2f} times (limit {SLOWER})"
        )
    if found["resident"] > given.gigabytes or found["left"]:
        raise SystemExit("too much memory, or files left in the cache")


if __name__ == "__main__":
    if sys.argv[1:2] == ["files"]:
        print(json.dumps(fit_files(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))))
    elif sys.argv[1:2] == ["memory"]:
        print(json.dumps(fit_memory(*map(int, sys.argv[2:5]))))
    else:
        main()
