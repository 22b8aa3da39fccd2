"""Scorecards: points add up to the score within rounding, and say what rounding costs."""

import csv
import math
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from export_models import HOSTILE_NAMES, NAMES, every_kind, golden, hostile_rows
from fit_tables import mixed_case
from rpte import InputError, RPTEClassifier
from rpte.export.parity import expected
from rpte.export.scorecard_loss import MEASURES

CASE = mixed_case()
MODEL = RPTEClassifier(l1="4/n").fit(CASE.X, CASE.y).model_
TABLE = CASE.X.assign(status=CASE.y)


def card(path):
    with path.open(newline="") as file:
        return {row["term"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize("name", NAMES)
def test_points_are_the_scaled_score_within_rounding(name, tmp_path):
    model, rows = golden(name)
    record = model.export("scorecard", tmp_path / "card.csv", rows)
    terms = sum(1 for _ in model.parts())
    assert record.tolerance == pytest.approx((terms + 1) * 0.5 * math.log(2) / 20 + 1e-5)
    assert record.holds
    fine = model.export("scorecard", tmp_path / "fine.csv", rows, digits=6)
    assert fine.differences["score"].largest < 1e-4 < record.differences["score"].largest


def test_a_card_by_hand(tmp_path):
    MODEL.export("scorecard", tmp_path / "c.csv", pdo=10, base_score=100, base_odds=1)
    factor, rows = 10 / math.log(2), card(tmp_path / "c.csv")
    assert rows["base"]["points"] == f"{100 + factor * MODEL.intercept:.0f}"
    for rule in MODEL.rules():
        row = rows.pop(rule.term)
        assert row["when"] == rule.conditions
        assert row["component"] == rule.component
        if row["points"]:
            assert row["points"] == f"{factor * rule.coefficient:+.0f}"
        else:
            assert float(row["per_unit"]) == pytest.approx(factor * rule.coefficient, rel=1e-5)
    assert set(rows) == {"base"}
    MODEL.export("scorecard", tmp_path / "o.csv", pdo=10, base_score=100, base_odds=1,
                 points_for="other")  # fmt: skip
    other = card(tmp_path / "o.csv")
    term = next(rule.term for rule in MODEL.rules() if other[rule.term]["points"])
    mine = card(tmp_path / "c.csv")
    assert float(other[term]["points"]) == -float(mine[term]["points"])


def test_rounding_costs_what_the_record_says(tmp_path):
    record = MODEL.export("scorecard", tmp_path / "c.csv", TABLE, label="status", pdo=5)
    assert "points on average" in record.notes[0]
    names = [note.split(":")[0] for note in record.notes[1:]]
    assert names == list(MEASURES)
    before = roc_auc_score(CASE.y == MODEL.classes[MODEL.positive], MODEL.score(CASE.X))
    assert f"{before:.4f} before rounding" in record.notes[1]
    assert not record.notes[1].endswith("(+0.0000)")


def test_one_class_has_no_area(tmp_path):
    few = TABLE[CASE.y == MODEL.classes[MODEL.positive]]
    record = MODEL.export("scorecard", tmp_path / "c.csv", few, label="status")
    assert "AUC: not defined, the table holds one class only" in record.notes


def test_text_and_page_hold_every_line(tmp_path):
    MODEL.export("scorecard", tmp_path / "card.csv")
    rows = card(tmp_path / "card.csv")
    for name in ("card.txt", "card.html"):
        MODEL.export("scorecard", tmp_path / name)
        text = (tmp_path / name).read_text()
        for row in rows.values():
            assert row["points"] or f"{row['per_unit']} each" in text
            assert row["term"] in text
        assert "600 points are odds of 50 to 1" in " ".join(text.split())
    assert max(map(len, (tmp_path / "card.txt").read_text().splitlines())) <= 105


def test_a_page_with_hostile_names_is_well_formed(tmp_path):
    class Reader(HTMLParser):
        seen: tuple = ()

        def handle_starttag(self, tag, attrs):
            self.seen = (*self.seen, tag)

    names = (("<script>alert(1)</script>", "b&amp;", "'\""), "<b>", "f")
    model = every_kind(*names)
    model.export("scorecard", tmp_path / "card.html")
    reader = Reader()
    text = (tmp_path / "card.html").read_text()
    reader.feed(text)
    assert "script" not in reader.seen
    assert "b" not in reader.seen
    assert "&lt;script&gt;alert(1)" in text
    for group in HOSTILE_NAMES.values():
        model = every_kind(*group)
        rows = hostile_rows(model)
        assert model.export("scorecard", tmp_path / "card.csv", rows).rows == 300
        assert np.isfinite(expected(model, rows)["score"]).all()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"pdo": 0}, "pdo=0; it must be a number above 0"),
        ({"pdo": True}, "pdo=True"),
        ({"base_odds": -1}, "base_odds=-1; it must be a number above 0"),
        ({"base_score": "x"}, "base_score='x'"),
        ({"digits": 1.5}, "digits=1.5; it must be a whole number from 0 to 6"),
        ({"points_for": "good"}, "points_for='good'; it must be 'positive' or 'other'"),
        ({"format": "pdf"}, "format='pdf'; it must be one of txt, csv, html"),
        (
            {"label": "statuss"},
            r"label='statuss' is no column of the table \(did you mean 'status'",
        ),
        ({"label": "region"}, r"'.*' is not a class; the classes are "),
    ],
)
def test_what_makes_no_sense_is_refused(options, says, tmp_path):
    with pytest.raises(InputError, match=says):
        MODEL.export("scorecard", tmp_path / "card.csv", TABLE, **options)
    assert not list(tmp_path.iterdir())


def test_the_ending_of_the_file_decides_the_format(tmp_path):
    MODEL.export("scorecard", tmp_path / "card.html")
    assert (tmp_path / "card.html").read_text().startswith("<!DOCTYPE html>")
    with pytest.raises(InputError, match="format='pdf'"):
        MODEL.export("scorecard", tmp_path / "card.pdf")


def test_labels_of_any_type(tmp_path):
    y = CASE.y == "sick"
    model = RPTEClassifier(l1="4/n").fit(CASE.X, y).model_
    for column in (y, pd.Series(y).astype(str)):
        record = model.export("scorecard", tmp_path / "c.csv", CASE.X.assign(y=column), label="y")
        assert len(record.notes) == 5
