"""Cross-validated figures in a model file: optional, of the fit alone, and checked as fields."""

import contextlib
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from file_fuzz import verdicts
from model_files import NAMES, sealed, stored, write
from rpte.check import rpte_check
from rpte.errors import ModelFileError
from rpte.model import ledger
from rpte.model.file import from_dict
from rpte.model.summary import RECORD, figures, figures_text
from rpte.model.versions import without

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "content", "groups", [], {}, {"mean": 0.5}, {"mean": 1, "error": None}]),
)
FIELDS = ("folds", "by", "rows", "auc", "log_loss", "brier", "miu")


def refused_by_library(document):
    try:
        from_dict(document)
    except ModelFileError:
        return True
    return False


def refused_by_checker(document, folder):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return rpte_check.main([str(write(document, folder))]) != 0


@examples(40)
@given(data=st.data())
def test_both_readers_judge_changed_figures_alike(data, tmp_path_factory):
    document = stored("estimated").copy()
    record = document["training"]["cross_validation"]
    name = data.draw(st.sampled_from((*FIELDS, "more")))
    inside = isinstance(record.get(name), dict) and data.draw(st.booleans())
    holder = record[name] if inside else record
    key = data.draw(st.sampled_from(("mean", "error", "n"))) if inside else name
    if key in holder and data.draw(st.integers(0, 5)) == 0:
        del holder[key]
    else:
        holder[key] = data.draw(ODD)
    changed = sealed(document)
    folder = tmp_path_factory.mktemp("figures")
    assert refused_by_library(changed) == refused_by_checker(changed, folder)


SHARE = {"mean": 0.5, "error": 0.01}
SPLIT = {"folds": 5, "rows": 100, "by": "content", "miu": SHARE}
VALIDATED = {  # fields of the cross-validated figures of a task; the file of a model of it
    "mixed": ("log_loss", "brier", "auc"),
    "classes": ("log_loss", "accuracy", "auc"),
    "counts": ("mae", "rmse", "deviance_explained"),
    "trial": ("concordance", "brier", "brier_explained"),
}
MEASURED = {  # those of a ledger
    "edited": {"rows": 9.0, "log_loss": 0.5, "brier": 0.2, "auc": 0.6},
    "counts": {"rows": 9.0, "deviance_explained": 0.1, "mae": 1.0, "rmse": 1.0},
    "classes": {"rows": 9.0, "log_loss": 0.5, "brier": 0.2, "accuracy": 0.6},
    "edited_times": {"rows": 9.0, "events": 3.0, "concordance": 0.6, "log_likelihood": -3.0},
}


@pytest.mark.parametrize("of", VALIDATED)
@pytest.mark.parametrize("name", VALIDATED)
def test_both_readers_take_the_figures_of_the_task_alone(name, of, tmp_path):
    document = stored(name).copy()
    document["training"][RECORD] = SPLIT | dict.fromkeys(VALIDATED[of], SHARE)
    assert verdicts(write(sealed(document), tmp_path)) == (name == of, name == of)


@pytest.mark.parametrize("of", MEASURED)
@pytest.mark.parametrize("name", ["edited", "edited_times"])
def test_both_readers_take_the_figures_of_the_task_alone_in_a_ledger(name, of, tmp_path):
    document, last = stored(name).copy(), None
    for number, entry in enumerate(document["ledger"]):
        for when in ("before", "after"):
            entry[when]["metrics"] = MEASURED[of]
        document["ledger"][number] = last = ledger.sealed(without(entry, "previous", "hash"), last)
    assert verdicts(write(sealed(document), tmp_path)) == (name == of, name == of)


def test_figures_do_not_go_with_a_ledger(tmp_path):
    document = stored("edited").copy()
    record = stored("estimated").document["training"]["cross_validation"]
    document["training"]["cross_validation"] = record
    changed = sealed(document)
    with pytest.raises(ModelFileError, match=r"training\.cross_validation is of the fit, which"):
        from_dict(changed)
    assert refused_by_checker(changed, tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_without_figures_is_as_good(name):
    document = stored(name).copy()
    document["training"] = without(document["training"], RECORD)
    if name != "edited":  # a ledger seals the whole
        document = sealed(document)
    model = from_dict(document)
    assert figures(model) is None
    assert "cross-validation" not in model.summary()


def test_figures_are_said_with_their_protocol():
    record = {
        "folds": 5,
        "by": "groups",
        "rows": 1200,
        "auc": None,
        "log_loss": {"mean": 0.25, "error": 0.01},
        "brier": {"mean": 0.1, "error": None},
        "miu": {"mean": 12.0, "error": 1.0},
    }
    assert figures_text(record) == (
        "on rows not seen (5-fold cross-validation of 1,200 rows, groups together): log-loss "
        "0.2500 ± 0.0100, Brier score 0.1000"
    )
