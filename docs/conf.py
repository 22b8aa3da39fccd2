"""The site: Sphinx reads the Markdown pages of this folder and the docstrings of the library.

Build it with `python docs/tools/build.py`, which also runs the examples of the pages.
"""

from __future__ import annotations

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

INCLUDED = {
    "../CHANGELOG.md": "changelog.md",
    "../CONTRIBUTING.md": "contributing.md",
    "../experiments/README.md": "experiments.md",
}


def _linked_here(app: Any, name: str, source: list[str]) -> None:
    """Point links to files outside of this folder at the pages that include them."""
    for file, page in INCLUDED.items():
        source[0] = source[0].replace(f"]({file}", f"]({page}")


def _of_others(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool:
    """Leave out what a class inherits from scikit-learn or Python: their pages describe it."""
    home = getattr(member, "__module__", None) or ""
    return skip or not (home.startswith("rpte") or isinstance(member, property))


def setup(app: Any) -> None:
    """Register the hooks."""
    app.connect("source-read", _linked_here)
    app.connect("autodoc-skip-member", _of_others)
