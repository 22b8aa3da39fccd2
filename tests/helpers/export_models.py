"""Models and tables that every export is tested on."""

from __future__ import annotations

import importlib.util
import json
import shutil
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from data_folder import DATA, needs_data  # noqa: F401 (the tests of exports import both here)
from fit_tables import mixed_case
from model_files import stored
from rpte import RPTEClassifier, RPTERegressor, RPTEWarning, load
from rpte.columns.kinds import (
    Hinge,
    Interval,
    Level,
    Missing,
    Pair,
    Pattern,
    Scale,
    Step,
    Value,
)
from rpte.export.cells import probe_table
from rpte.export.exporting import check_file
from rpte.export.lower import make_form
from rpte.export.target import find_target, settle_options
from rpte.losses import COX, GAMMA, POISSON, SQUARED
from rpte.losses.tweedie import Tweedie
from rpte.model.class_target import ClassesTarget
from rpte.model.classes import ClassesModel
from rpte.model.file import from_dict
from rpte.model.parts import Component, DirectTerm, Leaf, TreeTerms
from rpte.model.survival import Steps, SurvivalTarget
from rpte.model.target import NumberTarget
from rpte.structure.tree import Branch, Split, Tree
from rpte.table.schema import Schema, Variable

GOLDEN = Path(__file__).parents[1] / "golden" / "0.1.0"
STORED = Path(__file__).parents[1] / "golden" / "models_2"

DIRTY = 250
NUMERALS = ("0", "10", "2.5", "007", "north", "v1.0")
TABLES = {
    "hepatitis_uci.csv": {},
    "credit_scoring_spain.csv.gz": {},
    "loan_eligibility.csv": {},
    "cylinder_bands.csv": {},
    "chronic_kidney_disease.csv": {},
    "pima_diabetes.csv": {"special_values": {"insu": [0], "skin": [0]}, "l1": 3e-4},
    "heart_c_uci.csv": {},
}

NAMES = tuple(sorted(p.name[: -len(".rows.json")] for p in GOLDEN.glob("*.rows.json")))
STORED_NAMES = tuple(sorted(p.name[: -len(".rows.json")] for p in STORED.glob("*.rows.json")))


@cache
def golden(name):
    """Return a golden model with its rows, among them missing cells and unseen levels."""
    rows = json.loads((GOLDEN / f"{name}.rows.json").read_text())["rows"]
    return load(GOLDEN / f"{name}.json"), rows


@cache
def stored_model(name):
    """Return a stored model of any task with its rows, followed by rows made from the model."""
    rows = json.loads((STORED / f"{name}.rows.json").read_text())["rows"]
    model = load(STORED / f"{name}.json")
    made = probe_table(make_form(model), 100)
    if not isinstance(rows, dict):
        return model, rows
    gaps = [None] * 100
    return model, {name: [*cells, *made.get(name, gaps)] for name, cells in rows.items()}


def variables(numbers, category, flag):
    """Return a schema of three numbers (one with codes), a category, a boolean, and 1 and 2."""
    a, b, c = numbers
    return Schema(
        (
            Variable(a, "number", (), True),
            Variable(b, "number", (), False),
            Variable(c, "number", ("-9", "7.5", "n/a", "o'hara"), True),
            Variable(
                category, "category", ("3", "O'Brien", 'north "x"', "é\n", "(other)"), True, True
            ),
            Variable(flag, "category", ("False", "True"), False),
            Variable(f"{flag[:62]}2", "category", ("1", "2"), True, numeric=True),
        ),
        True,
    )


def model_with(parts, schema, intercept=-0.25):
    """Return a model of some parts, all in one component."""
    document = from_dict(stored("shaped").copy())
    trees = tuple(part for part in parts if isinstance(part, TreeTerms))
    direct = tuple(part for part in parts if isinstance(part, DirectTerm))
    limits = {**document.settings["limits"], "monotone": {}, "exclude": []}
    return replace(
        document,
        schema=schema,
        intercept=intercept,
        components=(Component("C1", trees, direct),),
        settings={**document.settings, "limits": limits},
    )


def every_kind(numbers=("a", "b", "c"), category="k", flag="f"):
    """Return a model by hand that has every kind of column, as direct terms and in a tree."""
    a, b, c = numbers
    schema = variables(numbers, category, flag)
    columns = [
        Value(a),
        Value(c),
        Level(category, ("3", "O'Brien")),
        Level(category, ("(other)", "é\n")),
        Level(flag, ("True",)),
        Level(f"{flag[:62]}2", ("2",)),
        Missing(f"{flag[:62]}2"),
        Level(c, ("-9", "n/a")),
        Level(c, ("7.5", "o'hara")),
        Missing(a),
        Missing(c),
        Missing(category),
        Interval(a, 0.1, 0.3),
        Interval(b, -np.inf, 2.0),
        Interval(c, -np.inf, np.inf),
        Step(b, 0.7),
        Hinge(a, 0.25, "above"),
        Hinge(b, 0.0, "below"),
        Scale(a, "log", (0.05,)),
        Scale(b, "sqrt", (0.0,)),
        Scale(a, "clip", (-0.5, 0.9)),
        Scale(c, "distance", (1.5,)),
        Pattern(Step(a, 0.2), Level(category, ("3",))),
        Pair("product", Value(a), Value(b)),
        Pair("sum", Value(a), Value(c)),
        Pair("difference", Hinge(a, 0.1, "above"), Value(b)),
        Pair("absolute difference", Value(a), Value(b)),
        Pair("product", Hinge(a, 0.1, "above"), Level(category, ("3", "(other)"))),
        Pair("product", Step(b, 0.5), Value(c)),
        Pair("product", Level(f"{flag[:62]}2", ("1",)), Value(b)),
        Pair("product", Scale(a, "clip", (-3.0, 3.0)), Hinge(b, 0.0, "above")),
        Scale(a, "log", (0.05, 0.8)),
        Scale(b, "sqrt", (0.1, 0.6)),
        Scale(c, "distance", (1.5, 0.5, 7.0)),
        Hinge(a, 0.25, "above", 0.7),
        Hinge(b, 0.5, "below", -0.5),
        Pair("product", Hinge(a, 0.1, "above", 0.6), Hinge(b, 0.9, "below", 0.2)),
        Pair("product", Hinge(a, 0.6, "below", 0.1), Level(category, ("3",))),
        Pair("absolute difference", Scale(a, "clip", (0.1, 0.7)), Scale(b, "clip", (0.2, 0.9))),
    ]
    terms = [
        DirectTerm(
            f"D{i}", column, round(0.37 * (-1) ** i / (i + 1), 4), centre(column), 1.0, 9.0, 4.0
        )
        for i, column in enumerate(columns, 1)
    ]
    splits = [
        Split(Value(a), 0.5, True),
        Split(Value(c), 1.0, False),
        Split(Level(category, ("(other)",))),
        Split(Level(f"{flag[:62]}2", ("2",))),
        Split(Pair("product", Value(a), Value(b)), 0.15, True),
        Split(Missing(b)),
        Split(Hinge(b, 0.0, "above"), 0.2, False),
        Split(Pair("product", Level(flag, ("True",)), Value(b)), 0.3, True),
    ]
    return model_with([hand_tree(splits), *terms], schema)


def spelling_model(flag=("False", "True"), levels=NUMERALS, pooled=False):
    """Return a model of a number, a boolean and a category whose levels look like numbers."""
    schema = Schema(
        (
            Variable("n", "number", (), True),
            Variable("flag", "category", flag, True),
            Variable("k", "category", (*levels, "(other)") if pooled else levels, True, pooled),
        ),
        True,
    )
    columns = [Value("n"), *(Level("flag", (level,)) for level in flag)]
    columns += [Level("k", (level,)) for level in schema["k"].levels]
    terms = [
        DirectTerm(f"D{i}", column, 1 / 2**i, 0.0, 1.0, 9.0, 4.0)
        for i, column in enumerate(columns, 1)
    ]
    return model_with(terms, schema)


NUMBERS = {"squared_error": SQUARED, "poisson": POISSON, "gamma": GAMMA, "tweedie": Tweedie(1.7)}
LOG_LINKS = tuple(name for name, loss in NUMBERS.items() if loss.link == "log")


def of_number(model, loss, **target):
    """Return a model with the same terms that predicts a number."""
    found = NumberTarget(NUMBERS[loss], 120.0, **{"name": "claims", **target})
    return replace(model, target=found)


def of_time(model, **target):
    """Return a model with the same terms that tells a hazard, with a baseline of five steps."""
    steps = Steps((1.0, 2.5, 4.0, 7.0, 30.0), (1e-5, 0.02, 0.15, 0.8, 6.0), 40.0)
    strata = target.get("strata", ())
    baseline = tuple(
        replace(steps, hazard=tuple(h * (k + 1.0) for h in steps.hazard))
        for k in range(max(1, len(strata)))
    )
    return replace(
        model, target=SurvivalTarget(COX, 120.0, "months", "died", baseline=baseline, **target)
    )


@cache
def number_model(loss):
    """Return a fitted model of a number, with its table and exposure (None where it has none)."""
    case, rng = mixed_case(), np.random.default_rng(3)
    X, n = case.X, len(case.X)
    mean = np.exp(0.02 * (X["age"] - 45) + 0.7 * (X["region"] == "north") + 0.3 * X["smoker"])
    exposure = None if loss == "squared_error" else rng.uniform(0.2, 1.0, n)
    times = mean if exposure is None else mean * exposure
    drawn = {
        "squared_error": lambda: 1000 * mean + rng.normal(0, 50, n),
        "poisson": lambda: rng.poisson(2 * times),
        "gamma": lambda: times * rng.gamma(2, 40, n),
        "tweedie": lambda: rng.poisson(times) * rng.gamma(2, 40, n),
    }
    made = RPTERegressor(loss=loss, l1=0.05, max_trees=1, max_leaves=4)
    given = {} if exposure is None else {"exposure": exposure}
    return made.fit(X, pd.Series(drawn[loss](), name="claims"), **given).model_, X, exposure


def classes_of(model, labels, seed=0, share=0.4):
    """Return a model of several classes with the direct terms of a model of one score.

    A part (`share`) of the coefficients of every term is zero, in at least one class they are not.
    """
    rng = np.random.default_rng(seed)
    names = [part.name for component in model.components for part in component.direct]
    sizes = np.round(rng.normal(0.0, 0.4, (len(names), len(labels))), 4)
    zero = rng.random(sizes.shape) < share
    zero[np.arange(len(names)), rng.integers(len(labels), size=len(names))] = False
    sizes[zero] = 0.0
    by_name = dict(zip(names, sizes, strict=True))

    def of(k):
        return tuple(
            replace(
                component,
                trees=(),
                direct=tuple(
                    replace(term, coefficient=float(by_name[term.name][k]))
                    for term in component.direct
                ),
            )
            for component in model.components
        )

    means = {name: [0.1 * k for k in range(len(labels))] for name in names}
    return ClassesModel(
        model.schema,
        ClassesTarget(tuple(labels), tuple(40.0 + k for k in range(len(labels)))),
        tuple(np.round(rng.normal(0.0, 0.3, len(labels)), 4).tolist()),
        tuple(of(k) for k in range(len(labels))),
        model.ownership,
        model.settings,
        model.bound,
        {**model.training, "mean_contributions": means, "class_factors": [1.0] * len(labels)},
        model.data,
    )


def centre(column):
    return 0.3 if column.centred else 0.0


def hand_tree(splits):
    """Return a tree that goes on at the side that does not hold, then at the one that does."""
    node = len(splits)
    for i in reversed(range(len(splits))):
        node = Branch(splits[i], i, node)
    leaves = tuple(Leaf(round(0.11 * i - 0.3, 3), 5.0, 2.0) for i in range(len(splits) + 1))
    return TreeTerms("T1", Tree(node), leaves)


CALM = (None, np.nan, 0.0, -0.0, 0.1, 0.3, 0.25, 0.5, 0.1 + 0.2, 2.0, 1.0, 0.15, -1.5, 0.7, 0.9)
EXTREME = (1e300, -1e300, 5e-324, -5e-324, 1e-310, 1e-200, 1e16, 123456789.123456789, 1e155, 1e-160)
SPELLED = ("3", 3, 3.0, "o'brien", "O'Brien ", "é", "", "(other)", "?", None)
TWO_NUMBERS = (1, 2.0, "1", " 2.0", 1.0, 2, None, 3, 1.5, 1e300)
FAR = (-1e300, -5000.0, -746.0, -720.0, -700.0, -45.0, -36.0, 0.0, 4.8, 36.0, 650.0, 710.0, 1e300)


def hostile_rows(model, n=300, seed=0):
    """Return rows of odd cells, every other row with extreme numbers too.

    With a variable `far` come rows in which all else is missing and the score is far from zero.
    """
    rng = np.random.default_rng(seed)
    rows = {}
    for variable in model.schema.variables:
        if variable.kind == "category":
            truth = variable.levels == ("False", "True")
            cells = (True, False, None) if truth else (*variable.levels, *SPELLED)
            cells = TWO_NUMBERS if variable.numeric else cells
        else:
            cells = (*CALM, -9, "-9.0", 7.5, "n/a", "o'hara") if variable.levels else CALM
        places = rng.permutation(np.arange(n) % len(cells))
        rows[variable.name] = [cells[i] for i in places]
        if variable.kind == "number":
            often = 0.6 if len(model.schema.names) < 7 else 0.1
            for i in np.flatnonzero((rng.random(n) < often) & (np.arange(n) % 2 == 1)):
                rows[variable.name][i] = EXTREME[rng.integers(len(EXTREME))]
    if "far" in rows:
        gaps = [None] * len(FAR)
        rows = {name: [*cells, *gaps] for name, cells in rows.items()}
        rows["far"] = [None] * n + list(FAR)
    return rows


def with_gaps(rows):
    """Return rows without empty texts, which for some targets stand for missing."""
    return {name: [None if cell == "" else cell for cell in cells] for name, cells in rows.items()}


HOSTILE_NAMES = {
    "quotes": (('a"b', "c'd", "e`f"), "g]h[", "i;--"),
    "unicode": (("größe", "年龄", "age\u200b"), "🙂 mood", "naïve"),
    "blanks": ((" lead", "trail ", "tab\there"), "line\nbreak", "a  b"),
    "reserved": (("select", "class", "return"), "case", "NULL"),
    "long": (("n" * 60, "n" * 59 + "m", "x y" * 20), "k" * 61, "f" * 63),
    "ours": (("score", "T1", "row"), "C1", "x_a"),
    "odd": (("1", "%s", "\\n"), "{x}", "/* */ --"),
}


OTHER_NAMES = {
    "results": (("mean", "exp", "response"), "probability", "exposure"),
    "times": (("survival_12", "hazard_ratio", "hazard"), "chosen", "labels"),
    "formulas": (("=A1", "+b1", "-C1"), "@d1", "=e1"),
    "escapes": (("a\\b", "a\rb", "a\r\nb"), "${x}", "__proto__"),
    "separators": (("a\u2028b", "é漢😀", " a "), "a;--b", "constructor"),
    "control": (("a\x01b", "\x7f", "\x1b[0m"), "\x02", "\x03"),  # not in XML
    "case": (("Age", "age", "AGE"), "aGe", "AgE"),  # one name in most databases
}
LEVELS = (
    "y" * 5000, "=1+1", "+1", "-1", "@SUM(A1)", "'quoted", "#N/A", "TRUE", 'a "b" c', "_x0041_",
    "a\\n", "line\r\nbreak", " blank ", "Ä", "ä", "é", "e\u0301", "x" * 256, "3", "2.5", "007", "*",
    "?", "~", "🙂" * 130, "nan", "NaN", "inf", "None", "<&>\"'", "]]>", "tab\t", "\r", "*/ --",
    "{x}", "%s",
)  # fmt: skip


def every_name(without=(), levels=LEVELS):
    """Return a model that has every kind of column and all hostile names and levels.

    The columns are those of `every_kind`, each with the names of another group. A number `far` can
    take the score anywhere; the levels of `level` differ in the sum of their terms.
    """
    groups = {**HOSTILE_NAMES, **OTHER_NAMES}
    models = [every_kind(*names) for group, names in groups.items() if group not in without]
    kinds = [model.components[0] for model in models]
    columns = [kinds[i % len(kinds)].direct[i].column for i in range(len(kinds[0].direct))]
    splits = [kinds[i % len(kinds)].trees[0].tree.splits[i] for i in range(7)]
    known = [v for model in models for v in model.schema.variables]
    read = {name for column in [*columns, *(s.column for s in splits)] for name in column.sources}
    for variable in (v for v in known if v.name not in read):
        number = variable.kind == "number"
        columns.append(
            Value(variable.name) if number else Level(variable.name, variable.levels[1:])
        )
    bits = range((len(levels) - 1).bit_length())
    marked = [tuple(v for i, v in enumerate(levels) if i >> bit & 1) for bit in bits]
    columns += [Value("far"), *(Level("level", some) for some in marked)]
    terms = [
        DirectTerm(f"D{i}", column, size_of(column, i), centre(column), 1.0, 9.0, 4.0)
        for i, column in enumerate(columns, 1)
    ]
    others = Variable("far", "number", (), True), Variable("level", "category", levels, True)
    return model_with([hand_tree(splits), *terms], Schema((*known, *others), True))


def size_of(column, i):
    return 1.0 if column == Value("far") else round(0.37 * (-1) ** i / (i + 1), 4)


LINKS = ("logit", "identity", "log", "classes", "survival")
LABELS = ("\"quoted' \n", "*/ -- ]]>", "A", "__proto__", "a", "年")
HORIZONS = (0.5, 12.0)


def of_kind(model, link):
    """Return a model with the same terms of another kind, and the options of its exports."""
    if link == "logit":
        return model, {}
    if link == "identity":
        return of_number(model, "squared_error", name="a\"'*/ -->"), {}
    if link == "log":
        return of_number(model, "poisson", name="a\"'*/ -->", exposure="]]> */ \n--"), {}
    if link == "survival":
        return of_time(model, strata=("*/ -- ]]>", "\"'\n年")), {"horizons": list(HORIZONS)}
    made = classes_of(model, LABELS)
    by_class, starts = list(made.by_class), list(made.intercepts)
    by_class[4], starts[2:5:2] = by_class[2], (2.0, 2.0)  # equal scores: the first one wins
    return replace(made, by_class=tuple(by_class), intercepts=tuple(starts)), {}


WITHOUT = {  # groups of names that a target refuses, or that are more than it holds
    "sql": ("case",),
    "pmml": ("control",),
    "scorecard": ("escapes",),
    "xlsx": ("reserved", "long", "odd", "results", "times", "case"),
}


def suite_case(link, target=""):
    """Return a model of some kind with all names and levels, rows for it, and its options.

    A target is not given the names and texts that it refuses; what it refuses is tested elsewhere.
    """
    without = WITHOUT.get(target, ())
    levels = LEVELS if target == "pmml" else (*LEVELS, "a\x01b")
    empty = target in ("onnx", "xlsx")  # an empty text stands for missing
    model, options = of_kind(every_name(without, levels if empty else (*levels, "")), link)
    few = target == "xlsx"  # a row is many formulas
    rows = hostile_rows(model, 50 if few else 200)
    made = probe_table(make_form(model), 25 if few else 100)
    rows = {name: [*cells, *made[name]] for name, cells in rows.items()}
    return model, with_gaps(rows) if empty else rows, options


def empty_case(link):
    """Return a model of some kind that has no terms, a table for it, and its options."""
    model, options = of_kind(every_kind(), link)
    gone = {"by_class": tuple(() for _ in LABELS)} if link == "classes" else {"components": ()}
    return replace(model, **gone), {name: [None] * 2 for name in model.schema.names}, options


def needing(target, options=None, programs=(), packages=(), slow=""):
    """Return a target to try, skipped where what runs it is not there.

    Tests of one program stay in one worker, which starts it once.
    """
    lacking = [name for name in programs if not shutil.which(name)]
    lacking += [name for name in packages if not importlib.util.find_spec(name)]
    marks = [pytest.mark.skipif(bool(lacking), reason=f"not there: {', '.join(lacking)}")]
    marks += [pytest.mark.slow(reason=slow), pytest.mark.xdist_group(target)] if slow else []
    name = (options or {}).get("dialect", target)
    return pytest.param(target, options or {}, id=name, marks=marks)


SQL = {"contributions": True}
JAVA = {"programs": ["java"], "packages": ["jpmml_evaluator"], "slow": "a Java machine is started"}
TARGETS = [  # with what they need to be run
    needing("python"),
    needing("javascript", programs=["node"]),
    needing("c", programs=["cc"]),
    needing("sql", {"dialect": "duckdb", **SQL}, packages=["sqlglot", "duckdb"]),
    needing("sql", {"dialect": "sqlite", **SQL}, packages=["sqlglot"]),
    needing("onnx", {"prefix": "rpte_"}, packages=["onnx", "onnxruntime"]),
    needing("pmml", **JAVA),
]
OFFICE = shutil.which("soffice") or shutil.which("libreoffice")


def check(target, model, X, folder, **options):
    """Export a model, whatever it differs by, and return the parity record on some rows."""
    chosen = find_target(target)
    settled = settle_options(chosen, options, model)
    form = make_form(model, settled)
    settled = dict(chosen.learn(form, settled, X))
    path = Path(folder) / f"model{chosen.suffix}"
    content = chosen.write(form, settled)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return check_file(form, chosen, path, settled, X, "")


def text_of(model, target, **options):
    """Return what an export of a model is, as text."""
    chosen = find_target(target)
    found = chosen.write(make_form(model), settle_options(chosen, options))
    return found if isinstance(found, str) else found.decode("latin-1")


@cache
def table_model(name, published):
    """Return a model of a table with its rows, some of them made dirtier than they are."""
    table = pd.read_csv(DATA / "panel" / name).head(600)
    X, y = table.drop(columns="target"), table["target"]
    made = RPTEClassifier.paper() if published else RPTEClassifier(**{"l1": "4/n", **TABLES[name]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RPTEWarning)
        model = made.fit(X, y).model_
    rng = np.random.default_rng(0)
    dirty = X.sample(DIRTY, replace=True, random_state=1).astype(object).reset_index(drop=True)
    for column in dirty:
        dirty.loc[rng.random(DIRTY) < 0.1, column] = None
        variable = model.schema[column]
        if variable.kind == "category":
            unseen = 7 if variable.numeric else "never seen before"
            dirty.loc[rng.random(DIRTY) < 0.05, column] = unseen
    return model, dirty
