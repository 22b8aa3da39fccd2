"""The page in a real browser: nothing on the console, nothing asked for, everything there."""

import re
from html import escape

import pytest

import chromium
from report_pages import hostile_number_page, hostile_page, page_of
from rpte.report.contents import SECTIONS

pytestmark = pytest.mark.skipif(chromium.PROGRAM is None, reason=chromium.WHY_NOT)

PAGES = {"usual": lambda: page_of("products"), "chosen": lambda: page_of("chosen")}
PAGES |= {"hostile": hostile_page, "number": hostile_number_page}
FRAME = """<iframe id="f" width="{width}" height="900" srcdoc="{page}" onload="
document.title = document.getElementById('f').contentDocument.documentElement.scrollWidth"></iframe>
"""


@pytest.fixture
def page(tmp_path):
    def write(text):
        path = tmp_path / "report.html"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_the_browser_has_nothing_to_complain_of(name, page, tmp_path):
    built, console, asked = chromium.opened(tmp_path, page(PAGES[name]()))
    assert console == []
    assert asked == []
    assert re.findall(r'<section id="([a-z]+)"', built) == list(SECTIONS)
    assert "<footer>" in built
    # What the browser built is what was written: no markup came out of names.
    assert built.count('<svg class="pic"') == PAGES[name]().count('<svg class="pic"')


def test_a_bad_page_would_be_found_out(page, tmp_path):
    bad = '<script>console.error("no")</script><img src="https://example.org/x.png">'
    built, console, asked = chromium.opened(tmp_path, page(bad))
    assert len(console) == 1
    assert asked == ["https://example.org/x.png"]
    assert "<section" not in built


@pytest.mark.slow
def test_the_page_forbids_what_it_does_not_need(page, tmp_path):
    inside = '<img src="https://example.org/x.png"><script>1</script></body>'
    text = page_of("mixed").replace("</body>", inside)
    _, console, asked = chromium.opened(tmp_path, page(text))
    assert len(console) == 2
    assert all("Content Security Policy" in line for line in console)
    assert asked == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [1200, 390])
@pytest.mark.parametrize("name", ["usual", "hostile", "number"])
def test_no_page_is_wider_than_the_window(name, width, page, tmp_path):
    framed = page(FRAME.format(width=width, page=escape(PAGES[name]())))
    built = chromium.run(tmp_path, framed, "--dump-dom", "--window-size=1400,1000").stdout
    found = re.search(r"<title>(\d+)</title>", built)
    assert found
    assert 300 < int(found[1]) <= width


@pytest.mark.slow
def test_it_prints_to_pages(page, tmp_path):
    target = tmp_path / "report.pdf"
    chromium.run(tmp_path, page(page_of("mixed")), f"--print-to-pdf={target}")
    content = target.read_bytes()
    assert content.startswith(b"%PDF")
    assert 5 <= len(re.findall(rb"/Type ?/Page\b", content)) <= 40


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_follows_the_colour_scheme(scheme, page, tmp_path):
    probe = "<script>document.title = getComputedStyle(document.body).backgroundColor</script>"
    text = re.sub(r"<meta http-equiv[^>]*>", "", page_of("mixed"))
    option = f"--blink-settings=preferredColorScheme={0 if scheme == 'dark' else 1}"
    open_page = page(text.replace("</body>", f"{probe}</body>"))
    built = chromium.run(tmp_path, open_page, "--dump-dom", option).stdout
    ground = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 22, 26)"}
    assert f"<title>{ground[scheme]}</title>" in built
