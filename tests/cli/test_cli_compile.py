"""`rpte compile`: what is ready, what is compiled and where, and what it says when it cannot."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rpte.cli import app
from rpte.kernels import compiled

runner = CliRunner()


@pytest.fixture
def places(monkeypatch, tmp_path):
    """Have nothing compiled: a folder of the package, one of the user that is not there yet."""
    found = tmp_path / "package.zip", tmp_path / "user" / "user.zip"
    monkeypatch.setattr(compiled, "places", lambda: found)
    monkeypatch.delenv(compiled.SWITCH, raising=False)
    compiled.compiled_kernels.cache_clear()
    yield found
    compiled.compiled_kernels.cache_clear()


@pytest.fixture
def compiler(monkeypatch):
    """Write a file at once where minutes would be compiled."""
    written = []

    def run(command, **_):
        written.append(Path(command[-1]))
        compiled.write_compiled({"a": b"", "b": b""}, written[-1])
        return Done(0, "")

    monkeypatch.setattr("subprocess.run", run)
    return written


class Done:
    def __init__(self, returncode, stderr):
        self.returncode, self.stderr = returncode, stderr


def test_check_says_that_nothing_is_ready(places):
    outcome = runner.invoke(app, ["compile", "--check"])
    assert outcome.exit_code == 1
    assert outcome.stdout == "No compiled kernels are ready\n"


def test_check_says_what_does_not_fit(places, monkeypatch):
    with monkeypatch.context() as patch:
        other = {**compiled.environment(), "numba": "0.1"}
        patch.setattr(compiled, "environment", lambda: other)
        compiled.write_compiled({}, places[0])
    outcome = runner.invoke(app, ["compile", "--check", "--json"])
    assert outcome.exit_code == 1
    found = json.loads(outcome.stdout)
    assert found["ready"] is False
    assert "is for numba 0.1, here" in found["refused"]


def test_kernels_are_compiled_once(places, compiler):
    outcome = runner.invoke(app, ["compile"])
    assert outcome.exit_code == 0, outcome.output
    assert outcome.stdout.startswith("2 kernels are compiled in 0 s: ")
    compiled.compiled_kernels.cache_clear()
    again = runner.invoke(app, ["compile"])
    said = "".join(again.stdout.split())  # lines are as wide as the terminal
    assert said == f"2kernelsareready:{places[0]}(0.0MB)"
    assert compiler == [places[0]]
    assert json.loads(runner.invoke(app, ["compile", "--check", "--json"]).stdout)["ready"]


def test_a_package_that_cannot_be_written_leaves_the_users_cache(places, compiler, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: path != places[0].parent)
    assert runner.invoke(app, ["compile"]).exit_code == 0
    assert compiler == [places[1]]


def test_output_is_another_file(places, compiler, tmp_path):
    compiled.write_compiled({}, places[0])
    path = tmp_path / "wheel.zip"
    assert str(path) in runner.invoke(app, ["compile", "-o", str(path)]).stdout
    assert compiler == [path]


def test_a_compiler_that_fails_is_told_in_one_line(places, monkeypatch):
    monkeypatch.setattr("subprocess.run", lambda *_, **__: Done(1, "Traceback\nOSError: full\n"))
    outcome = runner.invoke(app, ["compile"])
    assert outcome.exit_code == 1
    assert outcome.stderr == "error: the kernels could not be compiled: OSError: full\n"
