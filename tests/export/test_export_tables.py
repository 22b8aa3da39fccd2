"""Every target agrees with the model on real tables, dirty cells and all."""

import shutil

import pytest

from export_models import DIRTY, TABLES, check, needs_data, table_model
from rpte.export.form import OneOf, Operation, all_nodes
from rpte.export.lower import make_form
from rpte.model.parts import DirectTerm

pytest.importorskip("sqlglot", reason="sqlglot is not installed: pip install 'rpte[sql]'")
pytest.importorskip("duckdb", reason="duckdb is not installed: pip install 'rpte[sql]'")
pytestmark = needs_data
TARGETS = {
    "python": {},
    "javascript": {},
    "c": {},
    "sql, duckdb": {"dialect": "duckdb", "contributions": True},
    "sql, sqlite": {"dialect": "sqlite", "contributions": True},
    "scorecard": {"format": "csv"},
}
PROGRAMS = {"javascript": "node", "c": "cc"}


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("published", [False, True], ids=["default", "published"])
def test_real_tables(name, published, target, tmp_path):
    program = PROGRAMS.get(target)
    if program and not shutil.which(program):
        pytest.skip(f"{program} is not on the PATH")
    model, X = table_model(name, published)
    record = check(target.split(",")[0], model, X, tmp_path, **TARGETS[target])
    assert record.rows == DIRTY
    assert record.holds, record.differences
    assert record.differences["score"].largest < 1e-12


@pytest.mark.slow
def test_the_tables_have_what_exports_must_handle():
    found = set()
    for name in TABLES:
        for published in (False, True):
            model, _ = table_model(name, published)
            form = make_form(model)
            found |= {v.kind for v in model.schema.variables}
            direct = [p.column for _, p in model.parts() if isinstance(p, DirectTerm)]
            found |= {c.kind for c in direct} | {getattr(c, "operation", "") for c in direct}
            trees = [tree for c in model.components for tree in c.trees]
            found |= {"tree" for _ in trees}
            found |= {split.column.kind for tree in trees for split in tree.tree.splits}
            found |= {"pooled" for v in model.schema.variables if v.pooled}
            found |= {n.name for n in all_nodes(form) if isinstance(n, Operation)}
            found |= {"special" for n in all_nodes(form) if isinstance(n, OneOf)
                      and model.schema[n.input].kind == "number"}  # fmt: skip
    wanted = {"category", "number", "missing", "special", "hinge", "pair", "pattern", "tree",
              "log", "product", "pooled", "level", "step", "value", "interval"}  # fmt: skip
    assert wanted <= found
