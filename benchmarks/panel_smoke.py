"""Every binary table of the panel, straight from pandas.read_csv, with default parameters.

Protocol: rows are split 75/25 by label (scikit-learn's train_test_split, seed 0); RPTEClassifier()
is fitted on the larger part and verified on it (`Model.verify(X, y)`); AUC is that of the held-out
part. Prints seconds, AUC, MIU, the checks that hold, and every warning raised.

Run: python benchmarks/panel_smoke.py [name ...]
"""

from __future__ import annotations

import json
import sys
import time
import warnings

from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from data import folder, read
from rpte import RPTEClassifier


def binary_tables() -> list[str]:
    """Return the names of the binary tables, smallest first."""
    entries = json.loads((folder() / "manifest.json").read_text())["panel"]
    found = [entry for entry in entries if entry["task"] == "binary"]
    return [entry["name"] for entry in sorted(found, key=lambda e: e["n"] * e["p"])]


def smoke(name: str) -> bool:
    """Fit and verify one table; print a line; tell whether every check holds."""
    X, y = read(f"panel/{name}")
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.25, stratify=y, random_state=0
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        clf = RPTEClassifier().fit(X_train, y_train)
        seconds = time.perf_counter() - start
        checks = clf.model_.verify(X_train, y_train)
        auc = roc_auc_score(y_test, clf.decision_function(X_test))
    held = sum(check.holds for check in checks)
    size, kept = f"{len(X)}x{X.shape[1]}", f"{held}/{len(checks)}"
    print(
        f"{name:26} {size:>12} {seconds:8.1f} {auc:7.4f} {clf.audit().miu:5d} {kept:>6}", flush=True
    )
    for check in checks:
        if not check.holds:
            print(f"    FAILS {check.name}: {check.evidence}")
    for warning in caught:
        print(f"    {warning.category.__name__}: {warning.message}")
    return held == len(checks)


def main() -> None:
    """Run the tables named on the command line, or all."""
    print(f"{'table':26} {'size':>12} {'seconds':>8} {'AUC':>7} {'MIU':>5} {'checks':>6}")
    names = sys.argv[1:] or binary_tables()
    results = [smoke(name) for name in names]
    raise SystemExit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
