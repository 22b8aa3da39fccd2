"""How files are written: modes, links, devices, what a killed run leaves, what is on disk."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from rpte.errors import InputError
from rpte.utils import output
from rpte.utils.output import (
    check_output,
    is_stream,
    write_bytes,
    write_text,
    writing,
)

SOURCE = str(Path(output.__file__).parents[1])
SLOW = """
import sys, time
sys.path.insert(0, {source!r})
from pathlib import Path
from rpte.utils.output import writing
with writing(Path(sys.argv[1])) as file:
    file.write(b"half of it")
    file.flush()
    print("begun", flush=True)
    time.sleep(600)
"""
as_root = pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")


def slow_writer(path):
    """Start a process that has written half of a file, and return it."""
    code = SLOW.format(source=SOURCE)
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "begun\n"
    return process


def killed(process):
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o755])
def test_modes_are_kept(tmp_path, mode):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(mode)
    write_text("new", path)
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_secret_file_is_secret_while_it_is_written(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o600)
    with writing(path):
        (part,) = tmp_path.glob("*.part")
        assert stat.S_IMODE(part.stat().st_mode) == 0o600


def test_a_new_file_has_the_usual_mode(tmp_path):
    old = os.umask(0o027)
    try:
        write_text("new", tmp_path / "a.txt")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


def test_links_stay_and_their_targets_are_replaced(tmp_path):
    (tmp_path / "far").mkdir()
    target, link, second = tmp_path / "far" / "a.txt", tmp_path / "link", tmp_path / "second"
    target.write_text("old")
    link.symlink_to("far/a.txt")
    second.symlink_to(link)
    write_text("new", second)
    assert link.is_symlink()
    assert second.is_symlink()
    assert target.read_text() == "new"
    assert names(tmp_path / "far") == ["a.txt"]


def test_a_link_to_nothing_makes_its_target(tmp_path):
    (tmp_path / "link").symlink_to("a.txt")
    write_text("new", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a.txt").read_text() == "new"
    (tmp_path / "lost").symlink_to("none/a.txt")
    with pytest.raises(FileNotFoundError, match="none does not exist"):
        write_text("new", tmp_path / "lost")


def test_a_link_to_itself_is_refused(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises((InputError, OSError)):
        write_text("new", tmp_path / "a")
    assert (tmp_path / "a").is_symlink()


def test_a_pipe_is_written_and_stays(tmp_path):
    pipe, read = tmp_path / "scores.csv", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_bytes(b"a\n1\n", pipe)
    reader.join(10)
    assert read == [b"a\n1\n"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert names(tmp_path) == ["scores.csv"]


def test_a_device_is_written_and_stays(tmp_path):
    write_bytes(b"abc", Path("/dev/null"))
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    (tmp_path / "sink").symlink_to("/dev/null")
    assert is_stream(tmp_path / "sink")
    write_bytes(b"abc", tmp_path / "sink")
    assert (tmp_path / "sink").is_symlink()


def test_standard_output_goes_on_where_it_stands(tmp_path):
    """Also where it is a file: nothing that stands in it is cut, and it is not replaced."""
    code = (
        f"import sys; sys.path.insert(0, {SOURCE!r})\n"
        "from pathlib import Path\nfrom rpte.utils.output import write_text\n"
        "print('first')\n"
        "write_text('second\\n', Path(sys.argv[1]))\nprint('third')\n"
    )
    for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
        out = tmp_path / "out.txt"
        out.write_text("kept\n")
        with out.open("a") as file:
            subprocess.run([sys.executable, "-c", code, name], stdout=file, check=True)
        assert out.read_text() == "kept\nfirst\nsecond\nthird\n"
        done = subprocess.run(
            [sys.executable, "-c", code, name], stdout=subprocess.PIPE, check=True
        )
        assert done.stdout == b"first\nsecond\nthird\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_is_said_by_name():
    with pytest.raises(OSError, match="No space left on device: '/dev/full'"):
        write_bytes(b"abc", Path("/dev/full"))


def test_an_error_while_writing_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), writing(path):
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_the_next_run_removes_what_a_killed_one_left(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    killed(slow_writer(path))
    left = [name for name in names(tmp_path) if name.endswith(".part")]
    assert len(left) == 1
    assert path.read_text() == "old"
    (tmp_path / "b.txt.0123456789abcdef.part").touch()  # of another file
    (tmp_path / "a.txt.part").touch()  # a name that only looks alike
    write_text("new", path)
    assert names(tmp_path) == ["a.txt", "a.txt.part", "b.txt.0123456789abcdef.part"]
    assert path.read_text() == "new"


def test_what_a_living_writer_has_begun_is_not_removed(tmp_path):
    path = tmp_path / "a.txt"
    process = slow_writer(path)
    try:
        write_text("new", path)
        assert len(names(tmp_path)) == 2
    finally:
        killed(process)
    write_text("newer", path)
    assert names(tmp_path) == ["a.txt"]


def test_many_threads_write_one_file(tmp_path):
    path, failures = tmp_path / "a.txt", []

    def write(letter):
        try:
            for _ in range(20):
                write_text(letter * 1000, path)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert path.read_text() in {letter * 1000 for letter in "abcd"}
    assert names(tmp_path) == ["a.txt"]


def test_file_and_folder_are_brought_to_the_disk(tmp_path, monkeypatch):
    synced, real = [], os.fsync

    def fsync(descriptor):
        synced.append(stat.S_ISDIR(os.fstat(descriptor).st_mode))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    write_text("new", tmp_path / "a.txt")
    assert synced == [False, True]


def test_long_names(tmp_path):
    path = tmp_path / ("ü" * 127)
    write_text("new", path)
    write_text("newer", path)
    assert names(tmp_path) == [path.name]


def test_inputs_are_known_under_every_name(tmp_path):
    (tmp_path / "sub").mkdir()
    read = tmp_path / "a.csv"
    read.write_text("a\n1\n")
    (tmp_path / "soft").symlink_to(read)
    (tmp_path / "hard").hardlink_to(read)
    for name in ("a.csv", "sub/../a.csv", "soft", "hard"):
        with pytest.raises(InputError, match=r"would be written over .*; give another name"):
            check_output(tmp_path / name, reads=[None, tmp_path / "none", read])
    check_output(tmp_path / "b.csv", None, reads=[read])
    check_output(Path("/dev/null"), reads=[Path("/dev/null")])


def test_two_outputs_are_two_files(tmp_path):
    with pytest.raises(InputError, match="are one file; give two names"):
        check_output(tmp_path / "a", tmp_path / "." / "a")


@as_root
def test_read_only_files_and_folders_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "a.txt").chmod(0o444)
    with pytest.raises(PermissionError, match="read-only"):
        write_text("new", tmp_path / "a.txt")


def test_a_killed_run_does_not_hold_others_up(tmp_path):
    """The lock of a temporary file goes with its process."""
    begun = time.monotonic()
    for _ in range(2):
        killed(slow_writer(tmp_path / "a.txt"))
    write_text("new", tmp_path / "a.txt")
    assert time.monotonic() - begun < 60
    assert names(tmp_path) == ["a.txt"]
