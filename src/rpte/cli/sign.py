"""`rpte sign`: a detached signature of a model file, made with a secret key."""

from pathlib import Path
from typing import Annotated

from rpte.cli import options as opt
from rpte.cli.options import MaybePath, option
from rpte.cli.terminal import console
from rpte.errors import InputError
from rpte.model.check import Check
from rpte.model.file import check_signature
from rpte.model.file import sign as write_signature
from rpte.utils.kept import SIGNATURE
from rpte.utils.output import check_output

KEY = "A file with the secret key, at least 16 bytes."
KeyFile = Annotated[MaybePath, option(f"{KEY} The signature is checked.", show_default=False)]


def sign(model: opt.ModelFile, key_file: Annotated[Path, option(KEY, show_default=False)]) -> None:
    """Sign a model file: model.json.sig is written beside it.

    The signature proves that somebody who held the key signed exactly this content; rpte verify
    --key-file checks it. Anything random is a good key: head -c 32 /dev/urandom > key. Keep it away
    from the file.

    Example: rpte sign model.json --key-file key
    """
    check_output(Path(f"{model}.sig"), reads=[key_file], kind=SIGNATURE)
    written = write_signature(model, read_key(key_file))
    console().print(f"Wrote {written}", soft_wrap=True)


def read_key(path: Path) -> bytes:
    """Return the bytes of a key, as they stand in its file."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"the key {path} cannot be read: {error.strerror}") from None


def signature_check(model: Path, key_file: Path) -> Check:
    """Return whether the signature beside a model file is of this content and key."""
    holds = check_signature(model, read_key(key_file))
    said = "made of this content with this key" if holds else "of another content or another key"
    return Check("signature", holds, f"{model}.sig is {said}")
