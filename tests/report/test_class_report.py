"""The report of several classes: plain values that add up, and a page in their words."""

import json
import re

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix
from typer.testing import CliRunner

from class_pages import CODED, NAMES, fitted, hostile_classes, table, with_pair
from report_pages import HOSTILE, QUICK, Page
from rpte import InputError, RPTEClassifier
from rpte.audit.class_metrics import class_measures, measured_class, rank_classes
from rpte.cli import app
from rpte.figures.marks import DASHES, MARKERS
from rpte.figures.svg import CLASS_COLOURS, COLOURS
from rpte.report.contents import SECTIONS, ReportOptions, report_contents
from rpte.report.effect_charts import class_note
from rpte.report.evidence import gather
from rpte.report.html import render
from rpte.report.stability import parameters, stability


def contents(classes=3, options=QUICK, **more):
    X, y = table(classes)
    model = fitted(classes).model_
    return report_contents(model, gather(model, X, y, **more), options)


def test_contents_are_plain_json_and_every_claim_holds():
    found = contents()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["data"]["table"]["training"]
    assert all(check["holds"] for check in found["guarantees"])
    assert any("optimality" in check["name"] for check in found["guarantees"])
    assert found["identity"]["task"] == "multiclass"
    _, y = table()
    counts = [int((y == c["name"]).sum()) for c in found["identity"]["classes"]]
    assert [c["total"] for c in found["identity"]["classes"]] == counts
    assert found["data"]["table"]["totals"] == counts


def test_measures_are_those_of_every_other_caller():
    X, y = table()
    model, found = fitted().model_, contents()["performance"]
    score, truth, weight = model.score(X), model.target.read(y, len(y)), np.ones(len(y))
    expected = class_measures(score, truth, weight)
    for measure in found["measures"]:
        assert measure["value"] == pytest.approx(expected[measure["key"]], rel=1e-12)
        assert measure["low"] <= measure["value"] <= measure["high"]
    matrix = confusion_matrix(y, model.predict(X))
    assert (np.array(found["confusion"]["counts"]) == matrix).all()
    assert np.array(found["confusion"]["shares"]) == pytest.approx(
        matrix / matrix.sum(axis=1, keepdims=True)
    )
    rows = rank_classes(score, truth, weight)
    for k, own in enumerate(found["classes"]):
        told = measured_class(rows, k)
        assert own["recall"][0] == told["recall"]
        assert own["auc"][1] <= own["auc"][0] == told["auc"] <= own["auc"][2]
        assert own["roc"][0] == [0.0, 0.0]
        assert own["roc"][-1][1] == 1.0
        assert sum(g["weight"] for g in own["calibration"]) == len(y)


def test_weights_count():
    X, y = table()
    model, weight = fitted().model_, np.arange(len(y)) % 3 * 1.0
    found = report_contents(model, gather(model, X, y, weight), QUICK)["performance"]
    assert np.sum(found["confusion"]["counts"]) == pytest.approx(weight.sum())
    assert found["rows"] == (weight > 0).sum()


def test_cards_have_the_coefficients_and_curves_of_every_class():
    X, _ = table()
    model, cards = fitted().model_, contents()["components"]
    rules = {rule.term: rule.coefficients for rule in model.rules()}
    told = {t["name"]: tuple(t["coefficients"]) for card in cards for t in card["direct"]}
    assert told == rules
    shape = next(s for card in cards for s in card["shapes"] if s["source"] == "kind")
    home = next(n for n, c in enumerate(model.components) if "kind" in c.sources)
    for k, own in enumerate(shape["classes"]):
        added = model.models[k].components[home].subtotal(model.read(X))
        added = added - added.mean()  # effects are counted from the training mean
        for row in own["levels"]:
            rows = X["kind"].to_numpy() == row["level"]
            assert added[rows] == pytest.approx(row["whole"])


def test_pairs_are_drawn_as_everything_else():
    model, X, y = with_pair()
    found = report_contents(model, gather(model, X, y), QUICK)
    (card,) = found["components"]
    (surface,) = card["surfaces"]
    assert set(surface["sources"]) == {"late", "kind"}
    assert np.abs(surface["classes"][2]).max() > np.abs(surface["classes"][0]).max()
    page = render(found)
    assert "What late and kind add together" in page
    kind = next(s for s in card["shapes"] if s["source"] == "kind")
    assert class_note(kind, ["a", "b", "c"]).endswith("; nothing of a, b")


def test_cases_say_why_a_class_and_not_the_next():
    X, _ = table()
    model, cases = fitted().model_, contents()["cases"]
    p = model.predict_proba(X)
    for case in cases:
        row = case["row"] - 1
        ranked = np.argsort(-p[row])
        assert case["chosen"] == model.classes[ranked[0]]
        assert case["against"] == model.classes[ranked[1]]
        total = case["intercept"] + sum(c["value"] for c in case["components"])
        assert total == pytest.approx(np.log(p[row, ranked[0]] / p[row, ranked[1]]))
    assert any(case["why"].startswith("Wrong: it was") for case in cases)


def test_groups_are_measured_by_class():
    X, y = table()
    model = fitted().model_
    groups = {"half": np.where(np.arange(len(y)) < len(y) - 5, "most", "few")}
    found = report_contents(model, gather(model, X, y, groups=groups), QUICK)
    few, most = found["subgroups"][0]["groups"]
    assert set(few) == {"group", "rows", "weight"}
    inside = y[:-5] == model.predict(X)[:-5]
    assert most["accuracy"][0] == pytest.approx(inside.mean())
    assert sum(c["observed"] for c in most["classes"]) == pytest.approx(1.0)
    assert sum(c["predicted"] for c in most["classes"]) == pytest.approx(1.0)
    assert "fewer than 10 rows: not measured" in render(found)


@pytest.mark.parametrize("classes", [3, 8])
def test_the_page_is_whole_and_begins_with_the_classes(classes):
    found = contents(classes, groups={"kind": table(classes)[0]["kind"].to_numpy()})
    text = render(found)
    page = Page(text)
    assert page.faults == []
    assert re.findall(r'<section id="([a-z]+)"', text) == list(SECTIONS)
    said = re.sub(r"\s+", " ", page.said())
    assert f"The model tells which of {classes} classes a case belongs to" in said
    for words in ("Confusion matrix", "each class against the rest", "Recall", "Balanced accuracy"):
        assert words in said
    assert "log odds of None" not in said
    small = text.count('class="multiples"')
    assert (small > 1) == (classes > len(MARKERS))  # calibration always has one


def test_colours_are_those_of_the_page_and_differ_in_print():
    text = render(contents())
    for name, colour in CLASS_COLOURS.items():
        assert f'.pic [fill="{colour}"]{{fill:var(--{name})}}' in text
        assert text.count(f"--{name}:") == 3  # light, dark, print
    assert not set(CLASS_COLOURS.values()) & set(COLOURS.values())
    assert len(set(DASHES)) == len(set(MARKERS)) == len(CLASS_COLOURS)


@pytest.mark.parametrize("classes", [3, 8])
def test_names_are_text_and_nothing_else(classes):
    made, X, y = hostile_classes(classes)
    evidence = gather(made.model_, X, y, name="<img src=x>.csv", groups={HOSTILE[1]: X[HOSTILE[1]]})
    found = Page(render(report_contents(made.model_, evidence, QUICK)))
    assert found.faults == []
    said = found.said()
    for name in (*NAMES[:classes], HOSTILE[0], HOSTILE[1]):
        assert name in said
    assert not any(found.all(tag) for tag in ("i", "img"))
    assert len(found.all("script")) == 2


def test_rows_of_one_class_and_absent_classes_are_no_crash():
    X, y = table()
    model, one = fitted().model_, y == "sort 1"
    found = report_contents(model, gather(model, X[one], y[one]), QUICK)
    assert found["performance"]["one_class"]
    assert found["performance"]["absent"] == ["sort 0", "sort 2"]
    assert "One class only." in render(found)
    two = y != "sort 2"
    page = render(report_contents(model, gather(model, X[two], y[two]), QUICK))
    assert "No row is of sort 2" in page


def test_a_model_without_terms_and_one_without_rows_have_pages():
    X, y = table()
    model = RPTEClassifier(l1=100.0, max_trees=0, special_values=CODED).fit(X, y).model_
    assert not model.components
    assert "Base rates only." in render(report_contents(model, gather(model, X, y), QUICK))
    assert "Nothing is measured." in render(report_contents(fitted().model_))
    assert "Not measured" in render(report_contents(fitted().model_, gather(fitted().model_, X)))


def test_stability_is_of_probabilities():
    X, y = table()
    model = fitted().model_
    again = RPTEClassifier(**parameters(model)).fit(X, y).model_
    assert again.score(X) == pytest.approx(model.score(X))
    evidence = gather(model, X, y)
    found = stability(model, evidence, 2)
    assert 0.0 <= found["optimism"] < 0.5
    assert found["spread"]["p"] == sorted(found["spread"]["p"])
    options = ReportOptions(resamples=20, refits=2)
    assert "Optimism of the mean AUC" in render(report_contents(model, evidence, options))
    two = y != "sort 2"
    with pytest.raises(InputError, match="no row of the class 'sort 2'"):
        stability(model, gather(model, X[two], y[two]), 2)


def test_what_is_for_other_tasks_is_refused(tmp_path):
    X, y = table()
    model = fitted().model_
    with pytest.raises(InputError, match=r"double lift .* several classes"):
        gather(model, X, y, against={"a": np.ones(len(y))})
    with pytest.raises(InputError, match="exposure is for models of numbers"):
        gather(model, X, y, exposure=np.ones(len(y)))
    path, rows, page = (tmp_path / name for name in ("model.json", "rows.csv", "page.html"))
    model.save(path)
    X.assign(sort=y).to_csv(rows, index=False)
    asked = ["report", str(path), str(rows), "--target", "sort", "-o", str(page)]
    outcome = CliRunner().invoke(app, [*asked, "--threshold", "0.2"])
    assert outcome.exit_code != 0
    assert "is for two classes" in str(outcome.exception) + outcome.output
    outcome = CliRunner().invoke(app, [*asked, "--resamples", "20"])
    assert outcome.exit_code == 0, outcome.output
    assert "The model tells which of <b>3 classes</b>" in page.read_text(encoding="utf-8")


def test_single_rows_are_not_in_the_page():
    X, y = (each.copy() for each in table())
    X.loc[17, "late"] = 77.12345
    model = fitted().model_
    options = ReportOptions(resamples=20)
    found = report_contents(model, gather(model, X, y), options)
    assert "77.12" not in json.dumps(found) + render(found)
