"""Reasons in SQL are those of `rpte reasons`: order, ties, texts, codes."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import rpte
from export_models import (
    check,
    every_kind,
    golden,
    hostile_rows,
    model_with,
    needs_data,
    table_model,
)
from rpte import Catalogue, InputError, read_catalogue
from rpte.cli import app
from rpte.columns.kinds import Level
from rpte.export.cells import probe_table, read_cells
from rpte.export.evaluate import evaluate
from rpte.export.exporting import read_record
from rpte.export.fixed import Fixed
from rpte.export.form import Definition
from rpte.export.lower import make_form
from rpte.export.reasons import candidates, same_reasons
from rpte.export.sql import run as sql_run
from rpte.export.target import find_target, settle_options
from rpte.model.grid import changed, grid
from rpte.model.parts import Component, DirectTerm
from rpte.table.schema import Schema, Variable

pytest.importorskip("duckdb", reason="duckdb is not installed: pip install 'rpte[sql]'")
pytest.importorskip("sqlglot", reason="sqlglot is not installed: pip install 'rpte[sql]'")
ENGINES = ("duckdb", "sqlite")


def assert_same(model, X, folder, engines=ENGINES, **options):
    """Export with reasons; the comparison with `reason_codes` is the export's own."""
    for dialect in engines:
        record = check("sql", model, X, folder, dialect=dialect, **{"reasons": 4, **options})
        assert record.holds, record.differences
        assert record.notes == (f"the reasons of all {record.rows} rows are those of rpte reasons",)


@pytest.mark.slow(reason="runs long queries")
@pytest.mark.parametrize("name", ["array", "chosen", "limited", "shaped", "special"])
def test_golden_models(name, tmp_path):
    model, rows = golden(name)
    assert_same(model, rows, tmp_path, ["duckdb"])
    other = model.classes[1 - model.positive]
    asked = {"reference": "best", "adverse": str(other), "threshold": 0.3, "least": 0.0}
    assert_same(model, probe_table(make_form(model), 60), tmp_path, ["sqlite"], **asked)


def test_hostile_names_texts_and_cells(tmp_path):
    model = every_kind(('a"b', "c'd", "tab\there"), "line\nbreak", "🙂 mood")
    texts = {"code": "R'1\"", "sentence": "it's \\ too\n{high} %s", "missing": "--; no /* value */"}
    catalogue = dict.fromkeys(model.schema.names[::2], texts)
    rows = hostile_rows(model, 100)
    assert_same(model, rows, tmp_path, reference="best", reasons=5, catalogue=catalogue)


@pytest.mark.slow(reason="runs long queries")
@needs_data
def test_a_real_table(tmp_path):
    assert_same(*table_model("heart_c_uci.csv", False), tmp_path)


@pytest.mark.parametrize("name", ["array", "mixed", "products", "special", "shaped"])
def test_a_subtotal_with_one_variable_fixed_is_exact(name):
    """What `Fixed` leaves is, to the last bit, the subtotal of rows with that value."""
    model, rows = golden(name)
    form, inputs = make_form(model), model.read(rows)
    cells = read_cells(form, rows)
    terms = {line.name: line for line in form.role("term")}
    seen = 0
    for component in model.components:
        for source in component.sources:
            variable = model.schema[source]
            for value in grid(model, component, source):
                level = variable.kind == "category"
                fixed = Fixed(source, variable.levels[int(value)] if level else float(value))
                lines = [terms[part.name] for part in component.parts]
                lines = [replace(line, value=fixed.number(line.value)) for line in lines]
                found = evaluate(replace(form, lines=tuple(lines)), cells)
                other = changed(inputs, source, np.full(inputs.n_rows, value))
                for part in component.parts:
                    np.testing.assert_array_equal(found[part.name], part.contribution(other))
                seen += 1
    assert seen > 5


@pytest.mark.parametrize("name", ["array", "limited", "special"])
def test_alternatives_are_the_subtotals_on_the_grid(name):
    model, rows = golden(name)
    form, inputs = make_form(model), model.read(rows)
    cells, components = read_cells(form, rows), {c.name: c for c in model.components}
    found = [c for c in candidates(form, {"catalogue": None}) if c.alternatives]
    for candidate in found:
        component, n_rows = components[candidate.component], inputs.n_rows
        others = [
            component.subtotal(changed(inputs, candidate.source, np.full(n_rows, value)))
            for value in grid(model, component, candidate.source)
        ]
        lines = [
            Definition(f"A{i}", "term", number, (), "")
            for i, number in enumerate(candidate.alternatives)
        ]
        values = evaluate(replace(form, lines=(*form.role("term"), *lines)), cells)
        told = [values[line.name] for line in lines]
        for best in (np.min, np.max):
            np.testing.assert_array_equal(best(told, axis=0), best(others, axis=0))
    assert len(found) > 2


def tied_model():
    """Return a model of three variables, each a component; two weigh the same."""
    names = ("b", "a", "c")
    schema = Schema(tuple(Variable(n, "category", ("no", "yes"), True) for n in names), True)
    terms = [
        DirectTerm(f"D{i}", Level(name, ("yes",)), weight, 0.0, 1.0, 1.0, 1.0)
        for i, (name, weight) in enumerate(zip(names, (0.5, 0.5, 0.025), strict=True), 1)
    ]
    model = model_with(terms, schema)
    components = tuple(Component(f"C{i}", (), (term,)) for i, term in enumerate(terms, 1))
    means = {term.name: 0.0 for term in terms}
    return replace(
        model, components=components, training={**model.training, "mean_contributions": means}
    )


def told(model, dialect, X, **options):
    """Return the columns of a query's result that tell reasons, row by row."""
    target, form = find_target("sql"), make_form(model)
    settled = target.settle(form, settle_options(target, {"dialect": dialect, **options}))
    target.check(form, settled)
    columns = sql_run.table_columns(form, settled, read_cells(form, X))
    names, rows, _ = sql_run.ENGINES[dialect](target.write(form, settled), "cases", columns)
    _, found = sql_run.read_result(form, settled, names, rows)
    return [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]


@pytest.mark.parametrize("dialect", ENGINES)
def test_order_ties_and_what_is_not_told(dialect):
    X = {"a": ["yes", "yes", None], "b": ["yes", None, "no"], "c": ["yes", "yes", "yes"]}
    rows = told(tied_model(), dialect, X, reasons=3)
    assert [row["reason_1"] for row in rows] == ["b", "a", "c"]  # the first component wins a tie
    assert [row["reason_2"] for row in rows] == ["a", "c", None]  # 0.025 is a twentieth: told
    assert [row["reason_3"] for row in rows] == ["c", None, None]
    assert rows[1] == {
        "reason_1": "a", "reason_1_weight": 0.5, "reason_2": "c", "reason_2_weight": 0.025,
        "reason_3": None, "reason_3_weight": None,
    }  # fmt: skip
    rows = told(tied_model(), dialect, X, reasons=3, least=0.051)
    assert [row["reason_3"] for row in rows] == [None, None, None]


@pytest.mark.parametrize("dialect", ENGINES)
def test_codes_sentences_and_missing_values(dialect, tmp_path):
    (tmp_path / "r.toml").write_text(
        '[reasons.smoker]\ncode = "R1"\nsentence = "Smokes"\nmissing = "Not asked"\n'
    )
    model = golden("chosen")[0]
    X = probe_table(make_form(model), 100)
    catalogue = read_catalogue(tmp_path / "r.toml", model)
    truth = rpte.reason_codes(model, X, rpte.reason_rule(model, most=4), catalogue)
    for given in (str(tmp_path / "r.toml"), catalogue, catalogue.entries):
        rows = told(model, dialect, X, reasons=4, catalogue=given)
        for row, reasons in zip(rows, truth, strict=True):
            empty = [None] * (4 - len(reasons))
            sentences = [row[f"reason_{i}"] for i in range(1, 5)]
            assert sentences == [r.sentence for r in reasons] + empty
            assert [row[f"reason_{i}_code"] for i in range(1, 5)] == [
                r.code for r in reasons
            ] + empty
    assert {"Smokes", "Not asked"} <= {r.sentence for reasons in truth for r in reasons}


def test_the_record_holds_the_catalogue(tmp_path):
    model, rows = golden("chosen")
    catalogue = Catalogue({"age": {"code": "R1"}})
    model.export("sql", tmp_path / "m.sql", rows, dialect="sqlite", reasons=2, catalogue=catalogue)
    assert read_record(tmp_path / "m.sql")["options"]["catalogue"] == {"age": {"code": "R1"}}
    from rpte.export.exporting import check_export

    assert "those of rpte reasons" in check_export(model, tmp_path / "m.sql", rows).notes[0]


def test_other_reasons_are_refused():
    model, form = tied_model(), make_form(tied_model())
    options = settle_options(find_target("sql"), {"reasons": 2})
    X = {"a": ["yes", "no"], "b": ["no", "no"], "c": ["yes", "no"]}
    right = [[("", "a", 0.5), ("", "c", 0.025)], [(None, None, None)] * 2]
    assert "all 2 rows" in same_reasons(form, options, X, right)
    for wrong in (
        [[("", "b", 0.5), ("", "c", 0.025)], right[1]],
        [[("R", "a", 0.5), ("", "c", 0.025)], right[1]],
        [[("", "a", 0.5), ("", "c", 0.026)], right[1]],
        [[("", "a", 0.5), (None, None, None)], right[1]],
    ):
        with pytest.raises(InputError, match=r"the reasons of row 0 are .*\['a', 'c'\] in the mod"):
            same_reasons(form, options, X, wrong)
    both = {"a": ["yes"], "b": ["yes"], "c": ["no"]}  # which comes first is rounding's to say
    assert same_reasons(form, options, both, [[("", "a", 0.5), ("", "b", 0.5 + 1e-16)]])
    assert model.score(both)[0] == 0.75


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"reasons": -1}, "reasons=-1; it must be a whole number, 0 or more"),
        ({"reasons": 2, "adverse": "nobody"}, "adverse='nobody'; the model's classes are"),
        ({"reasons": 2, "reference": "median"}, "reference='median'; it must be one of"),
        ({"reasons": 2, "reference": "threshold"}, "cases of a table, which an export does not"),
        ({"reasons": 2, "threshold": "high"}, "threshold='high'; it must be a number"),
        ({"reasons": 2, "threshold": 7.0}, "threshold=7.0; it is a probability"),
        ({"reasons": 2, "least": 2.0}, "least=2.0; it is a share"),
        ({"adverse": "well"}, "adverse is about reasons, and none are asked for; add --reasons 4"),
        ({"reasons": 2, "catalogue": "absent.toml"}, "absent.toml"),
    ],
)
def test_refused_before_writing(options, says, tmp_path):
    with pytest.raises((InputError, FileNotFoundError), match=says):
        golden("mixed")[0].export("sql", tmp_path / "m.sql", dialect="duckdb", **options)
    assert not list(tmp_path.iterdir())


def test_by_the_command(tmp_path):
    model, _ = golden("chosen")
    model.save(tmp_path / "model.json")
    (tmp_path / "r.toml").write_text('[reasons.age]\ncode = "R1"\n')
    command = ["export", tmp_path / "model.json", "--to", "sql", "--dialect", "sqlite"]
    command += ["-o", tmp_path / "m.sql", "--reasons", 3]
    command += ["--option", f"catalogue={tmp_path / 'r.toml'}", "--option", "threshold=0.2"]
    done = CliRunner().invoke(app, [str(word) for word in command])
    assert done.exit_code == 0, done.output
    assert "the reasons of all 400 rows are those of rpte reasons" in done.output
    options = json.loads((tmp_path / "m.sql.parity.json").read_text())["options"]
    assert options["threshold"] == 0.2
    assert '"rpte_reason_3_code"' in (tmp_path / "m.sql").read_text()
