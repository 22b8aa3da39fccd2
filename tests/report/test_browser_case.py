"""A case tried in the page scores as the model does: numbers, levels, missing cells, codes."""

import numpy as np
import pandas as pd
import pytest

from model_files import stored
from report_pages import model_of
from rpte.report.contents import report_contents
from rpte.report.html import render

MANY, SOME = 200, 25
# Sets the controls of each case as a reader would, and returns what the page then shows.
DRIVE = """(cases) => {
  const controls = Array.from(document.querySelectorAll("#case-form .control"));
  const set = (element, value) => {
    element.value = value;
    element.dispatchEvent(new Event("input", {bubbles: true}));
  };
  return cases.map((given) => {
    given.forEach(([state, value], n) => {
      const [select] = controls[n].querySelectorAll("select");
      set(select, state);
      if (value !== null) set(controls[n].querySelector("input[type=number]"), value);
    });
    const shown = {terms: 0};
    for (const each of document.querySelectorAll("#case-form output")) {
      const value = each.dataset.value;
      shown[each.dataset.role] = each.dataset.role === "class" ? value : Number(value);
    }
    for (const each of document.querySelectorAll("#case-form [data-term]")) {
      shown.terms += Number(each.dataset.value);
    }
    return shown;
  });
}"""


def drawn(control, rng):
    """Return how a control is set, and the cell that the model gets."""
    kind = rng.choice(["usual", "missing", "other"], p=[0.75, 0.12, 0.13])
    if kind == "missing":
        return ("missing", None), None
    if control["kind"] == "category":
        if kind == "other":
            return ("unseen", None), control["unseen"]
        place = int(rng.integers(len(control["levels"])))
        return (str(place), None), control["levels"][place]
    if kind == "other" and control["codes"]:
        place = int(rng.integers(len(control["codes"])))
        return (str(place), None), control["codes"][place]["cell"]
    value = float(f"{rng.uniform(control['low'], control['high']):.6g}")
    return ("number", repr(value)), value


def tried(browser, folder, name, count):
    """Return what the page shows for random cases, and the cases as the model reads them."""
    model, rng = model_of(name), np.random.default_rng(17)
    contents = report_contents(model)
    page = folder / f"{name}.html"
    page.write_text(render(contents), encoding="utf-8")
    browser.open(page)
    controls = contents["case_form"]["controls"]
    cases = [[drawn(control, rng) for control in controls] for _ in range(count)]
    settings = [[setting for setting, _ in case] for case in cases]
    shown = browser.value(f"({DRIVE})({pd.Series(settings).to_json(orient='values')})")
    cells = {
        control["name"]: pd.Series([case[n][1] for case in cases], dtype=object)
        for n, control in enumerate(controls)
    }
    assert browser.complaints() == []
    given, names = stored(name).X, list(model.schema.names)
    known = given if model.schema.named else pd.DataFrame(given, columns=names)
    unread = {c: [known[c].iloc[0]] * count for c in names if c not in cells}
    X = pd.DataFrame({**cells, **unread})[names]
    return model, shown, X if model.schema.named else X.to_numpy(np.float64)


@pytest.mark.parametrize(
    ("name", "count"),
    [("mixed", MANY), ("special", MANY), ("products", SOME), ("chosen", SOME), ("published", SOME)],
)
def test_two_classes_score_as_the_model_does(name, count, browser, tmp_path):
    model, shown, X = tried(browser, tmp_path, name, count)
    score = model.score(X)
    np.testing.assert_allclose([s["score"] for s in shown], score, rtol=0, atol=1e-9)
    assert [s["sum"] for s in shown] == [s["score"] for s in shown]
    terms = [s["terms"] + model.intercept for s in shown]
    np.testing.assert_allclose(terms, score, rtol=0, atol=1e-9)
    probability = model.predict_proba(X)[:, model.positive]
    np.testing.assert_allclose([s["response"] for s in shown], probability, rtol=0, atol=1e-9)
    assert len(set(np.round(score, 6))) > 5  # the cases differ


@pytest.mark.parametrize("name", ["squared", "counts", "claims"])
def test_numbers_score_as_the_model_does(name, browser, tmp_path):
    model, shown, X = tried(browser, tmp_path, name, SOME)
    score = model.score(X)
    np.testing.assert_allclose([s["score"] for s in shown], score, rtol=1e-12, atol=1e-9)
    mean = model.loss.response(score)
    np.testing.assert_allclose([s["response"] for s in shown], mean, rtol=1e-9)
    if model.target.exposure:
        browser.value(
            """(() => { const box = document.getElementById("case-exposure"); box.value = 2.5;
            box.dispatchEvent(new Event("input", {bubbles: true})) })()"""
        )
        told = browser.value(
            "Number(document.querySelector('[data-role=predicted]').dataset.value)"
        )
        assert told == pytest.approx(2.5 * mean[-1], rel=1e-9)


@pytest.mark.parametrize("name", ["classes", "class_numbers"])
def test_several_classes_score_as_the_model_does(name, browser, tmp_path):
    model, shown, X = tried(browser, tmp_path, name, SOME)
    p = model.predict_proba(X)
    for k, label in enumerate(model.classes):
        found = [s[f"probability {label}"] for s in shown]
        np.testing.assert_allclose(found, p[:, k], rtol=0, atol=1e-9)
    best = p.argmax(axis=1)
    assert [s["class"] for s in shown] == [str(model.classes[k]) for k in best]
    scores = model.score(X)[np.arange(len(best)), best]
    np.testing.assert_allclose([s["sum"] for s in shown], scores, rtol=0, atol=1e-9)
    intercepts = np.array(model.intercepts)[best]
    terms = [s["terms"] for s in shown] + intercepts
    np.testing.assert_allclose(terms, scores, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["trial", "visits"])
def test_times_score_as_the_model_does(name, browser, tmp_path):
    model, shown, X = tried(browser, tmp_path, name, SOME)
    score = model.score(X)
    np.testing.assert_allclose([s["score"] for s in shown], score, rtol=0, atol=1e-9)
    np.testing.assert_allclose([s["response"] for s in shown], np.exp(score), rtol=1e-9)
    strata = model.target.strata
    first = None if not strata else np.array([strata[0]] * len(X), object)
    survival = model.survival_at(X, model.target.horizons, first)
    told = [[v for role, v in s.items() if role.startswith("survival")] for s in shown]
    np.testing.assert_allclose(told, survival, rtol=0, atol=1e-9)


def test_start_again_and_a_bad_number(browser, tmp_path):
    _, _, _ = tried(browser, tmp_path, "mixed", 3)
    score = "Number(document.querySelector('[data-role=score]').dataset.value)"
    again = "[...document.querySelectorAll('#case-form button')].at(-1).click()"
    before = browser.value(score)
    browser.value(again)
    start = browser.value(score)
    assert start != before
    browser.open(tmp_path / "mixed.html")
    assert browser.value(score) == start
