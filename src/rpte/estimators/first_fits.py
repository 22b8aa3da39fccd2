"""Small fits that call all kernels, as fits of all kinds of table and setting do.

``python -m rpte.estimators.first_fits`` leaves them in numba's cache. Given a file as well, in the
environment of `rpte.kernels.compiled.compiling`, it writes them there (`rpte compile --output`).
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

from rpte.estimators.classifier import RPTEClassifier
from rpte.estimators.regressor import RPTERegressor
from rpte.kernels.approximate_path import log_sum_of_others
from rpte.rows import scale


def mixed_table(n: int) -> tuple[Any, Any]:
    """Return numbers, categories and missing cells, with labels that depend on all columns."""
    import pandas as pd

    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, n))
    group, level = rng.integers(0, 4, n), rng.integers(0, 40, n)
    score = a + np.abs(b) + a * c + (group == 1) * b + level % 3 - 2
    columns = {
        "a": np.where(rng.random(n) < 0.1, np.nan, a),
        "b": b,
        "c": c.round(1),
        "whole": rng.integers(0, 9, n),
        "group": np.array(["p", "q", "r", None], dtype=object)[group],
        "level": np.char.add("level ", level.astype(str)).astype(object),
    }
    return pd.DataFrame(columns), (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)


def fit_all() -> None:
    """Fit tables of several sizes and kinds in the default and the published configuration."""
    rng = np.random.default_rng(1)
    small, long = mixed_table(600), mixed_table(scale.LONG_ABOVE + 1_000)
    wide = rng.normal(size=(200, 400)), rng.integers(0, 2, 200)
    for table in (small, long, wide):
        RPTEClassifier(n_jobs=2).fit(*table)  # blocks of long tables are kernels of their own
        RPTEClassifier.paper().fit(*table)
    numbers, several = rng.gamma(2.0, size=600), small[1] + (small[0]["b"] > 0)
    for loss in ("squared_error", "poisson", "gamma", "tweedie"):
        RPTERegressor(loss=loss).fit(small[0], numbers)
    RPTERegressor.paper().fit(small[0], numbers)
    for shapes in ("one", "free"):
        RPTEClassifier(shapes=shapes).fit(small[0], several)
    RPTEClassifier(form="rules").fit(*small)
    RPTEClassifier(lookahead=True).fit(*small)
    weights = rng.random(scale.MANY_ROWS + 1_000) + 0.5
    for learner in (RPTEClassifier(), RPTEClassifier.paper()):
        learner.fit(*mixed_table(len(weights)), sample_weight=weights)
    # Several classes of very many rows on several threads: a fit of them would take too long here.
    log_sum_of_others(np.zeros((2, 3)), 0, np.zeros(3))


def main() -> None:
    """Fit, and write the kernels that this took to a file if one is given."""
    from rpte.kernels.compile import code_of_called
    from rpte.kernels.compiled import check_compiling, write_compiled

    output = [Path(name) for name in sys.argv[1:]]
    if output:
        check_compiling()
    fit_all()
    for path in output:
        write_compiled(code_of_called(), path)


if __name__ == "__main__":
    main()
