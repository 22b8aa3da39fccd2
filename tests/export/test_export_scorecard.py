"""Exported scorecards: printed lines give the card's points, and the record tells what is lost."""

import csv
import re
from html import unescape
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from export_models import NAMES, every_kind, golden, hostile_rows
from fit_tables import mixed_case
from model_files import stored
from rpte import InputError, RPTEClassifier
from rpte.export.exporting import check_export, read_record
from rpte.export.scorecard.card import MEASURES
from rpte.model.file import from_dict

CASE = mixed_case()
MODEL = RPTEClassifier(l1="4/n").fit(CASE.X, CASE.y).model_
TABLE = CASE.X.assign(status=CASE.y)


def lines_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", NAMES)
def test_the_table_read_again_gives_the_points_of_the_card(name, tmp_path):
    model, rows = golden(name)
    record = model.export("scorecard", tmp_path / "card.csv", rows)
    assert record.holds
    assert record.tolerance == 0
    assert record.differences["score"].largest == 0
    assert "the card differs from the model by" in record.notes[0]
    lines = lines_of(tmp_path / "card.csv")
    card = model.scorecard(rows)
    assert [int(line["points"]) for line in lines] == [line.points for line in card.lines()]


def test_a_changed_line_is_noticed(tmp_path):
    path = tmp_path / "card.csv"
    MODEL.export("scorecard", path, TABLE)
    lines = path.read_text().splitlines()
    lines[1] = lines[1].rsplit(",", 1)[0] + ",7"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match="it was changed since"):
        check_export(MODEL, path, TABLE)


def test_a_later_check_on_other_rows_is_of_the_same_card(tmp_path):
    path = tmp_path / "card.txt"
    MODEL.export("scorecard", path, TABLE)
    before, text = read_record(path)["options"]["card"], path.read_text()
    record = check_export(MODEL, path, TABLE.head(40))
    assert record.holds
    assert record.rows == 40
    assert read_record(path)["options"]["card"] == before
    assert path.read_text() == text
    made = check_export(MODEL, path)
    assert made.holds
    assert made.notes[0].startswith("not measured on rows: ")


def test_the_record_says_how_far_the_card_is_from_the_model(tmp_path):
    record = MODEL.export("scorecard", tmp_path / "c.csv", TABLE, label="status", pdo=5)
    names = [note.split(":")[0] for note in record.notes[1:]]
    assert names == [*MEASURES, "information value"]
    y = CASE.y == MODEL.classes[MODEL.positive]
    card = MODEL.scorecard(CASE.X, pdo=5)
    before, after = (
        roc_auc_score(y, s) for s in (MODEL.score(CASE.X), card.log_odds(card.points(CASE.X)))
    )
    assert f"{before:.4f} of the model, {after:.4f} of the card" in record.notes[1]
    gap = np.abs(card.log_odds(card.points(CASE.X)) - MODEL.score(CASE.X)) * abs(card.scale.factor)
    assert f"{gap.mean():.2f} points on average and {gap.max():.1f} at most" in record.notes[0]


def test_without_rows_the_record_gives_a_bound(tmp_path):
    record = MODEL.export("scorecard", tmp_path / "c.csv")
    bound = MODEL.scorecard().bound
    assert f"by at most {bound:.1f} points" in record.notes[0]
    assert "beyond them there is no bound; give rows" in record.notes[0]
    with pytest.raises(InputError, match="label='status' needs rows that have it"):
        MODEL.export("scorecard", tmp_path / "d.csv", label="status")


def test_one_class_has_no_area(tmp_path):
    few = TABLE[CASE.y == MODEL.classes[MODEL.positive]]
    record = MODEL.export("scorecard", tmp_path / "c.csv", few, label="status")
    assert "AUC: not defined, the table holds one class only" in record.notes
    assert not any(note.startswith("information value") for note in record.notes)


def test_text_and_page_hold_every_line(tmp_path):
    MODEL.export("scorecard", tmp_path / "card.csv", TABLE)
    for name in ("card.txt", "card.html"):
        MODEL.export("scorecard", tmp_path / name, TABLE)
        text = unescape((tmp_path / name).read_text())
        whole = " ".join(text.split())
        for line in lines_of(tmp_path / "card.csv")[1:]:
            for part in line["attribute"].split(" and "):
                assert part in whole
        assert "Base score 600 at base odds of 50 to 1" in whole
        assert "(PDO 20)" in whole
        assert "slope" not in whole
    assert max(map(len, (tmp_path / "card.txt").read_text().splitlines())) <= 105


def test_a_page_with_hostile_names_is_well_formed(tmp_path):
    class Reader(HTMLParser):
        seen: tuple = ()

        def handle_starttag(self, tag, attrs):
            self.seen = (*self.seen, tag)

    names = (("<script>alert(1)</script>", "b&amp;", "'\""), "<i>", "f")
    model = every_kind(*names)
    model.export("scorecard", tmp_path / "card.html", hostile_rows(model))
    reader = Reader()
    text = (tmp_path / "card.html").read_text()
    reader.feed(text)
    assert "script" not in reader.seen
    assert "i" not in reader.seen
    assert "&lt;script&gt;alert(1)" in text


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"pdo": 0}, "pdo=0; it must be a number above 0"),
        ({"pdo": True}, "pdo=True"),
        ({"base_odds": -1}, "base_odds=-1; it must be a number above 0"),
        ({"base_score": "x"}, "base_score='x'"),
        ({"digits": 1}, "scorecard has no option 'digits'"),
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
    MODEL.export("scorecard", tmp_path / "card.html", TABLE)
    assert (tmp_path / "card.html").read_text().startswith("<!DOCTYPE html>")
    with pytest.raises(InputError, match="format='pdf'"):
        MODEL.export("scorecard", tmp_path / "card.pdf", TABLE)


def test_labels_of_any_type(tmp_path):
    y = CASE.y == "sick"
    model = RPTEClassifier(l1="4/n").fit(CASE.X, y).model_
    for column in (y, pd.Series(y).astype(str)):
        record = model.export("scorecard", tmp_path / "c.csv", CASE.X.assign(y=column), label="y")
        assert len(record.notes) == 6


def test_a_name_with_a_carriage_return_stays_in_its_cell(tmp_path):
    y = CASE.y
    X = CASE.X.rename(columns={"age": "a\rge"}).replace({"region": {"north": "no\rrth"}})
    model = RPTEClassifier(l1="4/n").fit(X, y).model_
    assert "a\rge" in model.components[0].sources
    assert model.export("scorecard", tmp_path / "card.csv", X).holds
    lines = lines_of(tmp_path / "card.csv")
    assert any("a\rge" in line["characteristic"] for line in lines)


def test_a_card_of_times_far_out_says_how_far_it_is_from_the_model(tmp_path):
    made, path = stored("trial"), tmp_path / "card.csv"
    model = from_dict(made.copy())
    given = {"horizons": [5.0], "stratum": "north"}
    assert model.export("scorecard", path, made.X, **given).holds
    record = check_export(model, path, made.X.assign(age=1e7, power=1e9).head(3))
    assert record.holds
    assert re.search(r"a factor of 10\^\d+ of the hazard", record.notes[0])
