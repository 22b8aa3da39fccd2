"""Make the pictures of docs/beside_ebm.md: one table and case in an EBM's notebook and in ours.

Run: python docs/tools/make_beside_ebm.py    (needs the extra `peers`, plotly and chromium)
"""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import matplotlib as mpl
from interpret.glassbox import ExplainableBoostingClassifier
from PIL import Image

from rpte import RPTEClassifier, audit_load, bootstrap
from rpte.datasets import make_credit

mpl.use("Agg")
PICTURES = Path(__file__).parent.parent / "pictures"
VARIABLES = ("income", "checking", "months_since_delinquency")
CASE, RESAMPLES, SEED = 17, 200, 0
COLOURS = 64  # of a picture, which keeps its file small


def main() -> None:
    """Draw both, and print what the page says of their size."""
    table = make_credit()
    ours = RPTEClassifier(special_values=table.special_values).fit(table.X, table.y)
    drawn = bootstrap(ours.model_, table.X, table.y, n=RESAMPLES, seed=SEED)
    displays = {"overview": ours.plot(), "case": ours.plot_case(table.X.iloc[CASE])}
    displays |= {name: ours.plot(name, bootstrap=drawn) for name in VARIABLES}
    for name, display in displays.items():
        save(display.figure_, PICTURES / f"beside_ours_{name}.png")

    ebm = ExplainableBoostingClassifier(random_state=SEED).fit(table.X, table.y)
    shapes, cases = ebm.explain_global(), ebm.explain_local(table.X[CASE : CASE + 1])
    figures = {"overview": shapes.visualize(None), "case": cases.visualize(0)}
    terms = list(ebm.term_names_)
    figures |= {name: shapes.visualize(terms.index(name)) for name in VARIABLES}
    for name, figure in figures.items():
        photograph(figure, PICTURES / f"beside_ebm_{name}.png")
    print(f"conditions to read: {ours.audit().miu} and {audit_load(ebm).miu:,}")
    print(f"terms: {ours.audit().mu} and {len(terms)}")


def save(figure: Any, path: Path) -> None:
    """Write a picture of matplotlib."""
    figure.savefig(path, dpi=72, bbox_inches="tight")
    shrink(path)


def photograph(figure: Any, path: Path) -> None:
    """Write a picture of plotly as a browser shows it."""
    program = shutil.which("chromium")
    assert program, "install chromium"
    with TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        figure.update_layout(height=430)  # with less, its labels overlap
        figure.write_html(page, include_plotlyjs=True, config={"displayModeBar": False})
        options = ["--headless=new", "--no-sandbox", "--hide-scrollbars", "--window-size=760,450"]
        options += ["--virtual-time-budget=4000", f"--user-data-dir={folder}/profile"]
        command = [program, *options, f"--screenshot={path}", page.as_uri()]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
    shrink(path)


def shrink(path: Path) -> None:
    """Write a picture again with few colours."""
    with Image.open(path) as picture:
        picture.convert("RGB").quantize(COLOURS).save(path, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
