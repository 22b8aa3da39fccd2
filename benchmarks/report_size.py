"""The report of a million rows: its size, how long it takes to make, and how long it takes to open.

A model is fitted to the first 20,000 rows of a made-up table of loans; `rpte report` then measures
it on all of them. The page is opened in headless chromium, three times; the time is that from
the start of navigation to the end of the load event, by the browser's own clock.

Run: python benchmarks/report_size.py [ROWS]
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from rpte import RPTEClassifier

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from devtools import Chromium

TRAINING = 20_000
OPENED = "performance.timing.loadEventEnd - performance.timing.navigationStart"


def loans(rows: int) -> pd.DataFrame:
    """Return loans with gaps, categories, a product of two variables, and the outcome."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(45, 15, rows).clip(18, 95).round()})
    X["income"] = rng.lognormal(8.0, 0.6, rows).round(2)
    X["debt"] = rng.exponential(3000.0, rows).round()
    X["late"] = rng.poisson(0.4, rows)
    X["home"] = rng.choice(["own", "rent", "other"], rows)
    X["region"] = rng.choice([f"region {k}" for k in range(20)], rows)
    score = -2.0 - 0.02 * (X["age"] - 45) + 0.6 * X["late"] - 0.5 * np.log(X["income"] / 3000)
    score += 1e-4 * X["debt"] * (X["home"] == "rent")
    X["outcome"] = np.where(rng.random(rows) < 1.0 / (1.0 + np.exp(-score)), "bad", "good")
    X.loc[rng.random(rows) < 0.1, "income"] = np.nan
    return X


def main(rows: int) -> None:
    """Make the table, the model and the report; print sizes and times."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        table = loans(rows)
        table.to_csv(folder / "loans.csv", index=False)
        X, y = table.drop(columns="outcome")[:TRAINING], table["outcome"][:TRAINING]
        RPTEClassifier(positive="bad").fit(X, y).save(folder / "model.json")
        page = folder / "report.html"
        given = [folder / "model.json", folder / "loans.csv", "--target", "outcome", "-o", page]
        start = time.perf_counter()
        command = [sys.executable, "-m", "rpte", "report", *map(str, given)]
        subprocess.run(command, check=True, capture_output=True)
        made, opened = time.perf_counter() - start, []
        with Chromium(folder / "profile") as program, program.tab() as browser:
            for _ in range(3):
                browser.open(page)
                opened.append(browser.value(OPENED))
        print(f"{rows:,} rows: {page.stat().st_size / 1e3:.0f} kB, made in {made:.0f} s,")
        print(f"opened in {sorted(opened)} ms (chromium, from disk)")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
