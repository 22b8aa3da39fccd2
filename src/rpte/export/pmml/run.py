"""Run a PMML document in the JPMML evaluator, in a Java machine of its own."""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from rpte.export.cells import Cells
from rpte.export.classes import CHOSEN, class_numbers
from rpte.export.form import Form
from rpte.export.programs import failure, find_program
from rpte.export.target import Answers, CannotRunError, Options
from rpte.utils.arrays import Floats

CLASS = "class"  # the output that tells the class, of several
RUNNER = """
import json, sys
from jpmml_evaluator import JavaError, make_backend, make_evaluator

backend = make_backend("jpype")
from java.io import File
from java.lang import Exception as JavaException
from javax.xml.transform.stream import StreamSource
from javax.xml.validation import SchemaFactory
from org.dmg.pmml import PMML

place = getattr(PMML, "class_").getResource("/pmml.xsd")
schema = SchemaFactory.newInstance("http://www.w3.org/2001/XMLSchema").newSchema(place)
for path, rows in json.load(sys.stdin):
    try:
        schema.newValidator().validate(StreamSource(File(path)))
        evaluator = make_evaluator(path, backend).verify()
        print(json.dumps([evaluator.evaluate(row) for row in rows]))
    except (JavaError, JavaException) as error:
        sys.exit(str(error))
"""


def run(path: Path, form: Form, options: Options, cells: Cells) -> Answers:
    """Run the document at `path`."""
    (found,) = run_documents([(path, cells)])
    engine = f"JPMML (jpmml_evaluator {version('jpmml_evaluator')})"
    return Answers(lines_of(form, options["prefix"], found), engine)


def lines_of(form: Form, prefix: str, found: Mapping[str, Sequence[Any]]) -> dict[str, Floats]:
    """Return the lines that a document computes, by name; NaN where it gives nothing."""
    shown = [line.name for line in form.lines if prefix + line.name in found]
    lines = {name: np.array(found[prefix + name], np.float64) for name in shown}
    if form.classes:
        lines[CHOSEN] = class_numbers(form, found[prefix + CLASS])
    return lines


def run_documents(jobs: Iterable[tuple[Path, Cells]]) -> list[dict[str, list[Any]]]:
    """Validate documents and evaluate each on its rows; return what each computes, by name."""
    find_program("java")
    if not find_spec("jpmml_evaluator"):
        raise CannotRunError(
            "jpmml_evaluator is not installed; install it with pip install 'rpte[pmml]'"
        )
    asked = json.dumps([[str(path), list(cells.rows())] for path, cells in jobs])
    command = [sys.executable, "-c", RUNNER]
    done = subprocess.run(command, input=asked, capture_output=True, encoding="utf-8", check=False)
    if "JVMNotFoundException" in done.stderr:
        raise CannotRunError("no Java machine was found; set JAVA_HOME to the folder of one")
    if done.returncode:
        raise failure("JPMML", done.stderr)
    found = (json.loads(line) for line in done.stdout.splitlines())
    return [{name: [row.get(name) for row in rows] for name in rows[0]} for rows in found]
