"""Run the examples of a page and write what they print, and their pictures, into docs/.

Run: python docs/tools/run_page.py docs/frontier.md
"""

import contextlib
import io
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from typer.testing import CliRunner

from rpte.cli import app

EXAMPLE = re.compile(r"```(python|sh)\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)


def run_page(text: str) -> str:
    """Return a page with the output of each example as it is now; files go to the current folder.

    Python blocks share their names; a shell block is one call of `rpte`, on 80 columns. An output
    that no `text` block follows is not shown, and is that of a command that ends well; a shown one
    ends with the exit code if it is not 0.
    """
    names: dict[str, object] = {}

    def again(found: re.Match[str]) -> str:
        language, source, shown = found.groups()
        printed = (
            _python(source, names) if language == "python" else _shell(source, shown is not None)
        )
        example = f"```{language}\n{source}```\n"
        return example if shown is None else f"{example}\n```text\n{printed}```\n"

    return EXAMPLE.sub(again, text)


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


def main(page: Path) -> None:
    """Rewrite a page."""
    text = page.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.chdir(folder):
            fresh = run_page(text)
        for picture in Path(folder).glob("*.svg"):
            shutil.copyfile(picture, page.with_name(picture.name))
    page.write_text(fresh, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
