"""The ablation benchmark: what variants set is there and comes back; paired errors; the page."""

from importlib import import_module

import pandas as pd
import pytest

from ablation import FIELDS, VARIANTS, patched, put, table_of
from rpte import RPTEClassifier


@pytest.mark.parametrize("name", [v for v in VARIANTS if VARIANTS[v].constants])
def test_a_variant_sets_constants_of_the_library(name):
    def now():
        places = [constant.rpartition(".") for constant in VARIANTS[name].constants]
        return [getattr(import_module(f"rpte.{place}"), last) for place, _, last in places]

    before, wanted = now(), list(VARIANTS[name].constants.values())
    assert all(b != w for b, w in zip(before, wanted, strict=True))
    with patched(VARIANTS[name]):
        assert now() == wanted
    assert now() == before


@pytest.mark.parametrize("name", [v for v in VARIANTS if VARIANTS[v].parameters])
def test_a_variant_sets_parameters_that_are_not_the_default(name):
    usual = RPTEClassifier().get_params()
    assert all(usual[key] != value for key, value in VARIANTS[name].parameters.items())


def rows(variant, *aucs, seconds=1.0):
    """Return rows of one fold of each of two tables."""
    return [
        dict(zip(FIELDS, (variant, table, 1, 0, auc, 1 - auc, 10, seconds), strict=True))
        for table, auc in zip(("sonar", "adult"), aucs, strict=False)
    ]


def test_changes_are_paired_by_table():
    frame = pd.DataFrame([*rows("default", 0.6, 0.9), *rows("no_trees", 0.5, 0.78, seconds=2.0)])
    default, no_trees = table_of(frame).splitlines()[-2:]
    assert default == "| the default | 0.7500 | 0.2500 | 10.0 | | | 1.00 |"
    changes = "-0.1100 ± 0.0100 | +0.1100 ± 0.0100 | 2.00"  # differences of 0.10 and 0.12
    assert no_trees == f"| no trees | 0.6400 | 0.3600 | 10.0 | {changes} |"


def test_a_fold_that_a_variant_lacks_is_left_out():
    frame = pd.DataFrame([*rows("default", 0.6, 0.9), *rows("no_trees", 0.5)])
    text = table_of(frame)
    assert "1 tables (sonar) and 1 held-out folds" in " ".join(text.split())
    assert "| the default | 0.6000 |" in text


def test_the_table_goes_between_the_marks_of_a_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- ablation:begin -->\nold\n<!-- ablation:end -->\nb\n")
    for text in ("new", "newer"):
        put(text, page)
        wanted = f"a\n<!-- ablation:begin -->\n{text}\n<!-- ablation:end -->\nb\n"
        assert page.read_text() == wanted
    page.write_text("a\n<!-- ablation:begin -->\nno end\n")
    with pytest.raises(ValueError, match="ablation:end"):
        put("new", page)
    assert page.read_text() == "a\n<!-- ablation:begin -->\nno end\n"
