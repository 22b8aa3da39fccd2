"""Files and logs: outputs that are inputs, logs that many append to, runs that are killed."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from hostile_cases.case import Case, Result

HERE = Path(__file__).parents[2]
sys.path.insert(0, str(HERE / "tests" / "helpers"))

import rpte  # noqa: E402
from model_files import stored  # noqa: E402
from rpte.cli import app  # noqa: E402
from rpte.model.file import from_dict  # noqa: E402
from rpte.model.model import Model  # noqa: E402
from rpte.utils.output import write_bytes  # noqa: E402

SOURCE = str(HERE / "src")
ROWS = 20
WRITER = f"""
import json, random, sys, time
sys.path.insert(0, {SOURCE!r})
import rpte
path, model, rows, mark, times = sys.argv[1:]
model, rows = rpte.load(model), json.load(open(rows))
for turn in range(int(times)):
    n = len(next(iter(rows.values())))
    done = rpte.append_decisions(path, model, rows, ids=[f"{{mark}}-{{turn}}"] * n)
    print(done.head, flush=True)
"""
COMMANDS = {
    "score model.json cases.csv -o": ("model.json", "cases.csv"),
    "decide model.json cases.csv --catalogue c.toml -o": ("model.json", "cases.csv", "c.toml"),
    "decide model.json cases.csv --replace -o": ("model.json", "cases.csv"),
    "fit cases.csv --target outcome -o": ("cases.csv",),
    "edit model.json --by a --reason b --drop-term D1 -o": ("model.json",),
    "report model.json cases.csv --target outcome -o": ("model.json", "cases.csv"),
    "export model.json --to sql --check cases.csv -o": ("model.json", "cases.csv"),
    "show model.json --svg": ("model.json",),
    "frontier model.json --svg": ("model.json",),
    "reasons model.json --template -o": ("model.json",),
}


@cache
def model() -> Model:
    """Return a model with numbers, levels and gaps."""
    return from_dict(stored("mixed").copy())


@contextmanager
def bench() -> Iterator[Path]:
    """Yield a folder with a model, its table, its rows as JSON and a catalogue; work there."""
    old = Path.cwd()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)
        try:
            made = stored("mixed")
            model().save("model.json")
            made.X[:ROWS].assign(outcome=made.y[:ROWS]).to_csv("cases.csv", index=False)
            rows = made.X[:ROWS].astype(object).where(made.X[:ROWS].notna(), None)
            text = json.dumps({name: list(rows[name]) for name in rows}, default=float)
            Path("rows.json").write_text(text)
            CliRunner().invoke(app, ["reasons", "model.json", "--template", "-o", "c.toml"])
            yield folder
        finally:
            os.chdir(old)


def names_of(path: Path, rng: random.Random) -> list[str]:
    """Return names of one file: its own, links of both kinds, ways around."""
    soft, hard = Path(f"soft{path.suffix}"), Path(f"hard{path.suffix}")
    soft.symlink_to(path)
    hard.hardlink_to(path)
    chain = Path(f"chain{path.suffix}")
    chain.symlink_to(soft)
    folder = Path(f"sub{rng.randrange(10**6)}")
    folder.mkdir()
    return [str(path), str(path.resolve()), f"{folder}/../{path}", str(soft), str(hard), str(chain)]


def outputs_that_are_inputs(seed: int) -> Result:
    """Every command, told to write over each file that it reads, under each of its names."""
    result, rng = Result(), random.Random(seed)
    for command, reads in COMMANDS.items():
        for read in reads:
            with bench():
                before = Path(read).read_bytes()
                for name in names_of(Path(read), rng):
                    outcome = CliRunner().invoke(app, [*command.split(), name])
                    kept = Path(read).read_bytes() == before
                    result.expect(kept and outcome.exit_code == 1, f"{command} {name}")
    return result


def writers(path: Path, times: int) -> list[subprocess.Popen[str]]:
    """Start four processes that append to one log."""
    command = [sys.executable, "-c", WRITER, str(path), "model.json", "rows.json"]
    return [
        subprocess.Popen([*command, mark, str(times)], stdout=subprocess.PIPE, text=True)
        for mark in "abcd"
    ]


def check_log(path: Path, heads: list[str], result: Result) -> None:
    """Expect a log that replays, in which every run that told its head stands in one piece."""
    for head in [None, *heads[::4]]:
        found = rpte.replay(path, model(), head)
        result.expect(not found.findings, f"{found.findings[:1]}")
    ids = [record["id"] for record in rpte.read_decisions(path, model())]
    runs = [set(ids[start : start + ROWS]) for start in range(0, len(ids), ROWS)]
    result.expect(all(len(run) == 1 for run in runs), "runs are mixed")
    result.expect(len(ids) >= len(heads) * ROWS, f"{len(ids)} cases of {len(heads)} runs")


def four_writers(seed: int) -> Result:
    """Four processes append to one log at once."""
    result = Result()
    with bench() as folder:
        started = writers(folder / "log.jsonl", 5)
        heads = [head for writer in started for head in writer.communicate()[0].split()]
        result.expect(len(heads) == 20, f"{len(heads)} heads of 20")
        check_log(folder / "log.jsonl", heads, result)
    return result


def killed_writers(seed: int) -> Result:
    """Of four processes that append to one log, each is killed at some moment; one comes after."""
    result, rng = Result(), random.Random(seed)
    with bench() as folder:
        started, heads = writers(folder / "log.jsonl", 1000), []
        for writer in started:
            assert writer.stdout is not None
            heads += [writer.stdout.readline().strip() for _ in range(rng.randrange(1, 4))]
            writer.send_signal(signal.SIGKILL)
            heads += writer.communicate()[0].split()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            last = rpte.append_decisions(
                folder / "log.jsonl", model(), json.loads(Path("rows.json").read_text()),
                ids=["last"] * ROWS,
            )  # fmt: skip
        whole = [head for head in [*heads, last.head] if len(head) == 64]
        check_log(folder / "log.jsonl", whole, result)
        left = [p.name for p in folder.iterdir() if p.suffix in (".part", ".appending")]
        result.expect(not left, f"left behind: {left}")
    return result


def changed_bytes(seed: int) -> Result:
    """One byte of a log of three runs is changed, or a line removed, doubled or moved."""
    result, rng = Result(), random.Random(seed)
    with bench() as folder:
        path, rows = folder / "log.jsonl", json.loads(Path("rows.json").read_text())
        for run in range(3):
            rpte.append_decisions(path, model(), rows, ids=[f"{run}-{i}" for i in range(ROWS)])
        content = path.read_bytes()
        for _ in range(100):
            path.write_bytes(_damaged(content, rng))
            result.expect(_is_found(path), "a changed log replays")
    return result


def _damaged(content: bytes, rng: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    place, other = rng.sample(range(len(lines)), 2)
    way = rng.randrange(4)
    if way == 0:
        byte = rng.randrange(len(content))
        return (
            content[:byte] + bytes([content[byte] ^ (1 << rng.randrange(8))]) + content[byte + 1 :]
        )
    if way == 1:
        del lines[place]
    elif way == 2:
        lines.insert(other, lines[place])
    else:
        lines[place], lines[other] = lines[other], lines[place]
    return b"".join(lines)


def _is_found(path: Path) -> bool:
    try:
        return bool(rpte.replay(path, model()).findings)
    except rpte.InputError:
        return True


def modes_and_links(seed: int) -> Result:
    """Files of many modes, written through links, keep them."""
    result, rng = Result(), random.Random(seed)
    with bench():
        for turn in range(200):
            path, link = Path(f"file{turn}"), Path(f"link{turn}")
            path.write_text("old")
            mode = 0o600 | rng.randrange(0o100)
            path.chmod(mode)
            link.symlink_to(path)
            write_bytes(b"new", link)
            kept = stat.S_IMODE(path.stat().st_mode) == mode and link.is_symlink()
            result.expect(kept and path.read_text() == "new", f"mode {mode:o}")
    return result


def cells(seed: int) -> Result:
    """Numbers of every size, gaps and odd texts come back from a log to the bit."""
    result, rng = Result(), random.Random(seed)
    with bench() as folder:
        rows: dict[str, Any] = json.loads(Path("rows.json").read_text())
        numbers = [None if rng.random() < 0.2 else _number(rng) for _ in range(ROWS)]
        odd = ["".join(chr(rng.randrange(1, 0xD000)) for _ in range(5)) for _ in range(ROWS)]
        # Most of the levels are known: a column of nothing but unknown ones is refused.
        texts = [text if turn % 3 == 0 else rows["region"][turn] for turn, text in enumerate(odd)]
        given = {**rows, "age": numbers, "region": texts}
        rpte.append_decisions(folder / "log.jsonl", model(), given)
        for number, text, record in zip(
            numbers, texts, rpte.read_decisions(folder / "log.jsonl", model()), strict=True
        ):
            age = record["inputs"]["age"]
            same = age is number if number is None else age.hex() == (number + 0.0).hex()
            result.expect(same, f"{number!r} came back as {age!r}")
            result.expect(record["inputs"]["region"] == text, f"{text!r} came back otherwise")
        result.expect(not rpte.replay(folder / "log.jsonl", model()).findings, "it does not replay")
    return result


def _number(rng: random.Random) -> float:
    size = rng.choice([1e-300, 1e-5, 1.0, 1e3, 1e15, 1e16, 1e298])  # 1e300 is the limit
    value = rng.choice([rng.random(), float(rng.randrange(100)), rng.gauss(0, 1)]) * size
    return float(round(value)) if rng.random() < 0.3 and size < 1e20 else value


CASES = [
    Case("a command told to write over a file that it reads", outputs_that_are_inputs),
    Case("four processes append to one log of decisions", four_writers),
    Case("processes killed while they append to one log", killed_writers),
    Case("a log with a changed byte, or a line removed, doubled, moved", changed_bytes),
    Case("files of many modes written through links", modes_and_links),
    Case("cells of every kind read back from a log", cells),
]
