"""Cells, levels and columns that arrive in another shape than training had."""

from __future__ import annotations

import random
import sqlite3
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hostile_cases.case import Case, Result
from rpte import InputError, RPTEClassifier, RPTEWarning
from rpte.columns.kinds import Level, Value
from rpte.export.lower import make_form
from rpte.export.target import find_target, settle_options
from rpte.model.model import Model
from rpte.table.schema import Schema, Variable

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "helpers"))

from export_models import check, model_with
from rpte.model.parts import DirectTerm

TRUE = ["True", "true", "TRUE", "t", "T", "1", "1.0", " 1", "True "]
FALSE = ["False", "false", "FALSE", "f", "F", "0", "0.0", "-0.0", " 0"]
LEVELS = ("0", "10", "2.5", "007", "north")


def fitted(seed: int) -> tuple[RPTEClassifier, pd.DataFrame]:
    """Return a classifier of a boolean, a coded category and a number, with its table."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"flag": rng.random(600) < 0.5, "k": rng.choice(LEVELS, 600), "x": rng.normal(size=600)}
    )
    risk = 2.0 * X["flag"] + (X["k"] == "10") - (X["k"] == "2.5") + X["x"] - 1.0
    y = (rng.random(600) < 1 / (1 + np.exp(-risk))).astype(int)
    return RPTEClassifier(l1="4/n", vocabulary="original").fit(X, y), X


def by_hand() -> Model:
    """Return a model with a term for each level."""
    variables = (
        Variable("x", "number", (), True),
        Variable("flag", "category", ("False", "True"), True),
        Variable("k", "category", LEVELS, True),
    )
    columns = [Value("x"), Level("flag", ("True",)), Level("flag", ("False",))]
    columns += [Level("k", (level,)) for level in LEVELS]
    terms = [DirectTerm(f"D{i}", c, 0.5**i, 0.0, 1.0, 9.0, 4.0) for i, c in enumerate(columns, 1)]
    return model_with(terms, Schema(variables, True))


def other_spelling(cell: object, draw: random.Random) -> object:
    """Return the same cell as another program might write it."""
    if isinstance(cell, (bool, np.bool_)):
        return draw.choice([int(cell), float(cell), bool(cell), *(TRUE if cell else FALSE)])
    text = str(cell)
    if text[:1].isdigit() and text != "007":
        zeros = "0" if "." in text else draw.choice([".", ".0", ".00"])
        return draw.choice([float(text), f"{text}{zeros}", f" {text}", f"{text} "])
    return draw.choice([text, f" {text}", f"{text}  "])


def spellings(seed: int) -> Result:
    """The same table in other spellings has the same probabilities, to the last bit."""
    clf, X = fitted(seed)
    draw, result = random.Random(seed), Result()
    truth = clf.predict_proba(X)
    for _ in range(10):
        other = X.copy()
        for name in ("flag", "k"):
            other[name] = pd.Series([other_spelling(c, draw) for c in X[name]], dtype=object)
        for asked in (clf, clf.model_):
            moved = np.abs(asked.predict_proba(other) - truth).max(axis=1)
            for row, gap in enumerate(moved):
                result.expect(gap == 0, f"row {row}: {other.iloc[row].to_dict()} moves by {gap:g}")
    return result


def exports(seed: int) -> Result:
    """Exports score cells in other spellings as the model does."""
    model, draw, result = by_hand(), random.Random(seed), Result()
    rows = {
        "x": [draw.gauss(0, 1) for _ in range(400)],
        "flag": [str(other_spelling(draw.random() < 0.5, draw)) for _ in range(400)],
        "k": [str(other_spelling(draw.choice(LEVELS), draw)) for _ in range(400)],
    }
    targets = [("sql", {"dialect": "sqlite"}), ("sql", {"dialect": "duckdb"}), ("python", {})]
    targets += [("javascript", {}), ("c", {}), ("onnx", {})]
    with tempfile.TemporaryDirectory() as folder:
        for target, options in targets:
            record = check(target, model, rows, folder, **options)
            for difference in list(record.differences.values())[:1]:
                result.tried += record.rows
                if difference.rows:
                    result.failures.append(f"{target} {options}: {difference.rows} rows differ")
    return result


def numbers_in_booleans(seed: int) -> Result:
    """A number that is neither 1 nor 0 in a boolean is refused."""
    clf, X = fitted(seed)
    draw, result = random.Random(seed), Result()
    for _ in range(300):
        cell = draw.choice([draw.randint(2, 99), -draw.random() - 0.01, f"{draw.randint(2, 99)}"])
        row = X.head(1).assign(flag=cell)
        try:
            clf.predict_proba(row)
            result.expect(False, f"flag={cell!r} was scored")
        except InputError as error:
            result.expect("flag" in str(error), f"flag={cell!r}: {error}")
    return result


def unknown(seed: int) -> Result:
    """Unknown levels are always told: a warning, or an error where they are most of a column."""
    clf, X = fitted(seed)
    draw, result = random.Random(seed), Result()
    for _ in range(200):
        n = draw.randint(1, 60)
        rows = X.sample(n, random_state=draw.randint(0, 10**6)).reset_index(drop=True)
        bad = draw.randint(1, n)
        rows.loc[: bad - 1, "k"] = [f"new {draw.randint(0, 3)}" for _ in range(bad)]
        refused = n >= 10 and bad > n / 2
        told, failed = [], False
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                clf.predict_proba(rows)
            except InputError:
                failed = True
            told = [w for w in caught if issubclass(w.category, RPTEWarning)]
        result.expect(failed == refused, f"{bad} of {n} unknown: refused={failed}")
        result.expect(failed or len(told) == 1, f"{bad} of {n} unknown: {len(told)} warnings")
    return result


def lost_columns(seed: int) -> Result:
    """The query for SQLite fails on a table without one of its columns, whatever it is called."""
    draw, result = random.Random(seed), Result()
    target = find_target("sql")
    for _ in range(60):
        letters = "ab \"'`;-\\\n\té漢%$"
        names = sorted(
            {"".join(draw.choices(letters, k=draw.randint(1, 6))) + str(i) for i in "12"}
        )
        variables = (
            Variable(names[0], "number", (), True),
            Variable(names[1], "category", ("u", "v")),
        )
        terms = [
            DirectTerm("D1", Value(names[0]), 0.5, 0.0, 1.0, 9.0, 4.0),
            DirectTerm("D2", Level(names[1], ("u",)), 0.25, 0.0, 1.0, 9.0, 4.0),
        ]
        model = model_with(terms, Schema(variables, True))
        query = target.write(make_form(model), settle_options(target, {"dialect": "sqlite"}))
        for kept in (names, names[:1], names[1:]):
            result.expect(runs(str(query), kept) == (kept == names), f"{names!r}, kept {kept!r}")
    return result


def runs(query: str, names: list[str]) -> bool:
    """Tell whether a query runs on a table of some columns."""
    connection = sqlite3.connect(":memory:")
    listed = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
    connection.execute(f"CREATE TABLE cases ({listed})")
    connection.execute(
        f"INSERT INTO cases VALUES ({', '.join('?' * len(names))})", ["1"] * len(names)
    )
    try:
        connection.execute(query).fetchall()
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()
    return True


def texts_for_numbers(seed: int) -> Result:
    """Texts in a column of numbers: SQLite and Python give the model's score, or none."""
    draw, result = random.Random(seed), Result()
    target, terms = find_target("sql"), [Value("n"), Level("n", ("-9", "0", "none"))]
    parts = [DirectTerm(f"D{i}", c, 0.5**i, 0.0, 1.0, 9.0, 4.0) for i, c in enumerate(terms, 1)]
    schema = Schema((Variable("n", "number", ("-9", "0", "none"), True),), True)
    form = make_form(model_with(parts, schema))
    query = target.write(form, settle_options(target, {"dialect": "sqlite"}))
    names: dict[str, Any] = {}
    exec(str(find_target("python").write(form, {})), names)
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE cases (n TEXT)")
    for _ in range(3000):
        cell = "".join(draw.choices("0123456789.eE+-_ \txnaif,", k=draw.randint(0, 5)))
        cell = draw.choice([cell, cell, f"{cell}{draw.choice(['inf', 'nan', 'none'])}"])
        connection.execute("DELETE FROM cases")
        connection.execute("INSERT INTO cases VALUES (?)", [cell])
        found = connection.execute(str(query)).fetchone()[1]
        truth = score_or_none(lambda cell=cell: form.model.score({"n": [cell]})[0])
        other = score_or_none(lambda cell=cell: names["predict"]({"n": cell})["score"])
        result.expect(found == truth, f"{cell!r}: SQLite {found}, the model {truth}")
        result.expect(other == truth, f"{cell!r}: Python {other}, the model {truth}")
    return result


def score_or_none(score: Callable[[], float]) -> float | None:
    """Return a score, None where the cell is refused."""
    try:
        return float(score())
    except ValueError:  # an InputError is one
        return None


CASES = [
    Case("booleans and codes in other spellings", spellings),
    Case("the same in six exports", exports),
    Case("2, -0.3 and 17 in a boolean", numbers_in_booleans),
    Case("levels that training did not have", unknown),
    Case("SQLite tables without a column", lost_columns),
    Case("texts in a column of numbers, in SQLite and Python", texts_for_numbers),
]
