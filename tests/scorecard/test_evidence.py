"""Counts, weights of evidence and information values of a card, and which way points go."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest

from rpte import InputError, RPTEClassifier, RPTERegressor
from rpte.export.scorecard.card import card_csv
from rpte.model.target import Target
from rpte.scorecard import Scorecard
from rpte.scorecard.card import card_page, card_text
from rpte.scorecard.outcome import bad_side


def loans(n=1200, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"age": rng.integers(18, 70, n), "job": rng.choice(["a", "b", "c"], n)})
    score = 1.0 - 0.08 * (X["age"] - 18) + 1.2 * (X["job"] == "b")
    return X, pd.Series(rng.random(n) < 1 / (1 + np.exp(-score)), name="default").astype(int)


def additive(**given):
    return RPTEClassifier(l1=0.01, max_trees=0, max_component_sources=1, **given)


@cache
def fitted(profile="safe"):
    return additive(profile=profile).fit(*loans())


def said(card):
    return " ".join(str(card).split())


def test_weights_of_evidence_are_those_of_the_counts():
    X, y = loans()
    card = fitted().scorecard(X, y)
    good, bad = (y == 0).sum(), (y == 1).sum()
    assert {table.title for table in card.tables} == {"age", "job"}
    found = list(card.lines())[1:]
    for number, table in enumerate(card.tables, 1):
        place = table.places(card.model.read(X))
        lines = [line for line in found if line.table == number]
        total = 0.0
        for line, (text, _) in enumerate(table.lines(card.model.schema)):
            inside, told = y[place == line], lines[line].evidence
            assert lines[line].attribute == text
            assert told.rows == len(inside)
            if not len(inside):
                assert told.woe is None
                continue
            shares = (inside == 0).sum() / good, (inside == 1).sum() / bad
            woe = np.log(shares[0] / shares[1])
            assert told.woe == pytest.approx(woe)
            assert told.iv == pytest.approx((shares[0] - shares[1]) * woe)
            assert told.rate == pytest.approx(inside.mean())
            total += told.iv
        assert card.information[table.title] == pytest.approx(total)
        pairs = [(line.points, line.evidence.woe) for line in lines if line.evidence.rows]
        assert np.corrcoef(*zip(*pairs, strict=True))[0, 1] > 0.9  # both speak for no default


def test_a_line_without_one_class_counts_half_a_row_of_both():
    X, y = loans()
    y = y.where(X["job"] != "c", 0)
    card = additive().fit(X, y).scorecard(X, y)
    (line,) = (line for line in card.lines() if line.attribute == "job is 'c'")
    rows, good, bad = (X["job"] == "c").sum(), (y == 0).sum(), (y == 1).sum()
    assert line.evidence.against == 0
    assert line.evidence.woe == pytest.approx(np.log((rows + 0.5) / good / (0.5 / bad)))


def test_text_table_and_page_show_them_and_the_file_keeps_them():
    X, y = loans()
    card = fitted().scorecard(X, y)
    line = next(line for line in card.lines() if line.attribute == "job is 'b'")
    woe, iv = f"{line.evidence.woe:+.3f}", f"{line.evidence.iv:.3f}"
    text = card_text(card)
    (own,) = (row for row in text.splitlines() if row.endswith("job is 'b'"))
    rate = f"{100 * line.evidence.rate:.1f}"
    assert own.split()[1:5] == [f"{line.evidence.rows:g}", rate, woe, iv]
    assert f"(IV {card.information['job']:.3f})" in text
    assert "WoE, the weight of evidence" in text
    for shown in (card_page(card), card._repr_html_()):
        assert woe in shown
        assert iv in shown
    rows = card_csv(card).splitlines()
    assert rows[0].endswith("points,rows,favoured,against,rate,woe,iv")
    again = Scorecard.from_dict(card.model, json.loads(json.dumps(card.to_dict())))
    assert card_csv(again) == card_csv(card)
    plain = fitted().scorecard(X)
    assert "WoE" not in card_text(plain)
    assert card_csv(plain).splitlines()[0] == "table,characteristic,attribute,points"


def test_the_profile_decides_what_counts_are_shown():
    X, y = loans()
    few = pd.concat([X.head(40), X[X["job"] == "b"].tail(3)])
    few = few[(few["job"] != "b") | (few.index >= few.index[-3])]
    labels = y[few.index]
    hidden = fitted().scorecard(few, labels)
    shown = fitted("full").scorecard(few, labels)
    of_b = [
        next(line for line in card.lines() if line.attribute == "job is 'b'")
        for card in (hidden, shown)
    ]
    assert of_b[0].evidence is None
    assert of_b[1].evidence.rows == 3
    (own,) = (row for row in card_text(hidden).splitlines() if row.endswith("job is 'b'"))
    assert own.split()[1] == "<5"
    with pytest.raises(InputError, match="profile='none', which keeps counts out"):
        fitted("none").scorecard(X, y)


def test_weights_are_repetitions():
    X, y = loans(300)
    weight = np.random.default_rng(0).integers(0, 3, 300)
    places = np.repeat(np.arange(300), weight)
    card = fitted().scorecard(X, y, weight)
    job = [line.evidence for line in card.lines() if line.attribute == "job is 'b'"]
    inside = X["job"].iloc[places] == "b"
    assert job[0].rows == inside.sum()
    assert job[0].rate == pytest.approx(y.iloc[places][inside.to_numpy()].mean())


def test_what_makes_no_sense_is_refused():
    X, y = loans()
    with pytest.raises(InputError, match="give X too"):
        fitted().scorecard(None, y)
    with pytest.raises(InputError, match="holds one class only"):
        fitted().scorecard(X[y == 1], y[y == 1])
    number = RPTERegressor(l1=0.1, max_trees=0).fit(X, y)
    with pytest.raises(InputError, match="cards of two classes"):
        number.scorecard(X, y)


def test_a_card_straight_after_the_fit_needs_no_table():
    """The equal parts of the file make bins although the safe profile hides the extremes."""
    X, _ = loans()
    card = fitted().scorecard()
    assert card.rows is None
    score = fitted().model_.score(X)
    lost, least = (
        np.abs(each.log_odds(each.points(X)) - score).mean()
        for each in (card, fitted().scorecard(X))
    )
    assert lost < 1.5 * least


@pytest.mark.parametrize(
    ("classes", "positive", "name", "found"),
    [
        (("no", "yes"), 1, "default", ("positive", "default")),
        (("no", "yes"), 0, "Fraud_flag", ("other", "fraud")),
        ((0, 1), 1, "TARGET_default_90d", ("positive", "default")),
        ((False, True), 1, "isDead", ("positive", "dead")),
        (("bad", "good"), 1, None, ("other", "bad")),
        (("Charged off", "Default"), 1, "status", ("positive", "default")),
        (("bad", "default"), 1, None, None),
        (("no", "yes"), 1, "bought", None),
        ((0, 1), 1, None, None),
        (("low", "high"), 1, "claims", None),
    ],
)
def test_a_bad_outcome_is_known_by_its_name(classes, positive, name, found):
    assert bad_side(Target(classes, positive, 10.0, name)) == found


def test_many_points_mean_a_low_risk_of_what_is_bad():
    X, y = loans()
    card = fitted().scorecard()
    assert card.scale.points_for == "other"
    risk = pd.Series(fitted().predict_proba(X)[:, 1])
    assert risk.corr(pd.Series(card.points(X)), method="spearman") < -0.9
    assert "High points mean low risk: default = 1 is a bad outcome by its name" in said(card)
    turned = fitted().scorecard(points_for="positive")
    assert risk.corr(pd.Series(turned.points(X)), method="spearman") > 0.9
    assert "High points mean high risk: default = 1 is a bad outcome" in said(turned)
    assert "points_for='other' turns the card round" in said(turned)
    bought = additive().fit(X, y.rename("bought")).scorecard()
    assert bought.scale.points_for == "positive"
    assert "risk" not in said(bought)
