"""Logs that grow: appended to by many, taken back when killed, refused when they are not theirs."""

import json
import os
import signal
import stat
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest

import rpte
from model_files import stored
from rpte.audit.decisions import decide as log_module
from rpte.errors import InputError, RPTEWarning
from rpte.model.file import from_dict
from rpte.utils import appending

SOURCE = str(Path(rpte.__file__).parents[1])
WHEN = "2026-01-31T12:00:00Z"
WRITER = """
import json, sys
sys.path.insert(0, {source!r})
import rpte
path, model, rows, mark, times = sys.argv[1:]
model, rows = rpte.load(model), json.load(open(rows))
n = len(next(iter(rows.values())))
for turn in range(int(times)):
    ids = [f"{{mark}}-{{turn}}-{{i}}" for i in range(n)]
    print(rpte.append_decisions(path, model, rows, ids=ids).head, flush=True)
"""
KILLED = """
import json, os, sys
sys.path.insert(0, {source!r})
import rpte
from rpte.audit.decisions import decide as log
path, model, rows, lines = sys.argv[1:]
whole = log.lines_of
def some(*given):
    for number, line in enumerate(whole(*given)):
        if number == int(lines):
            yield line[: len(line) // 2]
            break
        yield line
log.lines_of = some
real = os.fsync
def killed(descriptor):
    real(descriptor)
    if os.path.samestat(os.fstat(descriptor), os.stat(path)):
        os.kill(os.getpid(), 9)
os.fsync = killed
rpte.append_decisions(path, rpte.load(model), json.load(open(rows)))
"""


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """Return the paths of a model and of its rows."""
    folder, made = tmp_path_factory.mktemp("log"), stored("mixed")
    from_dict(made.copy()).save(folder / "model.json")
    rows = made.X[:20].astype(object).where(made.X[:20].notna(), None)
    (folder / "rows.json").write_text(json.dumps({n: list(rows[n]) for n in rows}, default=float))
    return folder / "model.json", folder / "rows.json"


def model_of(name="mixed"):
    return from_dict(stored(name).copy())


def append(path, rows=12, **options):
    return rpte.append_decisions(path, model_of(), stored("mixed").X[:rows], when=WHEN, **options)


def clean(path, head=None, model=None):
    found = rpte.replay(path, model or model_of(), head)
    assert found.findings == ()
    return found


def test_a_log_is_continued(tmp_path):
    path = tmp_path / "log.jsonl"
    first = append(path)
    before = path.read_bytes()
    second = append(path, 5)
    assert path.read_bytes().startswith(before)
    assert (first.cases, first.total, second.cases, second.total) == (12, 12, 5, 17)
    assert clean(path, second.head).proved == 17
    assert clean(path, first.head).proved == 12
    assert clean(path).head == second.head
    numbers = [record["number"] for record in rpte.read_decisions(path, model_of())]
    assert numbers == list(range(1, 18))
    assert [p.name for p in tmp_path.iterdir()] == ["log.jsonl"]


def test_rules_are_written_once_until_they_change(tmp_path):
    path = tmp_path / "log.jsonl"
    append(path)
    append(path)
    rule = rpte.reason_rule(model_of(), "best", threshold=0.3)
    append(path, rule=rule)
    append(path, rule=rule, ids=range(12))
    append(path)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    runs = [r for r in records if isinstance(r, dict) and r["record"] == "run"]
    assert ["rule" in run for run in runs] == [True, False, True, False, True]
    clean(path)


def test_a_run_between_two_is_changed_removed_or_put_in(tmp_path):
    path = tmp_path / "log.jsonl"
    heads = [append(path, 3).head for _ in range(3)]
    lines = path.read_text().splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith('{"record":"run"')]
    runs = [lines[a:b] for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)]
    for forged in (
        [runs[0], runs[2]],
        [runs[1], runs[0], runs[2]],
        [runs[0], runs[1], runs[1], runs[2]],
        [runs[0], runs[1][:-1], runs[2]],
    ):
        path.write_text("\n".join([lines[0], *chain.from_iterable(forged)]) + "\n")
        assert rpte.replay(path, model_of()).findings
    path.write_text("\n".join([lines[0], *runs[0], *runs[1]]) + "\n")
    clean(path, heads[1])
    found = rpte.replay(path, model_of(), heads[2]).findings
    assert "written again, cut or changed" in found[0].text


def test_replacing_is_asked_for(tmp_path):
    path = tmp_path / "log.jsonl"
    append(path)
    path.chmod(0o600)
    done = append(path, 3, replace=True)
    assert done.total == clean(path, done.head).cases == 3
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_modes_and_links_are_kept(tmp_path):
    path, link = tmp_path / "log.jsonl", tmp_path / "link"
    path.touch(0o600)
    link.symlink_to(path)
    append(link)
    append(link)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert clean(path).cases == 24


def test_a_stream_gets_a_log_of_its_own(tmp_path, given):
    path = tmp_path / "log.jsonl"
    code = WRITER.format(source=SOURCE).replace("flush=True", "file=sys.stderr")
    with path.open("wb") as file:
        command = [sys.executable, "-c", code, "/dev/stdout", *map(str, given), "a", "1"]
        subprocess.run(command, stdout=file, check=True)
    assert clean(path, model=rpte.load(given[0])).cases == 20


@pytest.mark.slow(reason="starts four processes")
def test_four_writers_at_once(tmp_path, given):
    path, times = tmp_path / "log.jsonl", 5
    code = WRITER.format(source=SOURCE)
    command = [sys.executable, "-c", code, str(path), *map(str, given)]
    writers = [
        subprocess.Popen([*command, mark, str(times)], stdout=subprocess.PIPE, text=True)
        for mark in "abcd"
    ]
    heads = [writer.communicate(timeout=300)[0].split() for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 4
    model = rpte.load(given[0])
    assert clean(path, model=model).cases == 4 * times * 20
    for head in chain.from_iterable(heads):
        assert clean(path, head, model).proved % 20 == 0
    ids = [record["id"] for record in rpte.read_decisions(path, model)]
    assert len(set(ids)) == len(ids)
    for start in range(0, len(ids), 20):  # each run stands together
        assert len({name.rpartition("-")[0] for name in ids[start : start + 20]}) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["log.jsonl"]


@pytest.mark.slow(reason="writes and reads whole logs")
@pytest.mark.parametrize("lines", [0, 1, 7, 21])
@pytest.mark.parametrize("runs", [0, 2])
def test_what_a_killed_run_had_appended_is_taken_off(tmp_path, given, lines, runs):
    """A run killed within its first line, its opening or a case, or its closing line."""
    path, model = tmp_path / "log.jsonl", rpte.load(given[0])
    rows = json.loads(given[1].read_text())
    for _ in range(runs):
        rpte.append_decisions(path, model, rows)
    before = path.read_bytes() if runs else b""
    command = [sys.executable, "-c", KILLED.format(source=SOURCE), str(path), *map(str, given)]
    done = subprocess.run([*command, str(lines)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() != before
    with pytest.warns(RPTEWarning, match="had begun to append when it was stopped"):
        head = rpte.append_decisions(path, model, rows).head
    assert path.read_bytes().startswith(before)
    assert clean(path, head, model).cases == (runs + 1) * 20
    assert [p.name for p in tmp_path.iterdir()] == ["log.jsonl"]


def test_a_run_that_was_whole_when_it_was_killed_stays(tmp_path, given):
    path, model = tmp_path / "log.jsonl", rpte.load(given[0])
    rows = json.loads(given[1].read_text())
    rpte.append_decisions(path, model, rows)
    command = [sys.executable, "-c", KILLED.format(source=SOURCE), str(path), *map(str, given)]
    assert subprocess.run([*command, "1000"], check=False).returncode == -signal.SIGKILL
    rpte.append_decisions(path, model, rows)
    assert clean(path, model=model).cases == 60


def test_an_error_while_writing_takes_everything_back(tmp_path, monkeypatch):
    path = tmp_path / "log.jsonl"
    whole = log_module.lines_of

    def failing(*given):
        for number, line in enumerate(whole(*given)):
            if number == 5:
                raise OSError(28, "No space left on device")
            yield line

    monkeypatch.setattr(log_module, "lines_of", failing)
    with pytest.raises(OSError, match="No space left on device"):
        append(path)
    assert list(tmp_path.iterdir()) == []
    monkeypatch.undo()
    append(path)
    before = path.read_bytes()
    monkeypatch.setattr(log_module, "lines_of", failing)
    with pytest.raises(OSError, match="No space left on device"):
        append(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["log.jsonl"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_device():
    with pytest.raises(OSError, match="No space left"):
        append(Path("/dev/full"))


def test_a_note_of_another_file_takes_nothing_off(tmp_path):
    """As when a log was put back from a copy after a run was killed."""
    path, note = tmp_path / "log.jsonl", tmp_path / "log.jsonl.appending"
    append(path)
    size, inode = path.stat().st_size, path.stat().st_ino
    for text in (
        json.dumps({"size": 100, "inode": inode, "last": "0" * 64}),
        json.dumps({"size": size - 10, "inode": inode + 1, "last": "0" * 64}),
        json.dumps({"size": -5}),
        "{",
        "[]",
    ):
        note.write_text(text)
        before = path.read_bytes()
        append(path)
        assert path.read_bytes().startswith(before)
    clean(path)


def test_a_log_that_was_cut_is_refused(tmp_path):
    path = tmp_path / "log.jsonl"
    append(path)
    content = path.read_bytes()
    for cut in (content[:-1], content[:-200], content + b"\n", content + b"{}\n"):
        path.write_bytes(cut)
        with pytest.raises(InputError, match=r"without a closing record.*begin another log"):
            append(path)
        assert path.read_bytes() == cut


def test_what_is_no_log_of_the_model_is_refused(tmp_path):
    path = tmp_path / "log.jsonl"
    for content in (b"case,score\n1,2\n", b"\xff\xfe", b"[]\n", b'{"format":1}\n'):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"no log of decisions.*--replace"):
            append(path)
        assert path.read_bytes() == content
    path.unlink()
    append(path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="one model: give another name"):
        rpte.append_decisions(path, model_of("published"), stored("published").X[:3])
    assert path.read_bytes() == before


def test_a_log_is_on_disk_before_its_head_is_told(tmp_path, monkeypatch):
    path, synced, real = tmp_path / "log.jsonl", [], os.fsync

    def fsync(descriptor):
        found = os.fstat(descriptor)
        synced.append("folder" if stat.S_ISDIR(found.st_mode) else found.st_size)
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    append(path)
    assert synced[-2:] == [path.stat().st_size, "folder"]


def test_locks_are_needed(tmp_path, monkeypatch):
    monkeypatch.setattr(appending.output, "lock", lambda *given, **more: False)
    with pytest.raises(InputError, match="cannot be locked"):
        append(tmp_path / "log.jsonl")
    assert list(tmp_path.iterdir()) == []
