"""Damaged and forged files: refused in one line, or the same model, or one that works."""

import json
import random
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from file_fuzz import (
    VALUES,
    damaged_bytes,
    damaged_document,
    dumped,
    outcome_of_damage,
    outcome_of_forgery,
    places,
)
from model_files import EVERY_NAME, sealed, stored
from rpte import ModelFileError
from rpte.model.file import from_dict

QUICK = examples(60)


@QUICK
@given(
    name=st.sampled_from(EVERY_NAME), seed=st.integers(0, 2**32), layout=st.sampled_from((None, 1))
)
def test_damaged_bytes(name, seed, layout, tmp_path):
    content = json.dumps(stored(name).document, indent=layout).encode()
    path = tmp_path / "model.json"
    path.write_bytes(damaged_bytes(content, random.Random(seed)))
    outcome_of_damage(path, from_dict(stored(name).copy()))


@QUICK
@given(name=st.sampled_from(EVERY_NAME), seed=st.integers(0, 2**32))
def test_forged_documents(name, seed, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(dumped(damaged_document(stored(name).document, random.Random(seed))))
    outcome_of_forgery(path)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)


@QUICK
@given(name=st.sampled_from(EVERY_NAME), where=st.integers(0, 10**6), value=JSON_VALUES)
def test_any_value_in_any_place(name, where, value, tmp_path):
    document = stored(name).copy()
    found = list(places(document))
    holder, key = found[where % len(found)]
    holder[key] = value
    with suppress(ValueError):  # NaN in it: no hash can fit
        document = sealed(document)
    path = tmp_path / "model.json"
    path.write_text(dumped(document))
    outcome_of_forgery(path)


@pytest.mark.parametrize("value", VALUES, ids=lambda v: repr(v)[:20])
def test_every_strange_value_in_every_top_field(value):
    document = stored("array").document
    for field in document:
        if type(value) is type(document[field]) and value == document[field]:
            continue
        with pytest.raises(ModelFileError):
            from_dict({**stored("array").copy(), field: value})
