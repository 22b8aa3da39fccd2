"""Ctrl-C at any moment: one line, exit code 130, nothing half-written; in Python the exception."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest

from command_tables import SOURCE, credit, good, write_csv
from fit_tables import mixed_case
from rpte import RPTEClassifier
from rpte.kernels.compile import kernel
from rpte.utils import interrupts
from rpte.utils.output import forget_written, write_text, writing, written

CREDIT = ("--target", "outcome", "--weight-column", "weight")
# A shell that starts the tests in the background lets its children ignore Ctrl-C.
ANSWERED = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
# Runs commands, each in a fork, and sends Ctrl-C at so many calls of Python functions after the
# start: the same moments on every machine.
FORKS = """
import json, os, signal, sys
import rpte.cli
from rpte.utils import interrupts
from rpte.__main__ import _command
codes = []
for arguments, calls, times, out, err in json.load(sys.stdin):
    process = os.fork()
    if process:
        codes.append(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
        continue
    for number, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_CREAT | os.O_WRONLY), number)
    sys.argv, left = ["rpte", *arguments], calls
    def count(frame, event, argument):
        global left
        left -= event == "call"
        if left == 0:
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)
    try:
        interrupts.run(lambda: (sys.setprofile(count), _command()))
    except SystemExit as end:
        sys.stdout.flush()
        os._exit(end.code or 0)
print(json.dumps(codes))
"""
pytestmark = pytest.mark.skipif(os.name == "nt", reason="sends signals as POSIX has them")


def interrupted(code, delay):
    """Start Python code, send Ctrl-C some seconds after its first line; return the outcome."""
    process = subprocess.Popen(
        [sys.executable, "-c", ANSWERED + code],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": SOURCE, "PYTHONUNBUFFERED": ""},
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "started\n"
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    return process.returncode, out, err


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A table and a model of it; the kernels are compiled."""
    folder = tmp_path_factory.mktemp("stored")
    table = write_csv(credit(300), folder / "t.csv")
    good("fit", table, *CREDIT, "-o", folder / "m.json", "--folds", 0, "--paper")
    return table, folder / "m.json"


COMMANDS = {
    "fit": lambda t, m, o: ("fit", t, *CREDIT, "-o", o / "m.json", "--folds", 3, "--jobs", 2),
    "paper": lambda t, m, o: ("fit", t, *CREDIT, "-o", o / "m.json", "--paper", "--folds", 50),
    "score": lambda t, m, o: ("score", m, t, "-o", o / "s.csv"),
    "report": lambda t, m, o: ("report", m, t, "--target", "outcome", "-o", o / "r.html"),
    "verify": lambda t, m, o: ("verify", m, t, *CREDIT),
}


def at_moments(stored, folder, names, trials=5, seed=""):
    """Run commands and interrupt them; return code, files left and what was said of each."""
    jobs, folders = [], []
    for name in names:
        moments = random.Random(f"{name}{seed}")
        for trial in range(trials):
            own = folder / f"{name}{trial}"
            own.mkdir()
            told = [str(folder / f"{name}{trial}.{kind}") for kind in ("out", "err")]
            arguments = [str(part) for part in COMMANDS[name](*stored, own)]
            jobs.append([arguments, int(10 ** moments.uniform(2, 5)), 1 + trial % 2, *told])
            folders.append(own)
    done = subprocess.run(
        [sys.executable, "-c", ANSWERED + FORKS], input=json.dumps(jobs), capture_output=True,
        text=True, env={**os.environ, "PYTHONPATH": SOURCE}, check=True,
    )  # fmt: skip
    return [
        (code, [path.name for path in own.iterdir()], Path(job[-1]).read_text())
        for code, own, job in zip(json.loads(done.stdout), folders, jobs, strict=True)
    ]


def ended_well(code, files, err):
    """Tell whether nothing is half-written, and one true line says that it was interrupted."""
    if any(name.endswith(".part") for name in files):
        return False
    if code == 0:  # it was over
        return True
    said = [line for line in err.splitlines() if not line.startswith(("note: ", "hint: "))]
    one = len(said) == 1 and said[0].startswith("interrupted: ")
    return code == 130 and one and ("nothing was written" in err) == (not files)


@pytest.mark.slow(reason="25 commands, each interrupted, two of five of them fits")
def test_at_any_moment_it_is_one_line(stored, tmp_path):
    ended = at_moments(stored, tmp_path, COMMANDS)
    assert [code for code, _, _ in ended].count(130) > 15
    assert [each for each in ended if not ended_well(*each)] == []


STUBBORN = """
import os, time
from rpte.utils import interrupts
def command():
    print("started", flush=True)
    while True:
        try:
            time.sleep(60)
        except BaseException as error:
            {answer}
interrupts.run(command)
"""


@pytest.mark.parametrize(
    "answer",
    [
        "pass",
        "raise SystemError('returned a result with an exception set') from error",
        "raise OSError('cannot read') from None",
        "print('lost', flush=True); os.write(2, b'Exception ignored in: something')",
    ],
)
def test_an_exception_that_is_lost_or_turned_ends_it_too(answer):
    code, _, err = interrupted(STUBBORN.format(answer=answer), 0.1)
    assert code == 130
    assert err == "interrupted: nothing was written\n"


def test_what_was_printed_is_not_lost():
    code = STUBBORN.format(answer="raise")
    begun = "print('a result'); os.write(1, b'started\\n')  # the first is still in a buffer"
    code, out, _ = interrupted(code.replace('print("started", flush=True)', begun), 0.1)
    assert (code, out) == (130, "a result\n")


def test_threads_at_work_are_not_waited_for():
    code = """
from concurrent.futures import ThreadPoolExecutor
import time
from rpte.utils import interrupts
def command():
    with ThreadPoolExecutor(2) as pool:
        print("started", flush=True)
        list(pool.map(time.sleep, [50] * 20))
interrupts.run(command)
"""
    begun = time.monotonic()
    assert interrupted(code, 0.1)[0] == 130
    assert time.monotonic() - begun < 40  # the first of the tasks takes 50


def test_a_file_under_way_is_removed(tmp_path):
    code = f"""
import time
from pathlib import Path
from rpte.utils import interrupts
from rpte.utils.output import writing
def command():
    with writing(Path({str(tmp_path / "b.txt")!r})) as file:
        file.write(b"half of it")
        print("started", flush=True)
        time.sleep(60)
interrupts.run(command)
"""
    code, _, err = interrupted(code, 0.1)
    assert (code, err) == (130, "interrupted: nothing was written\n")
    assert not list(tmp_path.iterdir())


def test_a_command_that_ignores_ctrl_c_goes_on_ignoring_it():
    code = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)
from rpte.utils import interrupts
interrupts.run(lambda: (print("started", flush=True), __import__("time").sleep(1)))
"""
    assert interrupted(code, 0.3)[0] == 0


class TestWhatIsSaid:
    @pytest.fixture(autouse=True)
    def fresh(self):
        forget_written()
        yield
        forget_written()

    def test_names_the_files_that_are_written(self, tmp_path):
        assert interrupts.state() == "nothing was written"
        write_text("one", tmp_path / "a")
        assert interrupts.state() == f"{tmp_path / 'a'} is written"
        write_text("two", tmp_path / "b")
        assert interrupts.state() == f"{tmp_path / 'a'}, {tmp_path / 'b'} are written"

    def test_a_file_that_failed_is_not_written(self, tmp_path):
        def fail():
            with writing(tmp_path / "a"):
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            fail()
        assert not written()
        assert interrupts.state() == "nothing was written"

    def test_a_command_says_what_is_missing_once_its_file_is_there(self, tmp_path):
        with interrupts.telling(tmp_path / "m", "all but the estimate"):
            write_text("checker", tmp_path / "c")
            assert interrupts.state() == f"{tmp_path / 'c'} is written"
            write_text("model", tmp_path / "m")
            assert interrupts.state() == "all but the estimate"


class TestInPython:
    def test_a_kernel_that_hides_the_interrupt_gives_it_back(self, monkeypatch):
        class Compiled:
            stats = type("Stats", (), {"cache_path": "."})

            def enable_caching(self):
                pass

            def __call__(self, *args):
                raise args[0] from args[1]

        monkeypatch.setattr(numba, "njit", lambda **options: lambda function: Compiled())
        call = kernel(lambda error, cause: None)
        hidden = SystemError("approximate_path returned a result with an exception set")
        with pytest.raises(KeyboardInterrupt):
            call(hidden, KeyboardInterrupt())
        between = SystemError("unpickle returned a result with an exception set")
        between.__cause__ = KeyboardInterrupt()
        with pytest.raises(KeyboardInterrupt):
            call(hidden, between)
        with pytest.raises(SystemError, match="another"):
            call(SystemError("another"), ValueError())

    def test_a_fit_is_interrupted_at_any_moment_and_changes_nothing(self):
        def interrupt(number, frame):
            raise KeyboardInterrupt

        def count(frame, event, argument):
            nonlocal left
            left -= event == "call"
            if left == 0:
                signal.raise_signal(signal.SIGALRM)

        case, moments, stopped = mixed_case(100), random.Random(0), 0
        fitted = RPTEClassifier(cv=2, l1_ratio=1.0, max_trees=1).fit(case.X, case.y)
        old = signal.signal(signal.SIGALRM, interrupt)
        try:
            for _ in range(12):
                left, before = int(10 ** moments.uniform(1, 5)), dict(vars(fitted))
                sys.setprofile(count)
                try:
                    fitted.fit(case.X, case.y)
                except KeyboardInterrupt:
                    stopped += 1
                    assert vars(fitted) == before
                finally:
                    sys.setprofile(None)
        finally:
            signal.signal(signal.SIGALRM, old)
        assert stopped > 5
