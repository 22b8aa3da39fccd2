import json

import pytest

from rpte.table.schema import Schema, Variable


@pytest.fixture
def schema():
    return Schema(
        (
            Variable("b", "number", (), True),
            Variable("a", "category", ("x, y", "{z}", ""), False),
            Variable("C", "number"),
        ),
        named=True,
    )


def test_json_round_trip(schema):
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_lookup_by_name_and_place(schema):
    assert len(schema) == 3
    assert schema.names == ("b", "a", "C")
    assert [schema.position(name) for name in schema.names] == [0, 1, 2]
    assert schema["a"].levels == ("x, y", "{z}", "")
    with pytest.raises(KeyError):
        schema.position("missing")


def test_names_break_ties_in_tables_with_names_and_places_in_arrays(schema):
    assert schema.canonical() == (2, 1, 0)
    assert Schema(schema.variables, named=False).canonical() == (0, 1, 2)


def test_unnamed_columns_go_by_place_even_past_ten():
    variables = tuple(Variable(f"x{i}", "number") for i in range(12))
    assert Schema(variables, named=False).canonical() == tuple(range(12))
