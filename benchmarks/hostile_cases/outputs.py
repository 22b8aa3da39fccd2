"""Outputs that are logs, ledgers, signed models, signatures, folders, links and devices."""

from __future__ import annotations

import contextlib
import json
import random
import stat
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
from typer.testing import CliRunner

import rpte
from hostile_cases.case import Case, Result
from hostile_cases.files import COMMANDS, bench, model, names_of
from rpte.cli import app
from rpte.table.files import write_table

MORE = (
    "export model.json --to python -o",
    "export model.json --to xlsx -o",
    "export model.json --to scorecard -o",
    "explain model.json cases.csv --svg",
    "edit model.json --by a --reason b --drop-term D1 --force -o",
    "score model.json cases.csv --threshold 0.5 -o",
)
WRITES = (*COMMANDS, *MORE)
# What a command writes, if it is evidence; a file of these kinds may stand in the place of others.
OWN = {"fit": "model", "edit": "edited", "decide": "log"}
MAY_REPLACE = {
    "log.jsonl": {"log"},
    "edited.json": {"edited"},
    "signed.json": {"model", "edited"},
    "signed.json.sig": set[str](),
}
KEY = b"a secret of 32 bytes, not this.."
NO_PLACE = ("folder", "folder/", "absent/file.json", "loop.json", "/dev/full", "cases.csv/x.json")


@contextmanager
def evidence() -> Iterator[None]:
    """Work in a folder with inputs, a log, an edited and a signed model, and what is no file."""
    with bench(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = json.loads(Path("rows.json").read_text())
        rpte.append_decisions("log.jsonl", model(), rows)
        edited = rpte.edit(model(), drop_terms=["D1"], by="a", reason="b")
        edited.save("edited.json")
        model().save("signed.json")
        rpte.sign("signed.json", KEY)
        Path("folder").mkdir()
        Path("loop.json").symlink_to("loop.json")
        yield


def _run(command: str, name: str) -> Any:
    return CliRunner().invoke(app, [*command.split(), name])


def _in_words(outcome: Any) -> bool:
    """Tell whether a command ended by itself, not in an error that nobody foresaw."""
    return outcome.exception is None or isinstance(outcome.exception, SystemExit)


def over_evidence(seed: int) -> Result:
    """Every command, told to write over each kind of evidence, under each of its names."""
    result, rng = Result(), random.Random(seed)
    for command in WRITES:
        for target, kinds in MAY_REPLACE.items():
            if OWN.get(command.split()[0]) in kinds:
                continue
            with evidence():
                before = Path(target).read_bytes()
                for name in names_of(Path(target), rng):
                    outcome = _run(command, name)
                    kept = Path(target).read_bytes() == before
                    # A second name of the same file has no signature beside it: it is replaced,
                    # and the file under its own name stays.
                    apart = name.startswith("hard")
                    refused = apart or (outcome.exit_code in (1, 2) and _in_words(outcome))
                    result.expect(kept and refused, f"{command} {name}: {outcome.output[-200:]}")
    return result


def no_place(_: int) -> Result:
    """Every command, told to write where no file can be: it is refused in words."""
    result = Result()
    for command in WRITES:
        with evidence():
            for name in NO_PLACE:
                outcome = _run(command, name)
                said = outcome.exit_code in (1, 2) and _in_words(outcome) and outcome.output.strip()
                result.expect(bool(said), f"{command} {name}: {outcome.exit_code}")
            result.expect(Path("folder").is_dir(), f"{command}: the folder is gone")
    return result


def devices(_: int) -> Result:
    """Every command, told to write to /dev/null: it does so, or refuses; the device stays one."""
    result = Result()
    for command in WRITES:
        with evidence():
            outcome = _run(command, "/dev/null")
            stays = stat.S_ISCHR(Path("/dev/null").stat().st_mode)
            ended = _in_words(outcome) and outcome.exit_code in (0, 1, 2)
            result.expect(stays and ended, f"{command} /dev/null: {outcome.output[-200:]}")
    return result


def from_python(seed: int) -> Result:
    """The library's own writers, told the same."""
    result, rng = Result(), random.Random(seed)
    writers: dict[str, Callable[[str], object]] = {
        "save": lambda name: model().save(name),
        "write_table": lambda name: write_table(pd.DataFrame({"a": [1.0]}), name),
        **{
            kind: lambda name, kind=kind: model().export(kind, name)  # type: ignore[misc]
            for kind in ("sql", "python", "c", "javascript", "onnx", "pmml", "scorecard")
        },
    }
    for what, write in writers.items():
        for target, kinds in MAY_REPLACE.items():
            if what == "save" and "model" in kinds:
                continue
            with evidence():
                before = Path(target).read_bytes()
                for name in names_of(Path(target), rng):
                    with contextlib.suppress(rpte.InputError, OSError):
                        write(name)
                    kept = Path(target).read_bytes() == before
                    result.expect(kept, f"{what} to {name}")
    return result


CASES = [
    Case("a command told to write over a log, a ledger, a signed model", over_evidence),
    Case("a command told to write where no file can be", no_place),
    Case("a command told to write to a device", devices),
    Case("save, export and tables told to write over evidence", from_python),
]
