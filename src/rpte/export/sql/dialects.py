"""What SQL dialects differ in beyond their syntax, which sqlglot knows."""

from dataclasses import dataclass

from rpte.errors import InputError, did_you_mean
from rpte.export.target import Options

# sqlglot reads or writes parts of these, but they have no queries of the usual kind.
NO_QUERIES = frozenset({"", "dax", "prql", "solr", "tableau"})
CLASS = "class"  # the column that tells the class, of several


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one database holds names, texts and numbers."""

    longest_name: int | None = 255  # in bytes; longer names would be cut or refused
    cases_differ: bool = False  # two quoted names may differ in upper and lower case alone
    forbidden: str = ""  # characters that no column name may have
    # Columns, in small letters, that every table has: without one of the user's of that name, a
    # query would read them.
    hidden: frozenset[str] = frozenset()
    text_type: str = "TEXT"  # what texts are read as, where sqlglot's choice does not do
    to_number: str = ""  # the function that makes a float64, where a cast and the letter E do not
    # What a cast makes of a text that is no number: `error`; `null`; `blank`: 0 of an empty text,
    # an error otherwise; `pattern` or `affinity`: the number that it begins with, or 0, and how it
    # is told in advance.
    text_numbers: str = "error"
    collation: str = ""  # what makes the comparison of texts exact, where it is not by itself
    national: bool = False  # texts need N'...' to keep every character
    infinities: bool = False  # a product that overflows is infinite; elsewhere it is an error
    underflows: bool = True  # a product too small to be a number is 0; elsewhere it is an error
    # Layers must be told to be computed once, and can be; a query of many layers grows beyond
    # measure where each is put into the next.
    materialized: bool = False


SYSTEM = frozenset({"tableoid", "xmin", "cmin", "xmax", "cmax", "ctid", "oid"})
ROWID = frozenset({"rowid", "oid", "_rowid_"})
POSTGRES = Dialect(
    longest_name=63, cases_differ=True, hidden=SYSTEM, underflows=False, materialized=True
)
SPARK = ("databricks", "hive", "spark", "spark2")
DIALECTS = {
    **dict.fromkeys(("athena", "presto", "trino"), Dialect(infinities=True)),
    **dict.fromkeys(("doris", "druid", "starrocks"), Dialect(text_numbers="null")),
    **dict.fromkeys(SPARK, Dialect(infinities=True, text_numbers="null")),
    "bigquery": Dialect(longest_name=300, forbidden='!"$()*,./;?@[\\]^`{}~\n\t'),
    "clickhouse": Dialect(cases_differ=True, infinities=True),
    "duckdb": Dialect(longest_name=None, hidden=frozenset({"rowid"}), infinities=True),
    "fabric": Dialect(text_numbers="blank"),
    "materialize": Dialect(longest_name=255, cases_differ=True, underflows=False),
    "mysql": Dialect(longest_name=64, collation="binary", text_numbers="pattern"),
    "oracle": Dialect(
        longest_name=128,
        cases_differ=True,
        forbidden='"',
        hidden=frozenset({"rowid", "rownum", "ora_rowscn"}),
        text_type="VARCHAR2(4000)",
        to_number="TO_BINARY_DOUBLE",
    ),
    "postgres": POSTGRES,
    "redshift": Dialect(longest_name=127, hidden=SYSTEM, underflows=False),
    "risingwave": Dialect(longest_name=63, cases_differ=True, underflows=False),
    "singlestore": Dialect(text_numbers="pattern"),
    "snowflake": Dialect(cases_differ=True),
    "sqlite": Dialect(
        longest_name=None,
        hidden=ROWID,
        text_numbers="affinity",
        collation="BINARY",
        infinities=True,
        materialized=True,
    ),
    "teradata": Dialect(longest_name=128, text_type="VARCHAR(4000)", text_numbers="blank"),
    "tsql": Dialect(
        longest_name=128,
        text_type="NVARCHAR(MAX)",
        text_numbers="blank",
        collation="Latin1_General_100_BIN2",
        national=True,
    ),
}


def find_dialect(name: str) -> Dialect:
    """Return what is special about a dialect, refusing one that sqlglot does not know."""
    known = dialect_names()
    if name not in known:
        hint = did_you_mean(name, known)
        raise InputError(f"no SQL dialect {name!r}{hint}; choose of {', '.join(known)}")
    return DIALECTS.get(name, Dialect())


def dialect_names() -> list[str]:
    """Return the dialects that sqlglot can write queries of."""
    try:
        from sqlglot.dialects.dialect import Dialect as Known
    except ImportError as error:
        raise InputError("SQL needs sqlglot; install it with pip install 'rpte[sql]'") from error
    return sorted(set(Known.classes) - NO_QUERIES)


def keys_of(options: Options) -> tuple[str, ...]:
    """Return the columns that identify a row in the result."""
    keys = options["keys"]
    return tuple(keys.split(",")) if isinstance(keys, str) else tuple(keys)
