"""The page in a real browser: nothing on the console, nothing asked for, everything there."""

import re

import pytest

from class_pages import hostile_classes_page
from report_pages import hostile_number_page, hostile_page, page_of
from rpte.report.contents import SECTIONS

PAGES = {"usual": lambda: page_of("products"), "chosen": lambda: page_of("chosen")}
PAGES |= {"hostile": hostile_page, "number": hostile_number_page}
PAGES |= {"eight classes": lambda: hostile_classes_page(8)}


@pytest.mark.parametrize("name", PAGES)
def test_the_browser_has_nothing_to_complain_of(name, opened):
    text = PAGES[name]()
    browser = opened(text)
    assert browser.complaints() == []
    assert browser.requests() == []
    built = browser.value("document.documentElement.outerHTML")
    assert re.findall(r'<section id="([a-z]+)"', built) == list(SECTIONS)
    assert "<footer>" in built
    # What the browser built is what was written: no markup came out of names.
    assert built.count('<svg class="pic"') == text.count('<svg class="pic"')


def test_a_bad_page_would_be_found_out(opened):
    bad = '<script>console.error("no")</script><img src="https://example.org/x.png">'
    browser = opened(bad)
    assert sum("consoleAPICalled" in e["method"] for e in browser.events) == 1
    assert browser.complaints()
    assert browser.requests() == ["https://example.org/x.png"]


def test_the_page_forbids_what_it_does_not_need(opened):
    inside = '<img src="https://example.org/x.png"><script>1</script></body>'
    browser = opened(page_of("mixed").replace("</body>", inside))
    assert len(browser.complaints()) == 2
    assert all("Content Security Policy" in line for line in browser.complaints())
    assert browser.requests() == []


@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("name", ["usual", "hostile", "number"])
def test_no_page_is_wider_than_the_window(name, width, opened):
    browser = opened(PAGES[name](), width)
    assert 300 < browser.value("document.documentElement.scrollWidth") <= width


def test_it_prints_to_pages(opened, tmp_path):
    opened(page_of("mixed")).printed(tmp_path / "report.pdf")
    content = (tmp_path / "report.pdf").read_bytes()
    assert content.startswith(b"%PDF")
    assert 5 <= len(re.findall(rb"/Type ?/Page\b", content)) <= 40


def test_it_follows_the_colour_scheme(opened):
    browser = opened(page_of("mixed"))
    for scheme, ground in {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 22, 26)"}.items():
        browser.emulate(scheme)
        assert browser.value("getComputedStyle(document.body).backgroundColor") == ground


def test_nothing_stays_from_one_test_to_the_next(program, tmp_path):
    page = tmp_path / "page.html"
    page.write_text("<script>document.title = localStorage.x ?? 'new'</script>", encoding="utf-8")
    state = "[document.title, innerWidth, matchMedia('(prefers-color-scheme: dark)').matches]"
    for _ in range(2):
        with program.tab() as tab:
            tab.open(page)
            assert tab.value(state) == ["new", 1200, False]
            tab.value("localStorage.x = 'old'")
            tab.emulate("dark")
            tab.resize(390, 600)
            tab.call("Emulation.setScriptExecutionDisabled", value=True)
