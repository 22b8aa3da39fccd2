"""The ablation benchmark: every constant that a variant sets is there, and comes back."""

from importlib import import_module

import pytest

from ablation import PATCHES, patched


@pytest.mark.parametrize("variant", PATCHES)
def test_a_variant_sets_a_constant_of_the_library(variant):
    _, place, name, value = PATCHES[variant]
    module = import_module(f"rpte.{place}")
    before = getattr(module, name)
    assert before != value
    with patched(variant):
        assert getattr(module, name) == value
    assert getattr(module, name) == before
