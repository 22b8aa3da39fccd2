"""`report` of estimators and models: the page of `rpte report`, from Python."""

import re

import pandas as pd
import pytest

from report_pages import Page
from rpte import InputError
from rpte.report.html import render
from rpte.report.report import Report
from shown_models import loans, shown

TASKS = ("binary", "several", "number", "count", "survival", "strata")


@pytest.mark.parametrize("task", TASKS)
def test_every_task_has_a_page(task, tmp_path):
    estimator, X, y, given = shown(task)
    found = estimator.report(X, y, tmp_path / "report.html", resamples=20, **given)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert text == found.html == render(found.contents)
    assert found.failed == []
    assert found.contents["performance"]["training"]
    assert str(tmp_path / "report.html") in repr(found)
    shown_text = Page(found._repr_html_())
    assert shown_text.all("a")[0]["href"] == (tmp_path / "report.html").as_posix()
    first = found.contents["performance"]["measures"][0]
    assert first["name"] in shown_text.said()


def test_without_a_path_the_page_is_kept_until_it_is_saved(tmp_path):
    estimator = shown("binary")[0]
    found = estimator.report()
    assert isinstance(found, Report)
    assert found.path is None
    assert "save(path)" in repr(found)
    saved = found.save(tmp_path / "late.html")
    assert saved.path == tmp_path / "late.html"
    assert saved.html == (tmp_path / "late.html").read_text(encoding="utf-8")


def test_groups_are_columns_or_values(tmp_path):
    X, y = loans()
    model = shown("binary")[0].model_
    beside = pd.Series(["a", "b"] * (len(X) // 2), X.index)
    by_name = model.report(X, y, by=["job"], resamples=20)
    by_value = model.report(X, y, by={"side": beside}, resamples=20)
    assert "job" in str(by_name.contents["subgroups"])
    assert "side" in str(by_value.contents["subgroups"])
    with pytest.raises(InputError, match=r"by='job' is one name; give a list"):
        model.report(X, y, by="job")
    with pytest.raises(InputError, match="X has no column 'jib'"):
        model.report(X, y, by=["jib"])


def test_what_does_not_go_together_is_refused(tmp_path):
    X, y = loans()
    model = shown("binary")[0].model_
    with pytest.raises(InputError, match="by needs outcomes"):
        model.report(X, by=["job"])
    with pytest.raises(InputError, match="give X too"):
        model.report(y=y)
    with pytest.raises(InputError, match=re.escape("threshold=0.2 is a probability")):
        shown("count")[0].report(X, threshold=0.2)
    with pytest.raises(InputError, match="2 causes"):
        shown("causes")[0].report()
