"""The build of the site finds what it is there to find."""

import runpy
from pathlib import Path

import pytest

TOOLS = Path(__file__).parent.parent / "docs" / "tools"
PAGE = runpy.run_path(str(TOOLS / "run_page.py"))
LINKS = runpy.run_path(str(TOOLS / "check_links.py"))


@pytest.mark.parametrize(
    ("tag", "fault"),
    [
        ('<a href="b.html">b</a>', None),
        ('<a href="b.html#there">b</a>', None),
        ('<a href="https://example.org/x">x</a>', None),
        ('<a href="c.html">c</a>', "leads nowhere"),
        ('<a href="b.html#elsewhere">b</a>', "has no such anchor"),
        ('<a href="https:/x">x</a>', "is no address"),
        ('<img src="https://example.org/x.png">', "is loaded from elsewhere"),
        ('<script src="//example.org/x.js"></script>', "is loaded from elsewhere"),
        ('<link rel="stylesheet" href="gone.css">', "leads nowhere"),
    ],
)
def test_links_and_loads(tag, fault, tmp_path):
    (tmp_path / "a.html").write_text(tag)
    (tmp_path / "b.html").write_text('<h1 id="there">b</h1>')
    found = LINKS["faults"](tmp_path)
    assert [line.rsplit(": ", 1)[1] for line in found] == ([fault] if fault else [])


def test_styles_that_load_from_elsewhere(tmp_path):
    (tmp_path / "a.css").write_text("@import url(https://example.org/font.css);")
    assert LINKS["faults"](tmp_path) == ["a.css: loads something from elsewhere"]


def test_a_page_that_shows_something_else(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1 + 1)\n```\n\n```text\n3\n```\n")
    assert {"-3", "+2"} <= set(PAGE["differences"](page, tmp_path))
    PAGE["rewrite"](page, tmp_path)
    assert PAGE["differences"](page, tmp_path) == []


def test_a_picture_that_says_something_else(tmp_path):
    page, drawn = tmp_path / "page.md", tmp_path / "new_picture.svg"
    page.write_text("![A picture](pictures/new_picture.svg)\n")
    drawn.write_text("<svg><text>age</text></svg>")
    assert PAGE["words"](drawn) == ["age"]
    missing = ["the picture new_picture.svg is missing or says something else"]
    assert PAGE["differences"](page, tmp_path) == missing
