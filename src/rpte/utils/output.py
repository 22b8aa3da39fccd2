"""The one way to write a file: whole or not at all, and on disk when the call returns.

A file is written to a temporary name beside it, flushed to the disk and renamed. A replaced file
keeps its permissions, a symbolic link stays and its target is replaced, and a device, a pipe or an
open descriptor (`/dev/stdout`) is written to directly. The temporary file is locked as long as its
writer lives: the next writer of the same file removes what a killed run left. What is evidence
(`rpte.utils.kept`) is replaced by a file of its own kind alone. A file that grows in place is
written by `rpte.utils.appending`.
"""

import hashlib
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import combinations
from pathlib import Path
from typing import BinaryIO

from rpte.errors import InputError
from rpte.utils.kept import check_replaced

try:
    import fcntl
except ImportError:  # a system without file locks, such as Windows
    fcntl = None  # type: ignore[assignment]

LONGEST_NAME = 200  # bytes; a longer name would exceed 255 with its temporary suffix
MOST_LINKS = 40
DESCRIPTORS = ("/dev/fd", "/proc/self/fd")
STANDARD = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}

_renamed: dict[Path, Path] = {}  # files that got their name, and the temporary one they had before


def written() -> list[Path]:
    """Return the files that were written since `forget_written`, in order."""
    return [path for path, temporary in _renamed.items() if not temporary.exists()]


def forget_written() -> None:
    """Begin a new list of files that are written."""
    _renamed.clear()


def write_text(text: str, path: Path, kind: str | None = None) -> None:
    """Write a text file, in UTF-8, whole or not at all."""
    write_bytes(text.encode("utf-8"), path, kind)


def write_bytes(data: bytes, path: Path, kind: str | None = None) -> None:
    """Write a file whole or not at all; `kind` is one of `rpte.utils.kept`."""
    with writing(path, kind) as file:
        file.write(data)


@contextmanager
def writing(path: Path, kind: str | None = None) -> Iterator[BinaryIO]:
    """Open a file that gets its name only when all of it is on disk.

    It replaces evidence of its own `kind` alone. A device, a pipe or an open descriptor is opened
    as it is.
    """
    with named_errors(path):
        if is_stream(path):
            with _opened_stream(path) as file:
                yield file
            return
        check_folder(path, kind)
        with _replaced(Path(os.path.realpath(path)), path) as file:
            yield file


@contextmanager
def _replaced(path: Path, given: Path) -> Iterator[BinaryIO]:
    """Replace the file at a path without links, which `given` may be a link to."""
    temporary, descriptor = _temporary(path)
    try:
        with os.fdopen(descriptor, "wb") as file:
            _keep_permissions(descriptor, path)
            yield file
            file.flush()
            os.fsync(descriptor)
            _renamed[given] = temporary
            if fcntl is not None:  # renamed while locked, so that nobody removes it meanwhile
                temporary.replace(path)
        if fcntl is None:
            temporary.replace(path)
        sync_folder(path.parent)
    except BaseException:
        if temporary.exists():
            _renamed.pop(given, None)
            temporary.unlink()
        raise


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Give errors of the system, such as a full disk, the name of the file."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise


def _keep_permissions(descriptor: int, path: Path) -> None:
    """Give a new file the permissions and, where that is allowed, the owner of the old one."""
    try:
        old = path.stat()
    except FileNotFoundError:
        return
    own = os.fstat(descriptor)
    if hasattr(os, "fchown"):
        for ids in ((-1, old.st_gid), (old.st_uid, -1)):
            if ids not in ((-1, own.st_gid), (own.st_uid, -1)):
                with suppress(PermissionError):
                    os.fchown(descriptor, *ids)
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _temporary(path: Path) -> tuple[Path, int]:
    """Make an empty file beside `path`, locked; remove those of killed runs.

    An existing file may be secret, so nobody else may read the new one before it has its mode.
    """
    _remove_abandoned(path)
    mode = 0o600 if path.exists() else 0o666
    while True:
        # Not `tempfile`, whose files nobody but their owner may read.
        temporary = path.with_name(f"{temporary_stem(path)}.{secrets.token_hex(8)}.part")
        binary = getattr(os, "O_BINARY", 0)
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | binary, mode)
        # Another run may hold the lock for as long as it takes to remove what it thinks abandoned.
        if not lock(descriptor, wait=True) or is_named(descriptor, temporary):
            return temporary, descriptor
        os.close(descriptor)  # removed by another run between its making and its lock


def temporary_stem(path: Path) -> str:
    """Return what the temporary names of a file begin with."""
    name = os.fsencode(path.name)
    return path.name if len(name) <= LONGEST_NAME else hashlib.sha256(name).hexdigest()


def _remove_abandoned(path: Path) -> None:
    """Remove temporary files of runs that were killed; a run that lives holds its lock."""
    pattern = re.compile(re.escape(temporary_stem(path)) + r"\.[0-9a-f]{16}\.part")
    for found in path.parent.iterdir():
        if not pattern.fullmatch(found.name):
            continue
        with (
            suppress(OSError),  # gone meanwhile, or not ours to remove
            _opened(found, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)) as descriptor,
        ):
            if lock(descriptor):
                shutil.rmtree(found) if found.is_dir() else found.unlink()


@contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def lock(descriptor: int, wait: bool = False) -> bool:
    """Lock an open file until it is closed; False if another holds it or it cannot be locked."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def is_named(descriptor: int, path: Path) -> bool:
    """Tell whether an open file still stands under its name."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to the disk, where the system can do that."""
    with suppress(OSError), _opened(folder, os.O_RDONLY) as descriptor:
        os.fsync(descriptor)


def is_stream(path: Path) -> bool:
    """Tell whether a name is a device, a pipe or an open descriptor, to be written directly.

    Examples
    --------
    >>> is_stream(Path("/dev/null")), is_stream(Path("model.json"))
    (True, False)
    """
    if _descriptor(path) is not None:
        return True
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _descriptor(path: Path) -> int | None:
    """Return the descriptor that a name such as `/dev/stdout` stands for, links followed."""
    place = Path.cwd() / path
    for _ in range(MOST_LINKS):
        place = Path(os.path.normpath(place))
        if str(place) in STANDARD:
            return STANDARD[str(place)]
        if str(place.parent) in (*DESCRIPTORS, f"/proc/{os.getpid()}/fd") and place.name.isdigit():
            return int(place.name)
        if not place.is_symlink():
            return None
        place = place.parent / place.readlink()
    return None


@contextmanager
def _opened_stream(path: Path) -> Iterator[BinaryIO]:
    """Open what is written directly; a descriptor continues at its position."""
    number = _descriptor(path)
    sys.stdout.flush()
    descriptor = os.open(path, os.O_WRONLY) if number is None else os.dup(number)
    with os.fdopen(descriptor, "wb") as file:
        yield file
        file.flush()
        with suppress(OSError):  # a pipe has nothing to bring to a disk
            os.fsync(descriptor)


def check_output(
    *outputs: Path | None, reads: Iterable[Path | str | None] = (), kind: str | None = None
) -> None:
    """Refuse, before any work is done, files that could not be written or must not be.

    No output (None: not asked for) is one of the files that the command `reads`, under whatever
    name. Only the first is of the `kind` given, see `rpte.utils.kept`.
    """
    asked = [output for output in outputs if output is not None]
    for output in asked:
        for read in reads:
            if read is not None and _same_file(output, Path(read)):
                raise InputError(
                    f"{output} would be written over {read}, which this command reads; give "
                    "another name"
                )
    for one, other in combinations(asked, 2):
        if _same_file(one, other) or os.path.realpath(one) == os.path.realpath(other):
            raise InputError(f"{one} and {other} are one file; give two names")
    for output in asked:
        check_folder(output, kind if output is outputs[0] else None)


def _same_file(one: Path, other: Path) -> bool:
    """Tell whether two names are one file: by links of both kinds, or another case of letters."""
    try:
        found = one.stat()
        return not stat.S_ISCHR(found.st_mode) and os.path.samestat(found, other.stat())
    except OSError:
        return False


def check_folder(path: Path, kind: str | None = None) -> None:
    """Refuse a file that could not be written, or must not be, before any work is lost."""
    if is_stream(path):
        if _descriptor(path) is None and not os.access(path, os.W_OK):
            raise PermissionError(f"{path} may not be written to; choose another")
        return
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file")
    real = Path(os.path.realpath(path))
    if real.is_symlink():
        raise InputError(f"{path} is a link that leads back to itself; choose another name")
    _check_parent(real.parent if path.is_symlink() else path.parent)
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(f"{path} is read-only; choose another name, or allow writing to it")
    check_replaced(path, kind)


def _check_parent(folder: Path) -> None:
    if not folder.is_dir():
        raise FileNotFoundError(f"the folder {folder} does not exist; make it first")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"the folder {folder} may not be written to; choose another")
