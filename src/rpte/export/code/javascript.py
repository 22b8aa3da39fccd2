"""JavaScript: one function without dependencies, for Node and for browsers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from rpte.export.cells import Cells
from rpte.export.code.script import Script
from rpte.export.form import Form
from rpte.export.language import BRACES, functions
from rpte.export.programs import find_program, run_program, run_rows
from rpte.export.target import Answers, Options, Target


class JavaScript(Script):
    """How JavaScript writes a form."""

    template, tab = "model.js.j2", "  "
    literal = staticmethod(json.dumps)  # JSON's are JavaScript's
    spelled: ClassVar[Mapping[str, str]] = {
        **BRACES,
        **functions("Math.{0}({{0}})"),
        "max": "Math.max({0})",
        "finite": "Number.isFinite({0})",
        "present": "!Number.isNaN({0})",
        "nan": "Number.isNaN({0})",
        "empty": "{0} === null",
        "in": "{1}.includes({0})",
        "not in": "{0} !== null && !{1}.includes({0})",
        "without code": "{0} === null ? {1} : NaN",
        "cell": "cell({0})",
        "set": "const {0} = {1};",
        "comment": "// {0}",
    }


def write(form: Form, options: Options) -> str:
    """Return the file's text."""
    return JavaScript(form).program()


RUNNER = """
const { predict } = require(require("path").resolve(process.argv[1]));
const lines = require("fs").readFileSync(0, "utf8").split("\\n").filter((line) => line);
for (const line of lines) {
  console.log(JSON.stringify(predict(JSON.parse(line))));
}
"""


def run(path: Path, form: Form, options: Options, cells: Cells) -> Answers:
    """Run the file in Node."""
    node = find_program("node")
    lines = run_rows([node, "-e", RUNNER, str(path)], form, cells)
    return Answers(lines, f"Node {run_program([node, '--version']).strip()}")


TARGET = Target("javascript", ".js", write, run)
