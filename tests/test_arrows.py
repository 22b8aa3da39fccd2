"""Imports point down: one table of rooms in order, and the exceptions with their reasons."""

from __future__ import annotations

import pytest

from import_graph import SOURCE, Import, all_imports, room

# From the bottom up: a room imports from those above it in this table, never from those below.
ROOMS = (
    "errors",
    "utils",
    "datasets",
    "losses",
    "kernels",
    "table",
    "rows",
    "columns",
    "vocabulary",
    "structure",
    "published",
    "estimation",
    "model",
    "audit",
    "counterfactual",
    "scorecard",
    "export",
    "fit",
    "selection",
    "figures",
    "report",
    "plots",
    "notebook",
    "estimators",
    "validation",
    "mlflow",
    "dask",
    "check",
    "cli",
    "__main__",
)

METHODS = "a method of Model that is there for convenience, imported when it is called"
EXCEPTIONS = {
    ("model.model", "audit.load"): METHODS,
    ("model.model", "counterfactual"): METHODS,
    ("model.classes", "counterfactual"): METHODS,
    ("model.model", "scorecard"): METHODS,
    ("model.model", "export.exporting"): METHODS,
    ("model.classes", "export.exporting"): METHODS,
    ("model.plotting", "plots.dispatch"): METHODS,
    ("model.plotting", "plots.frontier"): METHODS,
    ("model.plotting", "plots.waterfall"): METHODS,
    ("model.model", "report.report"): METHODS,
    ("model.classes", "report.report"): METHODS,
    ("estimators.model_methods", "validation.cross_validate"): METHODS.replace(
        "Model", "estimators"
    ),
    ("audit.edits", "fit.refit"): "an edit may estimate the terms that are left again",
    ("report.stability", "estimators.classifier"): "stability fits the same settings again",
    ("report.stability", "estimators.regressor"): "stability fits the same settings again",
    ("report.stability", "estimators.survival"): "stability fits the same settings again",
}


ALL = all_imports()


def goes_up(found: Import) -> bool:
    return ROOMS.index(room(found.imported)) > ROOMS.index(room(found.module))


def test_every_room_is_in_the_table():
    there = {p.stem for p in SOURCE.iterdir() if p.suffix == ".py" or (p / "__init__.py").is_file()}
    assert there - {"__init__"} == set(ROOMS)


def test_no_import_goes_up():
    """Imports for annotations are never run, and those of `_repr_html_` for a notebook alone."""
    up = {(f.module, f.imported) for f in ALL if not f.typing and goes_up(f)}
    assert up - set(EXCEPTIONS) == set()


def test_no_exception_is_idle():
    up = {(f.module, f.imported) for f in ALL if not f.typing and goes_up(f)}
    assert set(EXCEPTIONS) - up == set()


@pytest.mark.parametrize("name", ["columns", "model", "table"])
def test_what_scores_needs_no_kernels(name):
    """Numba and scikit-learn stay out of rooms that a stored model needs."""
    heavy = {"kernels", "estimation"}
    assert {f for f in ALL if room(f.module) == name and room(f.imported) in heavy} == set()
