"""The site: Sphinx reads the Markdown pages of this folder and the docstrings of the library.

Build it with `python docs/tools/build.py`, which also runs the examples of the pages.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import rpte

project = "rpte"
author = "The rpte developers"
copyright = author
version = release = rpte.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
]
exclude_patterns = ["tools"]
templates_path = ["templates"]
nitpicky = False
default_role = "py:obj"  # a name in single backticks: a link where it is public, else code
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
highlight_language = "none"  # only what says its language is coloured

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc lists the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "furo"  # captions and all pages in one sidebar, light and dark, no network
html_title = "rpte"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"top_of_page_buttons": []}
toc_object_entries_show_parents = "hide"
smartquotes = False  # quotes of values are straight
pygments_style = "a11y-high-contrast-light"
pygments_dark_style = "a11y-high-contrast-dark"
copybutton_exclude = ".linenos, .gp, .go"

INCLUDED = {  # pages that stand elsewhere in the repository
    "changelog": "CHANGELOG.md",
    "contributing": "CONTRIBUTING.md",
    "examples": "examples/README.md",
    "experiments": "experiments/README.md",
}
DOCS = Path(__file__).parent
LINK = re.compile(r"\]\(([^)#:\s]+)")


def _included(app: Any, name: str, source: list[str]) -> None:
    """Read the pages that stand elsewhere, and point links to them at their place in the site."""
    file = DOCS.parent / INCLUDED[name] if name in INCLUDED else DOCS / f"{name}.md"
    homes = {DOCS.parent / path: f"{page}.md" for page, path in INCLUDED.items()}

    def here(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(file.parent / link[1]))
        return f"]({homes.get(target) or os.path.relpath(target, DOCS)}"

    if file.exists():  # the pages of the reference are not Markdown
        source[0] = LINK.sub(here, file.read_text(encoding="utf-8"))


def _of_others(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool:
    """Leave out what a class inherits from scikit-learn or Python: their pages describe it."""
    home = getattr(member, "__module__", None) or ""
    return skip or not (home.startswith("rpte") or isinstance(member, property))


def setup(app: Any) -> None:
    """Register the hooks."""
    app.connect("source-read", _included)
    app.connect("autodoc-skip-member", _of_others)
