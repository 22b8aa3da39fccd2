"""Write the golden model files of the newest version of the format.

Run after a deliberate change of the format, before a release; never for a version that is out (the
files of version 1, of the first release, are in ``0.1.0``). The models are the stored ones:

    python tests/stored/make_stored.py
    python tests/golden/make_golden.py
    python tests/golden/make_golden.py squared counts       these alone, the others stay

Each model of `model_files` gives ``models_<version>/<name>.json``, and ``<name>.rows.json`` with
some rows and the scores that every later version must give, bit for bit (floats in hexadecimal),
with the classes or means that they stand for; of times until an event also survival, in the first
stratum where there are some.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "helpers"))

from model_files import CLASS_NAMES, NAMES, NUMBER_NAMES, TIME_NAMES, stored  # noqa: E402
from rpte.model.file import from_dict  # noqa: E402
from rpte.model.versions import NEWEST  # noqa: E402

ROWS = 40
HORIZONS = [1.0, 12.0, 24.0]


def plain(value):
    """Return a cell as JSON has it, null where it is missing."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if value is None or value != value else value


def table(X):
    """Return the first rows: columns by name, or rows of an array."""
    if isinstance(X, np.ndarray):
        return [[plain(cell) for cell in row] for row in X[:ROWS]]
    head = X.head(ROWS).astype(object)
    cells = {name: [plain(cell) for cell in head[name]] for name in head}
    # Cells that training did not have: a missing one in each column, and a new level.
    for number, column in enumerate(cells.values()):
        column[number] = None
        if any(isinstance(cell, str) for cell in column):
            column[-1] = "never seen"
    return cells


def hexadecimal(values):
    """Return floats in hexadecimal; those of several classes as a list for each row."""
    return [hexadecimal(v) if isinstance(v, np.ndarray) else float(v).hex() for v in values]


def strata_of(model, count):
    """Return the first of the strata of a model for some rows, None where it has none."""
    return list(model.target.strata[:1]) * count or None


def main() -> None:
    folder = HERE / f"models_{NEWEST}"
    folder.mkdir(exist_ok=True)
    names = sys.argv[1:] or [*NAMES, *NUMBER_NAMES, *CLASS_NAMES, *TIME_NAMES]
    if not sys.argv[1:]:
        for old in folder.glob("*.json"):
            old.unlink()
    for name in names:
        model, rows = from_dict(stored(name).copy()), table(stored(name).X)
        model.save(folder / f"{name}.json")
        score = hexadecimal(model.score(rows))
        told = "mean" if name in NUMBER_NAMES else "risk" if name in TIME_NAMES else "class"
        record = {"rows": rows, "score": score, told: model.predict(rows).tolist()}
        if name in TIME_NAMES:
            hazard = model.target.baseline[0].at(np.array(HORIZONS))
            survival = model.survival_at(rows, HORIZONS, strata_of(model, len(score)))
            record |= {"horizons": HORIZONS, "hazard": hexadecimal(hazard)}
            record |= {"survival": survival.tolist()}
        (folder / f"{name}.rows.json").write_text(json.dumps(record, indent=1) + "\n")
    print(f"{len(names)} models in {folder}")


if __name__ == "__main__":
    main()
