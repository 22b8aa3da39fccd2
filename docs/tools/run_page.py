"""Run the examples of a page, and write or compare what they print and draw.

Run: python docs/tools/run_page.py docs/frontier.md            (write it into the page)
     python docs/tools/run_page.py --check docs/frontier.md    (exit code 1 where it differs)

A picture that an example saves and the page shows, as pictures/NAME.svg, is kept in docs/pictures/.
"""

import argparse
import contextlib
import difflib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from typer.testing import CliRunner

from rpte.cli import app

DOCS = Path(__file__).resolve().parents[1]
PICTURES = DOCS / "pictures"
PAGES = (  # whose examples are run
    "auditor.md",
    "classes.md",
    "clinical.md",
    "commands.md",
    "credit.md",
    "decisions.md",
    "deploy.md",
    "explanations.md",
    "faq.md",
    "frontier.md",
    "numbers.md",
    "reading.md",
    "report.md",
    "start.md",
    "survival.md",
    "tariff.md",
    "times.md",
    "two_classes.md",
)
NOT_COMPARED = ("deploy.md",)  # names the programs of the machine; tests/export compares the rest
EXAMPLE = re.compile(r"```(python|sh)\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)


def run_page(text: str) -> str:
    """Return a page with the output of each example as it is now; files go to the current folder.

    Python blocks share their names; a shell block is one call of `rpte`, on 80 columns. An output
    that no `text` block follows is not shown, and is that of a command that ends well; a shown one
    ends with the exit code if it is not 0.
    """
    names: dict[str, object] = {"__name__": "__main__"}

    def again(found: re.Match[str]) -> str:
        language, source, shown = found.groups()
        printed = (
            _python(source, names) if language == "python" else _shell(source, shown is not None)
        )
        example = f"```{language}\n{source}```\n"
        return example if shown is None else f"{example}\n```text\n{printed}```\n"

    with _drawing():
        return EXAMPLE.sub(again, text)


@contextlib.contextmanager
def _drawing():
    """Let matplotlib, where it is installed, draw to files only, the same every time."""
    os.environ["SOURCE_DATE_EPOCH"] = "0"
    try:
        import matplotlib as mpl
        from matplotlib import pyplot
    except ImportError:
        yield
        return
    mpl.use("Agg")
    chosen = {"svg.fonttype": "none", "svg.hashsalt": "rpte", "savefig.bbox": "tight"}
    with mpl.rc_context(chosen):
        yield
    pyplot.close("all")


def _python(source: str, names: dict[str, object]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(source, names)
    return _trimmed(printed.getvalue())


def _shell(source: str, may_fail: bool) -> str:
    program, *arguments = shlex.split(source)
    assert program == "rpte", program
    outcome = CliRunner().invoke(app, arguments, env={"COLUMNS": "80", "TERM": "dumb"})
    assert may_fail or outcome.exit_code == 0, outcome.output
    code = f"(exit code {outcome.exit_code})\n" if outcome.exit_code else ""
    return _trimmed(outcome.output + code)


def _trimmed(printed: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in printed.splitlines())


def steady(page: str) -> str:
    """Leave hashes and the last bits of numbers out: they may differ between machines."""
    page = re.sub(r"\b[0-9a-f]{12,}\b", "#", page)
    page = re.sub(r"residual \S+ at \S+,", "residual # at #,", page)
    page = re.sub(r"\(\d+ kB\)", "(# kB)", page)
    page = re.sub(r"in (DuckDB|SQLite|Python) [\d.]+\d", r"in \1 #", page)
    return re.sub(r"\d+\.\d{8,}", lambda number: f"{float(number[0]):.6g}", page)


def pictures(text: str, folder: Path) -> list[Path]:
    """Return what was drawn in a folder and is shown in a page."""
    return [path for path in sorted(folder.glob("*.svg")) if f"](pictures/{path.name})" in text]


def words(picture: Path) -> list[str]:
    """Return what an SVG picture says; how it is drawn may differ between versions."""
    return re.findall(r">\s*([^<>\s][^<>]*)</t(?:ext|span)>", picture.read_text(encoding="utf-8"))


def differences(page: Path, folder: Path) -> list[str]:
    """Run a page in a folder; return the lines in which it, or a picture of it, is not as shown."""
    text = page.read_text(encoding="utf-8")
    with contextlib.chdir(folder):
        fresh = run_page(text)
    if page.name in NOT_COMPARED:
        return []
    shown, found = steady(text).splitlines(), steady(fresh).splitlines()
    lines = list(difflib.unified_diff(shown, found, "shown", "printed", lineterm="", n=1))
    for drawn in pictures(text, folder):
        kept = PICTURES / drawn.name
        if not kept.exists() or words(kept) != words(drawn):
            lines.append(f"the picture {drawn.name} is missing or says something else")
    return lines


def rewrite(page: Path, folder: Path) -> None:
    """Run a page in a folder; write what its examples print into it, and keep their pictures."""
    text = page.read_text(encoding="utf-8")
    with contextlib.chdir(folder):
        fresh = run_page(text)
    for drawn in pictures(text, folder):
        shutil.copyfile(drawn, PICTURES / drawn.name)
    page.write_text(fresh, encoding="utf-8")


def main() -> int:
    """Write or check one page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("page", type=Path)
    parser.add_argument("--check", action="store_true", help="compare, and change nothing")
    given = parser.parse_args()
    page = given.page.resolve()
    with tempfile.TemporaryDirectory() as folder:
        if not given.check:
            rewrite(page, Path(folder))
            return 0
        found = differences(page, Path(folder))
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
