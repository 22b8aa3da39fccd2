"""`rpte demo`: the whole job on the breast cancer table that comes with scikit-learn."""

from __future__ import annotations

import logging
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from rpte.cli.show import checks_view, explanation_view, model_view

SEED = 0


def demo() -> None:
    """Fit breast cancer (569 x 30), show the model whole, take a prediction apart, verify it.

    Two models on the same three quarters of the rows: the default, whose form inner validation
    chooses, and the published configuration with its trees.

    Example: rpte demo
    """
    logging.basicConfig(format="%(message)s")
    logging.getLogger("rpte").setLevel(logging.INFO)
    console = Console(highlight=False)
    with console.status("loading"):
        from rpte import RPTEClassifier

        train, test = _breast_cancer()
    models = {
        "default": RPTEClassifier(positive="malignant"),
        "published configuration": RPTEClassifier.paper(positive="malignant"),
    }
    for name, estimator in models.items():
        with console.status(f"fitting the {name}"):
            estimator.fit(*train)
        console.rule(f"[bold]The {name}, whole", align="left")
        console.print(model_view(estimator.model_), "")
        held_out = estimator.explain(test[0].iloc[[0]])[0]
        title = f"The first held-out patient (in truth {test[1].iloc[0]}), taken apart"
        console.print(explanation_view(held_out, title), "")
        checks = estimator.model_.verify(*train)
        console.print(checks_view(checks), "")
        if not all(check.holds for check in checks):
            raise typer.Exit(1)
    console.rule("[bold]Audit load", align="left")
    console.print(_loads(models, test))
    console.print(_frontier_line(models["default"]))
    console.print("Next: RPTEClassifier().fit(X, y) on a table of your own; see the README.")


def _breast_cancer() -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return training and held-out rows, labels in words."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split

    data = load_breast_cancer(as_frame=True)
    y = data.target.map({0: "malignant", 1: "benign"}).astype(object)
    X_train, X_test, y_train, y_test = train_test_split(
        data.data, y, test_size=0.25, stratify=y, random_state=SEED
    )
    return (X_train, y_train), (X_test, y_test)


def _frontier_line(estimator: Any) -> str:
    loads = estimator.frontier_["miu"]
    return (
        f"The default was chosen among models of {loads.min()} to {loads.max()} conditions: see "
        "clf.frontier_ and clf.at(miu=...), or save it and run rpte frontier MODEL.json."
    )


def _loads(models: dict[str, Any], test: tuple[Any, Any]) -> Table:
    from sklearn.metrics import roc_auc_score

    table = Table(box=None, pad_edge=False)
    table.add_column("model")
    for name in ("terms (MU)", "conditions (MIU)", "per case (IIU)", "bound", "held-out AUC"):
        table.add_column(name, justify="right")
    for name, estimator in models.items():
        load = estimator.audit(test[0])
        auc = roc_auc_score(test[1] == "malignant", estimator.model_.score(test[0]))
        row = (str(load.mu), str(load.miu), f"{load.iiu:.1f}", str(load.bound), f"{auc:.4f}")
        table.add_row(name, *row)
    return table
