"""The page: one file, one script of its own, accessible, and true to hostile names."""

import base64
import hashlib
import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import rpte.report
from model_files import NAMES, NUMBER_NAMES, stored
from report_pages import (
    HOSTILE,
    QUICK,
    Page,
    contents_of,
    hostile,
    hostile_number_page,
    hostile_page,
    model_of,
    page_of,
)
from rpte import RPTEClassifier
from rpte.report.contents import SECTIONS, report_contents
from rpte.report.evidence import gather
from rpte.report.html import render
from rpte.report.numbers import count, percent, quartiles, short, signed

CSS = (Path(rpte.report.__file__).parent / "templates" / "report.css").read_text()


HOSTILE_PAGES = {"hostile": hostile_page, "hostile_number": hostile_number_page}
ALL = [*NAMES, *NUMBER_NAMES, *HOSTILE_PAGES]


def page(name):
    return HOSTILE_PAGES[name]() if name in HOSTILE_PAGES else page_of(name)


@pytest.mark.parametrize("name", ALL)
def test_pages_are_well_formed_and_whole(name):
    found = Page(page(name))
    assert found.faults == []
    ids = [a["id"] for _, a, _ in found.elements if "id" in a]
    assert len(ids) == len(set(ids))
    sections = [a["id"] for a in found.all("section")]
    assert sections == list(SECTIONS)
    targets = [a["href"] for a in found.all("a")]
    assert all(target.startswith("#") and target[1:] in ids for target in targets)


@pytest.mark.parametrize("name", ALL)
def test_one_script_runs_and_nothing_is_loaded_from_elsewhere(name):
    found = Page(page(name))
    (runs,), (data,) = found.scripts()
    digest = base64.b64encode(hashlib.sha256(runs.encode()).digest()).decode()
    policy = next(a["content"] for a in found.all("meta") if "http-equiv" in a)
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "eval" not in policy
    assert json.loads(data)["refused"] is None
    for tag, attributes, _ in found.elements:
        assert tag not in ("iframe", "object", "embed", "form", "base")
        assert not any(key.startswith("on") for key in attributes)
        for key in ("src", "href", "action", "data", "xlink:href"):
            assert attributes.get(key, "#").startswith(("#", "data:,"))
    styles = " ".join(text for tag, text in found.text if tag == "style")
    assert "url(" not in styles
    assert "@import" not in styles


@pytest.mark.parametrize("name", ALL)
def test_pages_are_accessible(name):
    found = Page(page(name))
    landmarks = [tag for tag, _, _ in found.elements if tag in ("header", "nav", "main", "footer")]
    assert landmarks == ["header", "nav", "main", "footer"]
    levels = [int(tag[1]) for tag, _, _ in found.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    for picture in found.all("svg"):
        assert picture["role"] == "img"
        assert len(picture["aria-label"]) > 1
    assert len(found.all("caption")) == len(found.all("table"))
    assert all("scope" in head for head in found.all("th"))
    for attributes in found.all("div"):
        if attributes.get("class") == "scroll":
            assert attributes["tabindex"] == "0"
            assert attributes["aria-label"]
    assert found.all("html")[0]["lang"] == "en"


def test_hostile_names_are_text_and_nothing_else():
    model, _, _ = hostile()
    found = Page(hostile_page())
    said = found.said()
    assert found.faults == []
    read = {s for component in model.components for s in component.sources}
    assert {HOSTILE[0], HOSTILE[1], HOSTILE[3]} <= read
    for name in [*HOSTILE, "<i>yes</i>", "</section>", "<b>bold</b>", "<img src=x>.csv"]:
        assert name in said
    assert "49" not in re.findall(r"\b49\b(?= adds)", said)
    assert not found.all("i")
    assert not found.all("img")


def test_half_a_surrogate_pair_in_a_name_can_be_written():
    contents = {**contents_of("mixed"), "title": "half \ud800"}
    assert "half ?" in render(contents)


def variables(block):
    return dict(re.findall(r"--([a-z-]+):(#[0-9a-f]{6})", block))


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark", "print"])
def test_text_has_contrast_in_every_scheme(scheme):
    blocks = re.findall(r":root\{(.*?)\}", CSS, re.DOTALL)
    assert len(blocks) == 3
    found = variables(blocks[["light", "dark", "print"].index(scheme)])
    for text in ("ink", "faint", "accent", "raises", "lowers", "warn"):
        for ground in ("paper", "own", "warn-soft"):
            assert contrast(found[text], found[ground]) >= 4.5, (text, ground)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_shows_every_term_and_every_check(name):
    said = Page(page_of(name)).said()
    for rule in model_of(name).rules():
        assert rule.term in said
        assert rule.conditions in said
        assert repr(rule.coefficient) in said or f"{rule.coefficient:g}" in said
    for check in contents_of(name)["guarantees"]:
        assert check["evidence"] in said


def first_facts(text):
    """Return the figures at the head of a report: what each is called, and what it says."""
    page = Page(text)
    said = [(tag, " ".join(words.split())) for tag, words in page.text if words.strip()]
    start = next(k for k, (tag, _) in enumerate(said) if tag == "dt")
    return said[start:]


def test_cross_validated_figures_come_first_on_the_training_table():
    model, record = model_of("estimated"), model_of("estimated").training["cross_validation"]
    text = page_of("estimated")
    (_, name), (_, value), (_, error), (_, protocol) = first_facts(text)[:4]
    assert name == "AUC on rows not seen"
    assert float(value) == pytest.approx(record["auc"]["mean"], abs=5e-4)
    assert error == f"± {record['auc']['error']:.3f}"
    assert protocol == "3-fold cross-validation"
    trained = [words for tag, words in first_facts(text) if tag == "dt"]
    assert "AUC on the training rows" in trained
    assert "The table is the training table" in text
    assert "clf.cross_validate" not in text
    alone = render(report_contents(model, None, QUICK))  # the file is enough
    assert first_facts(alone)[0][1] == "AUC on rows not seen"


def test_without_figures_training_rows_are_said_to_flatter():
    text = page_of("mixed")
    assert first_facts(text)[0][1] == "AUC on the training rows"
    assert "Measured on the rows that the model was fitted to" in text
    assert "clf.cross_validate(X, y)" in text
    edited = page_of("edited")
    assert "clf.cross_validate" not in edited
    assert "on rows not seen" not in edited


def test_other_rows_are_measured_with_their_number():
    held = stored("estimated")
    evidence = gather(model_of("estimated"), held.X[:80], held.y[:80], name="new.csv")
    text = render(report_contents(model_of("estimated"), evidence, QUICK))
    facts = first_facts(text)
    assert facts[0][1] == "AUC"
    assert "on 80 other rows" in [words for _, words in facts[:5]]
    assert "Not the training table" in text
    assert "Cross-validated on the training table: AUC" in text
    assert "(3 folds)." in text
    assert "fitted to" not in text


def test_gaps_are_visible_where_nothing_was_said_or_run():
    text = page_of("mixed")
    assert text.count(">To be supplied<") == 34
    for gap in ("Not run: --stability", "No peers were given", "name columns with --by"):
        assert gap in text


def test_a_model_without_terms_has_a_page():
    held = stored("mixed")
    model = RPTEClassifier(l1=100.0).fit(held.X, held.y).model_
    text = render(report_contents(model, gather(model, held.X, held.y), QUICK))
    assert Page(text).faults == []
    assert "A base rate only." in text
    assert Page(render(report_contents(model))).faults == []


@pytest.mark.slow(reason="needs many rows and many columns")
def test_many_rows_and_many_columns_stay_small():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(50_000, 110)).round(2), columns=[f"v{k}" for k in range(110)])
    y = (X["v0"] + np.sin(X["v1"]) + rng.normal(size=50_000) > 0).astype(int)
    made = RPTEClassifier(l1=0.02, max_trees=1, vocabulary="original")
    model = made.fit(X[:500], y[:500]).model_
    contents = report_contents(model, gather(model, X, y), QUICK)
    assert len(contents["performance"]["roc"]["x"]) < 500
    text = render(contents)
    assert len(text.encode()) < 2_000_000
    assert Page(text).faults == []


def test_numbers_as_printed():
    assert [signed(v) for v in (0.0, 1.5, -2.0, None)] == ["0", "+1.5", "-2", "-"]
    assert [count(v) for v in (3.0, 1234567.0, 2.5, None)] == ["3", "1,234,567", "2.5", "-"]
    assert [percent(v) for v in (0.123, "<5", None)] == ["12.3%", "<5", "-"]
    assert [count(v) for v in ("<5", "hidden")] == ["<5", "not shown"]
    assert [quartiles(q) for q in (None, [None] * 5, [None, 1.0, None, None, None])] == [
        "not shown",
        "not shown",
        "middle half from 1",
    ]
    assert [short(v) for v in (12345.6, 0.00012345, 5.0)] == ["12,346", "0.0001234", "5"]
