"""Python: one function that needs nothing but the standard library."""

import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from rpte.export.cells import Cells
from rpte.export.code.script import Script
from rpte.export.form import Form
from rpte.export.language import functions
from rpte.export.programs import run_rows
from rpte.export.target import Answers, Options, Target


class Python(Script):
    """How Python writes a form."""

    template = "model.py.j2"
    spelled: ClassVar[Mapping[str, str]] = {
        "if": "({1} if {0} else {2})",
        "and": " and ",
        **functions("math.{0}({{0}})"),
        "max": "max({0})",
        "finite": "math.isfinite({0})",
        "present": "not math.isnan({0})",
        "nan": "math.isnan({0})",
        "empty": "{0} is None",
        "in": "{0} in {1}",
        "not in": "{0} is not None and {0} not in {1}",
        "without code": "math.nan if {0} is not None else {1}",
        "cell": "row[{0}]",
        "set": "{0} = {1}",
        "assign": "{0} = {1}",
        "comment": "# {0}",
        "first branch": "if {0}:",
        "next branch": "elif {0}:",
        "last branch": "else:",
        "end": "",
    }


def write(form: Form, options: Options) -> str:
    """Return the module's text."""
    return Python(form).program()


RUNNER = """
import json, runpy, sys
predict = runpy.run_path(sys.argv[1])["predict"]
for line in sys.stdin:
    print(json.dumps(predict(json.loads(line))))
"""


def run(path: Path, form: Form, options: Options, cells: Cells) -> Answers:
    """Run the module in an interpreter without any installed package."""
    command = [sys.executable, "-I", "-S", "-c", RUNNER, str(path)]
    return Answers(run_rows(command, form, cells), f"Python {platform.python_version()}")


TARGET = Target("python", ".py", write, run)
