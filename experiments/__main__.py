"""The command line: python -m experiments run | status | consolidate | table | figures | report."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

from experiments.data import GROUPED, NAMES, PAPER12, RAW, SPLITS
from experiments.kinds import ALL_SPLITS, SPLITS_OF, planned
from experiments.kinds import NAMES as MODELS_OF
from experiments.protocol import EXPERIMENTS, Unit
from experiments.results import RESULTS, check, consolidate, known_records, read_units
from experiments.store import UNITS, Store


def chosen(text: str, known: list[str], what: str) -> list[str]:
    """Return the names of a list separated by commas; all if it is empty."""
    if not text:
        return known
    names = text.split(",")
    unknown = [name for name in names if name not in known and ":" not in name]
    if unknown:
        raise SystemExit(f"no {what} {unknown}; there are {', '.join(known)}")
    return names


def chosen_splits(text: str) -> list[int]:
    """Return splits such as ``0-4`` or ``0,3,7``."""
    found: list[int] = []
    for part in text.split(","):
        low, _, high = part.partition("-")
        found.extend(range(int(low), int(high or low) + 1))
    if not all(0 <= split < SPLITS for split in found):
        raise SystemExit(f"--splits {text}; splits are 0 to {SPLITS - 1}, such as 0-4")
    return found


def asked_for(args: argparse.Namespace) -> list[Unit]:
    """Return the units that the command line asks for, model by model."""
    sets = chosen(args.sets, [*NAMES], "set") if args.sets else [*PAPER12]
    models = chosen(args.models, [*MODELS_OF[args.what]], "model")
    wanted = chosen_splits(args.splits or SPLITS_OF.get(args.what, ALL_SPLITS))
    units = [
        Unit(args.what, table, model, split, args.config or "nested")
        for model in models
        for table in sets
        for split in wanted
    ]
    return units if args.config else planned(units)


def run(args: argparse.Namespace) -> None:
    """Carry units out."""
    from experiments.run import Runner

    os.environ["OMP_NUM_THREADS"] = "1"
    runner = Runner(args.data, Store(args.units), args.jobs, args.engine, args.scheduler)
    runner.known, runner.again = known_records(args.results), args.again
    runner.run(asked_for(args))


def status(args: argparse.Namespace) -> None:
    """Say what is there, and what failed."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for record in Store(args.units).records():
        counts[record["what"], record["model"], record["status"]] += 1
        if record["status"] == "failed":
            place = f"{record['what']} {record['table']} {record['model']} {record['split']}"
            print(f"failed: {place}: {record['error'].splitlines()[0]}")
    for (what, model, state), n in sorted(counts.items()):
        print(f"{what:12} {model:22} {state:7} {n}")


def consolidated(args: argparse.Namespace) -> None:
    """Add the units to the committed results."""
    count = consolidate(Store(args.units), args.results)
    print(f"{count} units in {args.results}, {len(read_units(args.results))} in all")


def checked(args: argparse.Namespace) -> None:
    """Check the committed results."""
    wrong = check(args.results)
    print("\n".join(wrong) or "checksums and completeness hold")
    if wrong:
        raise SystemExit(1)


def shown(args: argparse.Namespace) -> None:
    """Print sections of the page."""
    from experiments.results import Results
    from experiments.tables import SECTIONS

    for name in chosen(args.name, [*SECTIONS], "table"):
        print(SECTIONS[name](Results(args.results)).text(), end="\n\n")


def drawn(args: argparse.Namespace) -> None:
    """Draw the pictures of the page."""
    from experiments.figures import draw

    for path in draw(args.results):
        print(path)


def reported(args: argparse.Namespace) -> None:
    """Write docs/paper.md."""
    from experiments.report import PAGE, write_report

    write_report(args.results, args.out or PAGE)
    print(args.out or PAGE)


def parser() -> argparse.ArgumentParser:
    """Describe the command line."""
    top = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run", help="carry out what is missing")
    runs.add_argument("--what", choices=EXPERIMENTS, default="performance")
    runs.add_argument("--data", default="../shared/data/paper12", help="a folder, or pmlb")
    runs.add_argument("--jobs", type=int, default=1)
    runs.add_argument("--engine", choices=("joblib", "dask"), default="joblib")
    runs.add_argument("--scheduler", help="address of a Dask scheduler")
    others = ", ".join([GROUPED, *RAW])
    runs.add_argument(
        "--sets", default="", help=f"separated by commas; the paper's twelve if empty; {others}"
    )
    runs.add_argument("--models", default="", help="separated by commas; all if empty")
    runs.add_argument("--splits", default="", help="such as 0-4 or 0,7; all if empty")
    runs.add_argument("--config", choices=("nested", "fixed"), help="search the grid, or not")
    runs.add_argument("--again", action="store_true", help="also what rests on older sources")
    runs.set_defaults(do=run)
    states = commands.add_parser("status", help="what is there, what failed")
    states.set_defaults(do=status)
    adds = commands.add_parser("consolidate", help="add the units to the committed results")
    adds.set_defaults(do=consolidated)
    checks = commands.add_parser("check", help="checksums and completeness of the results")
    checks.set_defaults(do=checked)
    tables = commands.add_parser("table", help="print tables")
    tables.add_argument("name", nargs="?", default="", help="separated by commas; all if empty")
    tables.set_defaults(do=shown)
    pictures = commands.add_parser("figures", help="draw the pictures of docs/paper.md")
    pictures.set_defaults(do=drawn)
    pages = commands.add_parser("report", help="write docs/paper.md")
    pages.add_argument("--out", type=Path, help="another file")
    pages.set_defaults(do=reported)
    for command in (runs, states, adds):
        command.add_argument("--units", type=Path, default=UNITS, help="the folder of units")
    for command in (runs, adds, checks, tables, pictures, pages):
        command.add_argument("--results", type=Path, default=RESULTS, help="committed results")
    return top


def main() -> None:
    """Run a command."""
    args = parser().parse_args()
    try:
        args.do(args)
    except (FileNotFoundError, ValueError) as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()
