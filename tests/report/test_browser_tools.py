"""The page's tools in a real browser: search, fold, sort, narrow windows, hostile names."""

import json

import pytest

from class_pages import hostile_classes_page
from model_files import CLASS_NAMES, NAMES, NUMBER_NAMES, TIME_NAMES
from report_pages import (
    HOSTILE,
    QUICK,
    Page,
    evidence_of,
    hostile_number_page,
    hostile_page,
    model_of,
    page_of,
)
from rpte.report.contents import SECTIONS, report_contents
from rpte.report.html import json_text, page_script, render

BREAKING = "</script><img src=x onerror=alert(1)><!--\u2028\u2029\u202e\\'\"`${1}"


HOSTILE_PAGES = {
    "two classes": hostile_page,
    "number": hostile_number_page,
    "several classes": lambda: hostile_classes_page(3),
}


@pytest.mark.parametrize("name", HOSTILE_PAGES)
def test_hostile_names_stay_text(name, opened):
    browser = opened(HOSTILE_PAGES[name]())
    assert browser.complaints() == []
    assert (
        browser.value("document.querySelectorAll('img, iframe, main script:not([type])').length")
        == 0
    )
    shown = browser.value("document.getElementById('case-form').textContent")
    assert HOSTILE[0] in shown
    browser.value(
        """document.querySelector('#case-form .control select').dispatchEvent(
        new Event('input', {bubbles: true}))"""
    )
    assert browser.value("document.querySelectorAll('#case-form output').length") > 1
    assert browser.complaints() == []


def test_no_name_ends_the_script_or_the_data(opened):
    """The code and the data of a page with a name that would end either."""
    literal = json.dumps(BREAKING)  # as the export writes it
    code = f"function predict() {{ return {literal}; }}\ndocument.title = predict();"
    data = f'<script type="application/json" id="d">{json_text([BREAKING])}</script>'
    contents = report_contents(model_of("mixed"))
    contents["case_form"]["code"] += f"\ndocument.title = {literal};"
    contents["title"] = BREAKING
    page = render(contents).replace("</main>", f"</main>{data}")
    assert code not in page_script(code)  # what would end the element is spelled otherwise
    browser = opened(page)
    assert browser.complaints() == []
    assert browser.value("JSON.parse(document.getElementById('d').textContent)[0]") == BREAKING
    assert browser.value("document.querySelectorAll('img').length") == 0
    assert browser.value("document.querySelector('h1').textContent") == BREAKING


def test_a_script_that_is_not_the_page_s_own_does_not_run(opened):
    text = page_of("mixed").replace("</main>", "</main><script>document.title = 'ran'</script>")
    browser = opened(text)
    assert browser.value("document.title") != "ran"
    assert any("Content Security Policy" in said for said in browser.complaints())


@pytest.mark.parametrize("name", ["mixed", "claims", "classes", "trial"])
def test_a_phone_need_not_scroll_sideways(name, opened):
    assert name in (*NAMES, *NUMBER_NAMES, *CLASS_NAMES, *TIME_NAMES)
    contents = report_contents(model_of(name), evidence_of(name), QUICK)
    browser = opened(render(contents), 390)
    assert browser.value("document.documentElement.scrollWidth") == 390
    wide = (
        "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)"
    )
    assert browser.value(f"{wide}.map(e => e.getAttribute('aria-label'))") == []
    assert not browser.value("document.querySelector('nav details').open")


def test_search_shows_what_it_finds(opened):
    browser = opened(page_of("mixed"))
    source = model_of("mixed").sources[0]
    sections = "[...document.querySelectorAll('main > section')]"
    seen = f"{sections}.filter(s => s.offsetParent).map(s => s.id)"
    find = """(words) => { const field = document.getElementById('find'); field.value = words;
    field.dispatchEvent(new Event('input', {bubbles: true})) }"""
    assert browser.value(seen) == list(SECTIONS)
    browser.value(f"({find})({source!r})")
    assert "place" in browser.value("document.querySelector('.found').textContent")
    cards = "[...document.querySelectorAll('#model .card')]"
    cards += ".filter(c => c.offsetParent).map(c => c.innerText)"
    assert browser.value(cards)
    assert all(source in text for text in browser.value(cards))
    browser.value(f"({find})('no such word anywhere')")
    assert browser.value(seen) == []
    assert browser.value("document.querySelector('.found').textContent") == "nothing found"
    browser.value(f"({find})('')")
    assert browser.value(seen) == list(SECTIONS)


def test_sections_fold_and_a_link_unfolds(opened):
    browser = opened(page_of("mixed"))
    height = "document.getElementById('audit').offsetHeight"
    whole = browser.value(height)
    button = "document.querySelector('#audit h2 button')"
    browser.value(f"{button}.click()")
    assert browser.value(f"{button}.getAttribute('aria-expanded')") == "false"
    assert browser.value(height) < whole / 2
    browser.emulate(media="print")
    assert browser.value(height) > whole / 2  # paper has everything
    browser.emulate()
    browser.value(
        """new Promise(done => { addEventListener('hashchange', () => setTimeout(done));
        location.hash = '#audit' })"""
    )
    assert browser.value(height) == whole


def test_tables_sort_by_number_and_go_back(opened):
    browser = opened(page_of("mixed"))
    table = "[...document.querySelectorAll('#performance table')]"
    table += ".find(t => t.caption.textContent.includes('threshold'))"
    column = f"[...({table}).tBodies[0].rows].map(r => parseFloat(r.cells[2].textContent))"
    click = f"({table}).tHead.rows[0].cells[2].querySelector('button').click()"
    before = browser.value(column)
    browser.value(click)
    assert browser.value(column) == sorted(before)
    assert (
        browser.value(f"({table}).tHead.rows[0].cells[2].getAttribute('aria-sort')") == "ascending"
    )
    browser.value(click)
    assert browser.value(column) == sorted(before, reverse=True)
    browser.value(click)
    assert browser.value(column) == before
    assert sorted(before) != before


def test_without_script_everything_else_is_there(browser, opened):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    opened(page_of("mixed"), 390)
    shown = browser.call("DOM.getDocument", depth=0)
    text = browser.call("DOM.getOuterHTML", nodeId=shown["root"]["nodeId"])["outerHTML"]
    page = Page(page_of("mixed"))
    assert [a["id"] for a in page.all("section")] == list(SECTIONS)
    assert "Trying a case needs a script" in text
    assert "<button" not in text.split("<script>")[0]
    for rule in model_of("mixed").rules():
        assert rule.term in page.said()


def test_the_script_is_small():
    assert len(page_script("").encode()) < 30_000


def test_pictures_answer_the_pointer_and_the_keys(opened):
    browser = opened(page_of("mixed"))
    assert browser.complaints() == []
    first = "document.querySelector('#model [data-spots]')"
    words = browser.value(f"JSON.parse({first}.dataset.spots).map(s => s[2])")
    said = f"({first}.closest('svg').nextElementSibling || {{}}).textContent"
    press = f"""(key) => {first}.closest('svg').dispatchEvent(
        new KeyboardEvent('keydown', {{key, bubbles: true}}))"""
    assert browser.value(f"{first}.closest('svg').tabIndex") == 0
    for key, place in (("ArrowRight", 0), ("ArrowRight", 1), ("End", -1), ("Home", 0)):
        browser.value(f"({press})('{key}')")
        assert browser.value(said) == words[place]
    assert browser.value(f"{first}.querySelector('path').getAttribute('d')")
    browser.value(f"({press})('Escape')")
    assert browser.value(said) == ""
    browser.value(
        f"""(() => {{ const svg = {first}.closest('svg');
        const [x, y] = JSON.parse({first}.dataset.spots)[2];
        const at = new DOMPoint(x, y).matrixTransform({first}.getScreenCTM());
        const place = {{clientX: at.x, clientY: at.y}};
        svg.dispatchEvent(new PointerEvent('pointermove', place)); }})()"""
    )
    assert browser.value(said) == words[2]
    assert browser.complaints() == []
