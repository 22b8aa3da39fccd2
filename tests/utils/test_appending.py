"""A file of lines that grows: by all of its lines or none, by one writer at a time."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from effort import examples
from rpte import RPTEWarning
from rpte.utils.appending import CHUNK, appending, last_line, replacing


def never(line, rest):
    """No run that was killed had written all of its lines."""
    return False


def append(path, *lines, is_whole=never):
    with appending(path, is_whole) as grown:
        grown.file.writelines(line + b"\n" for line in lines)
    return grown.last


def fail_after(opened, line):
    """Write a line, then fail."""
    with opened as found:
        file = getattr(found, "file", found)
        file.write(line)
        file.flush()
        raise ZeroDivisionError


def killed_while_appending(path, lines):
    """Leave a file as a run does that is killed after it wrote some lines."""
    note = path.with_name(f"{path.name}.appending")
    kept = []
    with appending(path, never):
        kept.append(note.read_text())
    note.write_text(kept[0])
    with path.open("ab") as file:
        file.write(lines)


@given(st.lists(st.lists(st.binary(max_size=9).map(lambda b: b.replace(b"\n", b"")), max_size=4)))
@examples(30)
def test_lines_follow_each_other_and_the_last_is_told(tmp_path_factory, runs):
    path = tmp_path_factory.mktemp("log") / "log"
    written = []
    for lines in runs:
        assert append(path, *lines) == b"".join(written[-1:])
        written += [line + b"\n" for line in lines]
    assert (path.read_bytes() if path.exists() else b"") == b"".join(written)


def test_a_line_longer_than_a_chunk_is_found_whole(tmp_path):
    long = b"x" * (2 * CHUNK + 7)
    append(tmp_path / "log", b"short", long)
    assert last_line(tmp_path / "log") == long + b"\n"


@pytest.mark.parametrize("before", [b"", b"one\n"])
def test_what_fails_leaves_the_file_as_it_was(tmp_path, before):
    path = tmp_path / "log"
    if before:
        path.write_bytes(before)
    with pytest.raises(ZeroDivisionError):
        fail_after(appending(path, never), b"two\n")
    assert (path.read_bytes() if path.exists() else b"") == before
    assert [p.name for p in tmp_path.iterdir()] == ["log"] * bool(before)


def test_what_a_killed_run_began_is_taken_off_with_a_warning(tmp_path):
    path = tmp_path / "log"
    append(path, b"one")
    killed_while_appending(path, b"")  # before its first byte: nothing is said of it
    killed_while_appending(path, b"tw")
    assert last_line(path) is None
    with pytest.warns(RPTEWarning, match="2 bytes that a run had begun to append"):
        assert append(path, b"three") == b"one\n"
    assert path.read_bytes() == b"one\nthree\n"


def test_what_a_killed_run_had_finished_stays(tmp_path):
    path = tmp_path / "log"
    append(path, b"one")
    killed_while_appending(path, b"two\n")
    seen = []

    def whole(line, rest):
        seen.append((line, list(rest)))
        return True

    append(path, b"three", is_whole=whole)
    assert seen == [(b"one\n", [b"two\n"])]
    assert path.read_bytes() == b"one\ntwo\nthree\n"


def test_a_note_of_another_file_takes_nothing_off(tmp_path):
    path = tmp_path / "log"
    append(path, b"one")
    note = {"size": 2, "inode": 0, "last": ""}
    (tmp_path / "log.appending").write_text(json.dumps(note))
    append(path, b"two")
    assert path.read_bytes() == b"one\ntwo\n"


def test_writers_take_turns(tmp_path):
    path = tmp_path / "log"
    runs = [[b"%d.%d" % (run, line) for line in range(20)] for run in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda lines: append(path, *lines), runs))
    lines = path.read_bytes().splitlines()
    found = [lines[k : k + 20] for k in range(0, 160, 20)]
    assert sorted(found) == sorted(runs)


def test_a_file_is_replaced_whole_or_not(tmp_path):
    path = tmp_path / "log"
    append(path, b"one")
    with pytest.raises(ZeroDivisionError):
        fail_after(replacing(path), b"new\n")
    assert path.read_bytes() == b"one\n"
    with replacing(path) as file:
        file.write(b"new\n")
    assert last_line(path) == b"new\n"
