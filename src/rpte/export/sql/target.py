"""SQL: one query that reads a table and gives score, probability or mean, and on request more."""

from typing import Any

from rpte.errors import InputError
from rpte.export import reasons
from rpte.export.form import Form
from rpte.export.sql.dialects import Dialect, find_dialect, keys_of
from rpte.export.sql.run import run
from rpte.export.target import SIMPLE, Answers, Options, Target, check_levels, check_prefix

MOST_COLUMNS = 1000
OPTIONS = {
    "dialect": "postgres", "table_name": "cases", "keys": (), "contributions": False,
    "prefix": "rpte_", "quoted": True, **reasons.OPTIONS,
}  # fmt: skip


def check(form: Form, options: Options) -> None:
    """Refuse an unknown dialect, and names that the dialect cannot hold."""
    traits = find_dialect(options["dialect"])
    inputs = [given.name for given in form.inputs]
    names = [*inputs, *keys_of(options)]
    for name in names:
        _check_name(name, traits, options)
    seen: dict[str, str] = {}
    for name in inputs:
        other = seen.setdefault(name.lower(), name)
        if other != name and not traits.cases_differ:
            raise InputError(
                f"the columns {other!r} and {name!r} differ in case alone, which "
                f"{options['dialect']} does not tell apart: rename one and fit again"
            )
    _check_table(options)
    if form.classes and options["contributions"] and len(form.lines) + len(names) > MOST_COLUMNS:
        raise InputError(
            f"the contributions to {len(form.classes)} classes are {len(form.lines)} columns, more "
            f"than the {MOST_COLUMNS} that databases hold; export without contributions"
        )
    check_levels("SQL", form)
    check_prefix(options["prefix"], names)
    reasons.check(form, options)


def _check_name(name: str, traits: Dialect, options: Options) -> None:
    dialect, length = options["dialect"], len(name.encode(errors="surrogatepass"))
    shown = name if len(name) < 60 else f"{name[:57]}..."
    bad = [c for c in name if c in traits.forbidden + "\0" or 0xD800 <= ord(c) < 0xE000]
    if traits.longest_name is not None and length > traits.longest_name:
        rule = f"is {length} bytes long; {dialect} holds names of up to {traits.longest_name}"
    elif bad:
        rule = f"holds the character {bad[0]!r}, which {dialect} does not allow in a name"
    elif name.lower() in traits.hidden:
        rule = f"has the name of a column that every table of {dialect} has"
    elif not options["quoted"] and not SIMPLE.fullmatch(name):
        rule = "needs quotes; leave quoted=true"
    else:
        return
    raise InputError(f"the column {shown!r} {rule}: rename it and fit again")


def _check_table(options: Options) -> None:
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        table = exp.to_table(options["table_name"], dialect=options["dialect"])
    except (SqlglotError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"table_name={options['table_name']!r} is no table: {reason}") from error
    if not isinstance(table, exp.Table) or not table.name:
        raise InputError(f"table_name={options['table_name']!r} is no table; give schema.table")


def write(form: Form, options: Options) -> str:
    """Return the query, with a comment that says what it is."""
    from rpte.export.sql.query import query_text

    return query_text(form, options)


def notes(form: Form, options: Options, X: Any, answers: Answers) -> tuple[str, ...]:
    """Say that the reasons are those of the library, or refuse them."""
    if not options["reasons"]:
        return ()
    empty = [None] * len(answers.lines["score"])
    places = [
        [answers.others.get(f"reason_{place}{what}", empty) for what in ("_code", "", "_weight")]
        for place in range(1, options["reasons"] + 1)
    ]
    told = [[tuple(c[row] for c in place) for place in places] for row in range(len(empty))]
    return (reasons.same_reasons(form, options, X, told),)


WITH = ("sqlglot", "duckdb")
TARGET = Target(
    "sql", ".sql", write, run, OPTIONS, check, notes=notes, packages=WITH, settle=reasons.settle
)
