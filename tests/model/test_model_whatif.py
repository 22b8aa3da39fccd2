"""What if a value were another: only the components that read it may move."""

import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from model_files import stored
from rpte import InputError
from rpte.model.file import build

NAMES = ("mixed", "special", "products", "shaped", "published", "limited")
CELLS = {
    "age": st.one_of(st.none(), st.integers(0, 99)),
    "income": st.one_of(st.none(), st.floats(0, 90)),
    "region": st.sampled_from([None, "north", "east", "nowhere"]),
    "smoker": st.sampled_from([None, "True", "False"]),
    "noise": st.floats(-3, 3),
}


def model_and_row(name, place=0):
    case = stored(name)
    return build(case.document), case.X.iloc[[place]]


@pytest.mark.filterwarnings("ignore:column .* training did not have")
@examples(50)
@given(st.sampled_from(NAMES), st.integers(0, 60), st.data())
def test_only_components_that_read_a_changed_variable_move(name, place, data):
    model, row = model_and_row(name, place)
    changed = data.draw(
        st.lists(st.sampled_from(sorted(set(CELLS) & set(model.schema.names))), unique=True)
    )
    changes = {variable: data.draw(CELLS[variable]) for variable in changed}
    found = model.what_if(row, changes)
    fresh = row.astype(object).assign(**{name: [cell] for name, cell in changes.items()})
    assert found.after.score == model.score(fresh)[0]
    assert found.before.score == model.score(row)[0]
    moved = {m.before.component for m in found.moved}
    assert moved | set(found.still) == {c.name for c in model.components}
    for component in model.components:
        assert (component.name in moved) == bool(set(component.sources) & set(changes))
    pairs = zip(found.before.components, found.after.components, strict=True)
    for before, after in pairs:
        if before.component in found.still:
            assert before == after
    read = {s for c in model.components for s in c.sources}
    assert set(found.unread) == set(changes) - read


def test_it_says_what_moved_and_what_was_checked():
    model, row = model_and_row("limited")
    found = model.what_if(row, {"age": 90})
    text = str(found)
    assert f"age: {row['age'].iloc[0]:.0f} -> 90" in text
    assert "checked: nothing moved in the" in text
    assert "to the last bit" in text
    assert f"probability of 'sick' from {found.before.probability:.4f}" in text
    record = found.to_dict()
    assert json.loads(json.dumps(record)) == record
    assert record["changes"]["age"][1] == 90


def test_special_codes_gaps_and_new_levels_are_read_as_in_a_table():
    model, row = model_and_row("special")
    assert model.what_if(row, {"points": -9}).changes["points"][1] == "-9"
    assert model.what_if(row, {"points": "-8"}).changes["points"][1] == "-8"
    assert model.what_if(row, {"income": None}).changes["income"][1] is None
    flags = model.what_if(row, {"region": "nowhere"}).after.flags
    assert any("not seen" in flag for flag in flags)


def test_mistakes_are_told():
    model, row = model_and_row("mixed")
    with pytest.raises(InputError, match=r"'Age' is no variable of the model .did you mean 'age'"):
        model.what_if(row, {"Age": 3})
    with pytest.raises(InputError, match="column 'age' is a number but holds the text 'old'"):
        model.what_if(row, {"age": "old"})
    with pytest.raises(InputError, match="X has 2 rows"):
        model.what_if(pd.concat([row, row]), {"age": 3})
