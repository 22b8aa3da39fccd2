"""How the time of a default fit grows with rows and with columns.

Every size is fitted in a process of its own on one thread, as in `benchmarks/speed.py`, on the same
kind of table; seconds are of the processor, so that other work on the machine counts little. The
exponent is the slope of a line through the logarithms.

Run: python benchmarks/growth.py run [--rows 100000,1000000] [--columns 50,200]
     [--out benchmarks/results/growth.csv]
     python benchmarks/growth.py draw [--picture docs/growth.svg]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd

from speed import header, synthetic

HERE = Path(__file__).parent
OUT = HERE / "results" / "growth.csv"
PICTURE = HERE.parent / "docs" / "growth.svg"
FEW_COLUMNS, FEW_ROWS = 20, 10_000
ROWS = (100_000, 300_000, 1_000_000, 2_000_000, 5_000_000)
COLUMNS = (50, 100, 200, 400, 800)
LIMITS = {"rows": 1.1, "columns": 1.3}
WIDTH, HEIGHT, EDGE = 340, 230, 48


def measure(n: int, p: int) -> float:
    """Return the processor's seconds of one default fit."""
    from rpte import RPTEClassifier

    RPTEClassifier(n_jobs=1).fit(*synthetic(1200, 12))  # loads the kernels
    X, y = synthetic(n, p)
    start = time.process_time()
    RPTEClassifier(n_jobs=1).fit(X, y)
    return time.process_time() - start


def exponent(cells: pd.DataFrame, along: str) -> float:
    """Return the slope of log seconds over the log of the size."""
    slope, _ = np.polyfit(np.log(cells[along]), np.log(cells["seconds"]), 1)
    return float(slope)


def run(arguments: argparse.Namespace) -> None:
    """Measure all sizes and write them."""
    sizes = [("rows", n, FEW_COLUMNS) for n in arguments.rows]
    sizes += [("columns", FEW_ROWS, p) for p in arguments.columns]
    cells = []
    for along, n, p in sizes:
        command = [sys.executable, __file__, "one", str(n), str(p)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        cells.append({"along": along, "rows": n, "columns": p, "seconds": json.loads(done.stdout)})
        print(f"{n} x {p}: {cells[-1]['seconds']:.2f} s", flush=True)
        arguments.out.write_text(header(__file__) + pd.DataFrame(cells).to_csv(index=False))
    print(told(pd.DataFrame(cells)))


def told(cells: pd.DataFrame) -> str:
    """Return the exponents beside their limits."""
    lines = []
    for along, group in cells.groupby("along", sort=False):
        low, high = group[along].min(), group[along].max()
        lines.append(
            f"{low} to {high} {along}: seconds grow with {along} to the power "
            f"{exponent(group, str(along)):.2f} (limit {LIMITS[str(along)]})"
        )
    return "\n".join(lines)


def panel(cells: pd.DataFrame, along: str, left: float) -> str:
    """Return one picture: seconds over the size, both by their logarithms, and the fitted line."""
    x, y = np.log10(cells[along].to_numpy(float)), np.log10(cells["seconds"].to_numpy(float))
    slope, rise = np.polyfit(x, y, 1)
    low, high = np.floor(min(y) * 2) / 2, np.ceil(max(y) * 2) / 2

    def at(a: float, b: float) -> tuple[float, float]:
        across = left + EDGE + (a - x[0]) / (x[-1] - x[0]) * (WIDTH - 2 * EDGE)
        return across, HEIGHT - EDGE - (b - low) / (high - low) * (HEIGHT - 2 * EDGE)

    (x1, y1), (x2, y2) = (at(a, slope * a + rise) for a in (x[0], x[-1]))
    marks = [f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="line"/>']
    for a, b, size, seconds in zip(x, y, cells[along], cells["seconds"], strict=True):
        across, down = at(a, b)
        marks.append(f'<circle cx="{across:.1f}" cy="{down:.1f}" r="4"/>')
        marks.append(f'<text x="{across:.1f}" y="{down - 9:.1f}">{seconds:.3g} s</text>')
        marks.append(f'<text x="{across:.1f}" y="{HEIGHT - EDGE + 20}">{short(size)}</text>')
    other = f"{FEW_COLUMNS} columns" if along == "rows" else f"{short(FEW_ROWS)} rows"
    middle = left + WIDTH / 2
    marks.append(
        f'<text x="{middle}" y="20" class="title">{along}, {other}: power {slope:.2f}</text>'
    )
    return "\n".join(marks)


def short(size: int) -> str:
    """Return a size as people say it."""
    for unit, factor in (("M", 1_000_000), ("k", 1_000)):
        if size >= factor:
            return f"{size / factor:g}{unit}"
    return str(size)


def draw(arguments: argparse.Namespace) -> None:
    """Write the picture of a CSV."""
    cells = pd.read_csv(arguments.out, comment="#")
    style = (
        "text{font:11px sans-serif;text-anchor:middle;fill:#333}.title{font-weight:bold}"
        "circle{fill:#1f6f8b}.line{stroke:#99b;stroke-width:1.5}"
    )
    panels = [
        panel(cells[cells["along"] == along], along, place * WIDTH)
        for place, along in enumerate(("rows", "columns"))
    ]
    arguments.picture.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {2 * WIDTH} {HEIGHT}">'
        f'<style>{style}</style><rect width="100%" height="100%" fill="white"/>'
        + "\n".join(panels)
        + "</svg>\n"
    )
    print(told(cells))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)

    def numbers(text: str) -> list[int]:
        return [int(number) for number in text.split(",")]

    for name in ("run", "draw"):
        command = commands.add_parser(name)
        command.add_argument("--out", type=Path, default=OUT)
        command.add_argument("--rows", type=numbers, default=ROWS)
        command.add_argument("--columns", type=numbers, default=COLUMNS)
        command.add_argument("--picture", type=Path, default=PICTURE)
    one = commands.add_parser("one")
    one.add_argument("size", nargs=2, type=int)
    arguments = parser.parse_args()
    if arguments.command == "one":
        print(json.dumps(measure(*arguments.size)))
    else:
        (run if arguments.command == "run" else draw)(arguments)


if __name__ == "__main__":
    main()
