"""One browser for all tests of a worker; each test takes its tab anew."""

import pytest

from devtools import PROGRAM, WHY_NOT, Chromium


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    if PROGRAM is None:
        pytest.skip(WHY_NOT)
    with Chromium(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def browser(program):
    with program.tab() as found:
        yield found


@pytest.fixture
def opened(browser, tmp_path):
    """Open a page, given as text, in a window of some width."""

    def open_text(text, width=1200):
        page = tmp_path / "report.html"
        page.write_text(text, encoding="utf-8")
        browser.resize(width, 900)
        browser.open(page)
        return browser

    return open_text
