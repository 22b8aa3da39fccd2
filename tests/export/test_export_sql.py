"""SQL: PostgreSQL, types of columns, dialects, names; DuckDB and SQLite are in the suite too."""

import importlib.util
import sqlite3
import sys

import numpy as np
import pytest

import postgres_server
from export_models import (
    LINKS,
    STORED_NAMES,
    TABLES,
    check,
    empty_case,
    every_kind,
    golden,
    model_with,
    needs_data,
    stored_model,
    suite_case,
    table_model,
    variables,
)
from rpte import InputError
from rpte.columns.kinds import Level, Scale, Value
from rpte.export.cells import read_cells
from rpte.export.lower import make_form
from rpte.export.parity import compare, expected
from rpte.export.sql import run as sql_run
from rpte.export.target import Answers, find_target, settle_options
from rpte.model.parts import DirectTerm
from rpte.table.schema import Schema, Variable

duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed: pip install 'rpte[sql]'")
sqlglot = pytest.importorskip("sqlglot", reason="sqlglot is not installed")
ENGINES = ("duckdb", "sqlite")
FULL = {"contributions": True}


def query(model, **options):
    target = find_target("sql")
    settled = settle_options(target, options)
    form = make_form(model)
    target.check(form, settled)
    return target.write(form, settled)


@pytest.fixture(scope="module")
def connection():
    with postgres_server.server() as folder, postgres_server.connect(folder) as connection:
        yield connection


class TestPostgres:
    """In a server that the test starts."""

    pytestmark = pytest.mark.skipif(
        bool(postgres_server.why_not()), reason=postgres_server.why_not() or "runs"
    )

    def check(self, connection, model, X, **more):
        sql = find_target("sql")
        options = {"dialect": "postgres", "keys": ("row id",), "table_name": "own.cases", **FULL}
        settled = settle_options(sql, {**options, **more}, model)
        form = make_form(model, settled)
        sql.check(form, settled)
        columns = sql_run.table_columns(form, settled, read_cells(form, X))
        types = {"number": "DOUBLE PRECISION", "text": "TEXT", "truth": "BOOLEAN"}
        connection.execute("DROP SCHEMA IF EXISTS own CASCADE")
        where = sql_run.create_table(connection, "postgres", "own.cases", columns, types)
        marks = ", ".join(["%s"] * len(columns))
        cursor = connection.cursor()
        rows = list(zip(*(cells for _, _, cells in columns), strict=True))
        cursor.executemany(f"INSERT INTO {where} VALUES ({marks})", rows)
        cursor.execute(sql.write(form, settled))
        names = [column.name for column in cursor.description]
        found = sorted(cursor.fetchall(), key=lambda row: row[0])
        lines, others = sql_run.read_result(form, settled, names, found)
        answers = Answers(lines, "PostgreSQL", others=others)
        assert len(sql.notes(form, settled, X, answers)) == ("reasons" in more)
        truth = expected(model, X, form.horizons)
        differences = compare(form, truth, answers, 1e-12)
        assert set(differences) == set(truth)
        wrong = {name: d for name, d in differences.items() if d.rows}
        assert not wrong, wrong

    @pytest.mark.slow(reason="runs long queries")
    @pytest.mark.parametrize("link", LINKS)
    def test_every_column_name_level_and_cell(self, connection, link):
        model, X, options = suite_case(link)
        self.check(connection, model, X, **options)

    @pytest.mark.parametrize("link", LINKS)
    def test_a_model_without_inputs(self, connection, link):
        model, X, options = empty_case(link)
        self.check(connection, model, X, **options)

    @pytest.mark.parametrize("name", STORED_NAMES)
    def test_stored_models(self, connection, name):
        model, X = stored_model(name)
        self.check(connection, model, X)

    @pytest.mark.slow(reason="runs long queries")
    @pytest.mark.parametrize("name", ["chosen", "special"])
    def test_reasons(self, connection, name):
        self.check(connection, *golden(name), reasons=4)

    @needs_data
    @pytest.mark.parametrize("name", list(TABLES)[::3])
    def test_real_tables(self, connection, name):
        self.check(connection, *table_model(name, False))


class TestColumnTypes:
    """The query does not know the types of the table's columns."""

    SCHEMA = Schema(
        (
            Variable("n", "number", ("-9",), True),
            Variable("k", "category", ("1", "2", "(other)"), True, True),
            Variable("f", "category", ("False", "True"), True),
        ),
        True,
    )
    MODEL = model_with(
        [
            DirectTerm("D1", Value("n"), 0.3, 1.0, 1.0, 1.0, 1.0),
            DirectTerm("D2", Level("n", ("-9",)), 0.7, 0.0, 1.0, 1.0, 1.0),
            DirectTerm("D3", Level("k", ("2",)), 1.1, 0.0, 1.0, 1.0, 1.0),
            DirectTerm("D4", Level("k", ("(other)",)), 1.7, 0.0, 1.0, 1.0, 1.0),
            DirectTerm("D5", Level("f", ("True",)), 1.9, 0.0, 1.0, 1.0, 1.0),
        ],
        SCHEMA,
    )

    def scores(self, connection, dialect, types, rows):
        listed = ", ".join(f'"{name}" {kind}' for name, kind in zip("nkf", types, strict=True))
        connection.execute(f"CREATE TABLE cases (id INTEGER, {listed})")
        numbered = [(i, *row) for i, row in enumerate(rows)]
        connection.executemany("INSERT INTO cases VALUES (?, ?, ?, ?)", numbered)
        found = connection.execute(query(self.MODEL, dialect=dialect, keys="id")).fetchall()
        return [row[1] for row in sorted(found)]

    def expected(self, rows):
        cells = dict(zip("nkf", map(list, zip(*rows, strict=True)), strict=True))
        return self.MODEL.score(cells).tolist()

    ROWS = ((3, 2, True), (-9, 1, False), (None, 7, None), (0, None, True))

    @pytest.mark.parametrize(
        "types",
        [
            ("INTEGER", "INTEGER", "BOOLEAN"),
            ("DECIMAL(10,2)", "DOUBLE", "BOOLEAN"),
            ("DOUBLE", "BIGINT", "INTEGER"),
            ("FLOAT", "VARCHAR", "VARCHAR"),
            ("VARCHAR", "VARCHAR", "UTINYINT"),
        ],
    )
    def test_duckdb(self, types):
        found = self.scores(duckdb.connect(), "duckdb", types, self.ROWS)
        assert found == self.expected(self.ROWS)

    @pytest.mark.parametrize(
        "types", [("INTEGER", "INTEGER", "BOOLEAN"), ("REAL", "REAL", "TEXT"), ("", "", "")]
    )
    def test_sqlite(self, types):
        found = self.scores(sqlite3.connect(":memory:"), "sqlite", types, self.ROWS)
        assert found == self.expected(self.ROWS)

    def test_nan_and_infinity_are_missing(self):
        rows = [(float("nan"), "2", True), (float("inf"), "2", True), (-1e301, "2", True)]
        found = self.scores(duckdb.connect(), "duckdb", ("DOUBLE", "TEXT", "BOOLEAN"), rows)
        assert found == self.expected([(None, "2", True)]) * 3

    def test_texts_are_compared_exactly(self):
        schema = Schema((Variable("k", "category", ("a", "b"), False),), True)
        model = model_with([DirectTerm("D1", Level("k", ("a",)), 1, 0, 1, 1, 1)], schema, 0.0)
        connection = sqlite3.connect(":memory:")
        connection.execute("CREATE TABLE cases (k TEXT COLLATE NOCASE)")
        connection.executemany("INSERT INTO cases VALUES (?)", [("a",), ("A",), ("a ",), ("",)])
        found = connection.execute(query(model, dialect="sqlite")).fetchall()
        assert [row[1] for row in found] == [1.0, 0.0, 1.0, 0.0]
        connection = duckdb.connect()
        connection.execute("CREATE TABLE cases AS SELECT * FROM (VALUES ('a'), ('A'), ('a ')) t(k)")
        found = connection.execute(query(model, dialect="duckdb")).fetchall()
        assert [row[1] for row in found] == [1.0, 0.0, 1.0]


def test_keys_of_a_model_without_inputs(tmp_path):
    model, X, _ = empty_case("logit")
    assert check("sql", model, X, tmp_path, dialect="sqlite", keys=("id",)).rows == 2


def test_contributions_are_compared_even_where_they_are_not_shown(tmp_path):
    model, rows = golden("mixed")
    record = model.export("sql", tmp_path / "m.sql", rows, dialect="sqlite")
    assert {"score", "probability", "T1", "C1"} <= set(record.differences)
    assert '"rpte_T1"' not in (tmp_path / "m.sql").read_text().rpartition("SELECT")[2]
    assert set(record.versions) == {"rpte", "python", "numpy", "sqlglot", "duckdb"}


def test_the_result_has_keys_or_inputs(tmp_path):
    model = golden("mixed")[0]
    plain_query = sqlglot.parse_one(query(model, dialect="duckdb"), read="duckdb")
    inputs = [given.name for given in make_form(model).inputs]
    assert plain_query.named_selects == [*inputs, "rpte_score", "rpte_probability"]
    keyed = query(model, dialect="duckdb", keys="id,region", prefix="m_")
    names = ["id", "region", "m_score", "m_probability"]
    assert sqlglot.parse_one(keyed, read="duckdb").named_selects == names


def test_a_name_of_a_table_is_a_name():
    text = query(golden("mixed")[0], table_name="cases; DROP TABLE cases")
    assert 'FROM "cases; DROP TABLE cases"' in text


@pytest.mark.slow(reason="two queries in each of 28 dialects are written and parsed")
def test_every_dialect_is_written_and_can_be_parsed():
    from rpte.export.sql.dialects import DIALECTS, dialect_names

    assert len(dialect_names()) >= 28
    assert set(DIALECTS) <= set(dialect_names())
    model, other = golden("special")[0], golden("chosen")[0]
    for dialect in dialect_names():
        text = query(model, dialect=dialect, **FULL)
        parsed = sqlglot.parse_one(text, read=dialect)
        assert len(parsed.selects) == len(parsed.named_selects) == 10, dialect
        reasons = query(other, dialect=dialect, reasons=2, adverse=str(other.classes[0]))
        assert len(sqlglot.parse_one(reasons, read=dialect).named_selects) == 10, dialect
        assert f"for {dialect} from the model" in text


def test_what_dialects_need_beyond_syntax():
    model = every_kind()
    assert "N'O''Brien'" in query(model, dialect="tsql")
    assert "COLLATE Latin1_General_100_BIN2" in query(model, dialect="tsql")
    oracle = query(model, dialect="oracle")
    assert 'TO_BINARY_DOUBLE(rpte_table."a")' in oracle
    assert "TO_BINARY_DOUBLE('1E+300')" in oracle
    assert "VARCHAR2(4000)" in oracle
    assert "AS BINARY)" in query(model, dialect="mysql")
    assert "`a`" in query(model, dialect="bigquery")
    assert "LOG(" in query(model, dialect="tsql")
    assert '"a"' not in query(golden("mixed")[0], dialect="snowflake", quoted=False)


def test_long_decimals_are_the_same_number_in_sqlite():
    rng = np.random.default_rng(5)
    numbers = (rng.normal(size=4000) * 10.0 ** rng.integers(-12, 12, 4000)).tolist()
    from rpte.export.sql.expressions import Expressions

    ways = Expressions(make_form(golden("mixed")[0]), "sqlite", "rpte_", True)
    connection = sqlite3.connect(":memory:")
    for number in numbers:
        text = ways.literal(number).sql("sqlite")
        assert connection.execute(f"SELECT {text}").fetchone()[0] == number


class TestRefused:
    def refused(self, model, tmp_path, says, **options):
        with pytest.raises(InputError, match=says):
            model.export("sql", tmp_path / "m.sql", **options)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        ("options", "says"),
        [
            ({"dialect": "postgress"}, r"no SQL dialect 'postgress' \(did you mean 'postgres'"),
            ({"dialect": "prql"}, "no SQL dialect 'prql'"),
            ({"table_name": ""}, "is no table"),
            ({"reasons": -1}, "reasons=-1; it must be a whole number"),
            ({"prefix": "my own"}, "prefix='my own'; it must be letters"),
            ({"prefix": "age"}, "the column 'age' begins like the export's own columns"),
            ({"keys": "rpte_id"}, "the column 'rpte_id' begins like"),
            ({"dialekt": "duckdb"}, "did you mean 'dialect'"),
        ],
    )
    def test_options(self, options, says, tmp_path):
        self.refused(golden("mixed")[0], tmp_path, says, **options)

    def test_names(self, tmp_path):
        long = every_kind(("n" * 64, "b", "c"))
        self.refused(long, tmp_path, "is 64 bytes long; postgres holds names of up to 63")
        self.refused(every_kind(("é" * 32, "b", "c")), tmp_path, "is 64 bytes long")
        cases = every_kind(("Age", "age", "c"))
        says = "'Age' and 'age' differ in case alone, which sqlite does not tell apart"
        self.refused(cases, tmp_path, says, dialect="sqlite")
        self.refused(
            every_kind(("a.b", "b", "c")), tmp_path, "holds the character", dialect="bigquery"
        )
        self.refused(
            every_kind(("a\0", "b", "c")), tmp_path, "holds the character", dialect="duckdb"
        )
        self.refused(every_kind(("a b", "b", "c")), tmp_path, "needs quotes", quoted=False)

    def test_without_sqlglot(self, tmp_path, monkeypatch):
        for name in [name for name in sys.modules if name.split(".")[0] == "sqlglot"]:
            monkeypatch.setitem(sys.modules, name, None)
        self.refused(
            golden("mixed")[0], tmp_path, r"SQL needs sqlglot; .*pip install 'rpte\[sql\]'"
        )


class TestEngines:
    def test_another_dialect_runs_in_duckdb_and_says_so(self, tmp_path):
        record = golden("mixed")[0].export("sql", tmp_path / "m.sql", dialect="tsql")
        assert record.rows == 400
        assert record.engine.endswith("tsql itself was not run)")

    def test_without_duckdb(self, tmp_path, monkeypatch):
        found = importlib.util.find_spec
        monkeypatch.setattr(sql_run, "find_spec", lambda n: None if n == "duckdb" else found(n))
        record = golden("mixed")[0].export("sql", tmp_path / "m.sql", dialect="postgres")
        assert record.engine.startswith("SQLite")
        record = golden("mixed")[0].export("sql", tmp_path / "m.sql", dialect="duckdb")
        assert record.rows == 0
        assert "duckdb is not installed" in record.engine

    def test_a_sqlite_without_mathematics(self, monkeypatch):
        with pytest.raises(sql_run.CannotRunError, match="lacks a function"):
            sql_run.ENGINES["sqlite"]("SELECT nolog(1)", "t", [("a", "number", [1.0])])

    @pytest.mark.parametrize("engine", ENGINES)
    def test_a_query_that_fails_is_one_line(self, engine):
        with pytest.raises(InputError, match=r"could not run the export: .*nowhere.*; nothing was"):
            sql_run.ENGINES[engine]("SELECT a FROM nowhere", "t", [("a", "number", [1.0])])

    def test_a_schema_in_the_name_of_the_table(self, tmp_path):
        record = golden("mixed")[0].export(
            "sql", tmp_path / "m.sql", dialect="duckdb", table_name='risk."All cases"'
        )
        assert record.rows == 400


@pytest.mark.slow(reason="runs long queries")
def test_logarithms_differ_by_rounding_alone(tmp_path):
    term = DirectTerm("D1", Scale("a", "log", (1e-5,)), 100.0, 2.3, 1.0, 1.0, 1.0)
    model = model_with([term], variables(("a", "b", "c"), "k", "f"))
    rng = np.random.default_rng(0)
    X = {name: [None] * 800 for name in model.schema.names}
    X["a"] = np.exp(rng.normal(size=800) * 10).tolist()
    for dialect in ENGINES:
        record = check("sql", model, X, tmp_path, dialect=dialect)
        assert record.holds
        assert record.differences["score"].largest < 1e-11  # the engine's logarithm, not ours
