"""Run a PMML document in the JPMML evaluator, in one Java machine for all documents."""

import atexit
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
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
CHUNK = 1 << 20  # bytes of an answer that are read at a time
# Reads one job per line, a path and rows, and answers each in one line. The answers have a stream
# of their own, so that a Java library that prints cannot disturb them.
RUNNER = """
import json, os, sys
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
from jpmml_evaluator import JavaError, make_backend, make_evaluator

backend = make_backend("jpype")
from java.io import File
from java.lang import Exception as JavaException
from javax.xml.transform.stream import StreamSource
from javax.xml.validation import SchemaFactory
from org.dmg.pmml import PMML

place = getattr(PMML, "class_").getResource("/pmml.xsd")
schema = SchemaFactory.newInstance("http://www.w3.org/2001/XMLSchema").newSchema(place)
for line in sys.stdin:
    path, rows = json.loads(line)
    try:
        schema.newValidator().validate(StreamSource(File(path)))
        evaluator = make_evaluator(path, backend).verify()
        answer = {"rows": [evaluator.evaluate(row) for row in rows]}
    except (JavaError, JavaException) as error:
        answer = {"error": str(error)}
    print(json.dumps(answer), file=answers, flush=True)
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
    found = [SHARED.evaluate(path, cells) for path, cells in jobs]
    return [{name: [row.get(name) for row in rows] for name in rows[0]} for rows in found]


class Evaluator:
    """A process with a Java machine, started by the first job and again if it has ended.

    One job runs at a time, whichever thread asks. An interrupted job ends the process, so that its
    answer is never read as that of the next job.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def evaluate(self, path: Path, cells: Cells) -> list[dict[str, Any]]:
        """Validate a document and return what it computes, row by row."""
        job = json.dumps([str(path.resolve()), list(cells.rows())])
        with self._lock:
            try:
                answer = json.loads(self._ask(job.encode() + b"\n"))
            except BaseException:
                self._end()
                raise
        if "error" in answer:
            raise failure("JPMML", answer["error"])
        rows: list[dict[str, Any]] = answer["rows"]
        return rows

    def _start(self) -> None:
        """Start the process; without buffers, of which a fork would copy a part of a job."""
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (a pipe would fill up unread)
        self._process = subprocess.Popen(
            [sys.executable, "-c", RUNNER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            bufsize=0,
        )

    def _ask(self, job: bytes) -> bytes:
        """Return the answer to a job; a process that ended since its last job is replaced."""
        if self._process is not None:
            answer = self._answer(job)
            if answer:
                return answer
            self._end()
        self._start()
        answer = self._answer(job)
        if answer:
            return answer
        self._log.seek(0)
        said = self._log.read().decode(errors="replace")
        if "JVMNotFoundException" in said:
            raise CannotRunError("no Java machine was found; set JAVA_HOME to the folder of one")
        raise failure("JPMML", said)

    def _answer(self, job: bytes) -> bytes:
        """Return the line that answers a line, empty if the process has ended."""
        assert self._process is not None
        given, told = self._process.stdin, self._process.stdout
        assert given is not None
        assert told is not None
        left, line = memoryview(job), b""
        with suppress(BrokenPipeError):
            while left:
                left = left[given.write(left) :]
        while not line.endswith(b"\n"):
            more = told.read(CHUNK)
            if not more:
                return b""
            line += more
        return line

    def close(self) -> None:
        """End the process, if there is one; the next job starts another."""
        with self._lock:
            self._end()

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._release()

    def _release(self) -> None:
        """Close the streams of the process."""
        assert self._process is not None
        for stream in (self._process.stdin, self._process.stdout, self._log):
            assert stream is not None
            stream.close()
        self._process = None

    def forget(self) -> None:
        """Leave the process to the parent of a process that was just forked."""
        self._lock = threading.Lock()  # another thread of the parent may hold the old one
        if self._process is not None:
            self._process.returncode = 0  # not a child of this process, so not to be waited for
            self._release()


SHARED = Evaluator()
atexit.register(SHARED.close)
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=SHARED.forget)
