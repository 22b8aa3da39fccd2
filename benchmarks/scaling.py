"""How the default fit gains from threads: measured with as many as given, simulated with more.

Measured: the fit of a table in a process of its own after a small one, the best of a few times.
Simulated: one thread fits while every task of `rpte.rows.threads` is timed (processor time), nested
ones inside those that ask for them. Then these tasks are dealt out to k threads by the rule of the
pool: an idle thread takes a task of the oldest call that has any left, a thread that waits for a
call helps with its tasks. What is no task runs alone. It leaves out that threads share memory and
the lock of the interpreter; where both kinds were made for the same number, the table shows both.

Run: python benchmarks/scaling.py run [--data adult,classification_100000x50] [--threads 1,2]
     [--simulated 2,4,8,16] [--out benchmarks/results/scaling.csv]
     python benchmarks/scaling.py table; python benchmarks/scaling.py serial adult
"""

from __future__ import annotations

import argparse
import heapq
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd

import rpte.rows.threads
from speed import header, make_ours, synthetic, table

OUT = Path(__file__).parent / "results" / "scaling.csv"
DATA = (
    "eeg_seizure",
    "classification_5000x30",
    "classification_20000x100",
    "classification_100000x50",
    "friedman_50000x20",
    "categories_50000",
    "adult",
    "synthetic_100000x50",
    "synthetic_1000000x50",
)
TARGETS = {2: 1.7, 8: 5.0}
ENOUGH = 6.0  # seconds of repeats
DISPATCH = 1e-5  # seconds that it takes to hand over a task
COLUMNS = ("data", "kind", "threads", "seconds")

# A task: seconds in which it works alone, and calls, which are lists of tasks, in their order.
Task = list[Any]


class Recorder:
    """Times the tasks of all calls of `thread_map`; `root` is what one thread did."""

    def __init__(self) -> None:
        self.root: Task = []
        self._stack, self._since = [self.root], time.thread_time()

    def __call__(self, function: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
        """Map in one thread, as `thread_map` does without threads."""
        call: list[Task] = []
        self.flush()
        self._stack[-1].append(call)
        for given in zip(*arguments, strict=True):
            self.flush()
            call.append([])
            self._stack.append(call[-1])
            found = function(*given)
            self.flush()
            self._stack.pop()
            yield found

    def flush(self) -> None:
        """Give the time since the last event to the task that is under way."""
        now = time.thread_time()
        self._stack[-1].append(now - self._since)
        self._since = now


class Call:
    """A call that is simulated."""

    def __init__(self, tasks: list[Task], parent: Call | None) -> None:
        self.tasks, self.parent, self.taken, self.left = tasks, parent, 0, len(tasks)

    def holds(self, other: Call | None) -> bool:
        """Tell whether a call is this one, or made by one of its tasks."""
        while other is not None and other is not self:
            other = other.parent
        return other is self


class Simulation:
    """A pool of threads; a thread yields seconds of work, or None to wait."""

    def __init__(self, threads: int) -> None:
        self.threads, self.changed = threads, False
        self.open: list[Call] = []

    def run(self, task: Task, parent: Call | None = None) -> Iterator[float | None]:
        """Work on a task."""
        for part in task:
            if isinstance(part, float):
                yield part
                continue
            call = Call(part, parent)
            self.open.append(call)
            self.changed = True
            while call.left:
                found = next((other for other in self.open if call.holds(other)), None)
                if found is None:
                    yield None
                else:
                    yield from self.work(found)

    def work(self, call: Call) -> Iterator[float | None]:
        """Take a task of a call."""
        task = call.tasks[call.taken]
        call.taken += 1
        if call.taken == len(call.tasks):
            self.open.remove(call)
        yield DISPATCH
        yield from self.run(task, call)
        call.left -= 1
        self.changed = True

    def help(self) -> Iterator[float | None]:
        """Work on whatever there is."""
        while True:
            if self.open:
                yield from self.work(self.open[0])
            else:
                yield None

    def seconds(self, root: Task) -> float:
        """Return when a task is done."""
        first = self.run(root)
        ready = [(0.0, 0, first), *((0.0, 1 + k, self.help()) for k in range(self.threads - 1))]
        waiting: list[tuple[int, Iterator[float | None]]] = []
        while True:
            now, number, thread = heapq.heappop(ready)
            try:
                taken = next(thread)
            except StopIteration:
                return now
            if taken is None:
                waiting.append((number, thread))
            else:
                heapq.heappush(ready, (now + taken, number, thread))
            if self.changed:
                for number, thread in waiting:
                    heapq.heappush(ready, (now, number, thread))
                waiting, self.changed = [], False


def fit(name: str, threads: int) -> Callable[[], Any]:
    """Return what fits a table, after a small one was fitted."""
    warm = synthetic(1200, 12)
    make_ours("rpte", threads).fit(*warm)
    X, y = table(name)
    return lambda: make_ours("rpte", threads).fit(X, y)


def measured(name: str, threads: int) -> list[dict[str, Any]]:
    """Measure a fit in this process."""
    run, taken = fit(name, threads), []
    while not taken or sum(taken) < ENOUGH:
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return [{"data": name, "kind": "measured", "threads": threads, "seconds": min(taken)}]


def recorded(name: str) -> Task:
    """Return the tasks of a fit, the shorter of two."""
    run, found = fit(name, 1), []
    for _ in range(2):
        recorder = Recorder()
        rpte.rows.threads.recorder = recorder
        run()
        rpte.rows.threads.recorder = None
        recorder.flush()
        found.append(recorder.root)
    return min(found, key=lambda root: Simulation(1).seconds(root))


def simulated(name: str, threads: list[int]) -> list[dict[str, Any]]:
    """Simulate a fit with several numbers of threads."""
    root = recorded(name)
    return [
        {"data": name, "kind": "simulated", "threads": k, "seconds": Simulation(k).seconds(root)}
        for k in [1, *threads]
    ]


def serial(name: str) -> str:
    """Return in which functions one thread is while it works alone, most of the time first."""
    seen: Counter[str] = Counter()
    depth = 0

    def watched(function: Callable[..., Any], *arguments: Any) -> Iterator[Any]:
        nonlocal depth
        for given in zip(*arguments, strict=True):
            depth += 1
            found = function(*given)
            depth -= 1
            yield found

    run, main, done = fit(name, 1), threading.get_ident(), threading.Event()

    def sample() -> None:
        while not done.wait(0.001):
            frame = sys._current_frames().get(main)
            lines = []
            while frame is not None and depth == 0:
                code = frame.f_code
                if "/rpte/" in code.co_filename:
                    lines.append(f"{Path(code.co_filename).stem}.{code.co_name}")
                frame = frame.f_back
            seen["in tasks" if depth else " < ".join(lines[:3])] += 1

    watcher = threading.Thread(target=sample)
    rpte.rows.threads.recorder = watched
    watcher.start()
    run()
    done.set()
    watcher.join()
    total = sum(seen.values())
    return "\n".join(f"{count / total:6.1%}  {where}" for where, count in seen.most_common(25))


def run(arguments: argparse.Namespace) -> None:
    """Make the cells asked for, each in a new process, and write them to the CSV."""
    out: Path = arguments.out
    kept = pd.read_csv(out, comment="#") if out.exists() else pd.DataFrame(columns=COLUMNS)
    for name in arguments.data:
        jobs = [[name, str(k)] for k in arguments.threads]
        if arguments.simulated:
            jobs.append([name, "simulated", *map(str, arguments.simulated)])
        for job in jobs:
            command = [sys.executable, __file__, "one", *job]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"{' '.join(job)}: failed\n{done.stderr[-2000:]}", flush=True)
                continue
            found = pd.DataFrame(json.loads(done.stdout.splitlines()[-1]))
            kept = pd.concat([kept, found], ignore_index=True)
            kept = kept.drop_duplicates(["data", "kind", "threads"], keep="last")
            out.write_text(header(__file__) + kept.to_csv(index=False, float_format="%.5g"))
            print(found.to_string(index=False, header=False), flush=True)


def speedups(frame: pd.DataFrame) -> str:
    """Return how many times faster than one thread each fit is, as Markdown."""
    cells = frame.set_index(["data", "kind", "threads"])["seconds"]
    kinds = sorted({(kind, k) for _, kind, k in cells.index if k > 1})
    goals = [f", target {TARGETS[k]:g}" if k in TARGETS else "" for _, k in kinds]
    titles = [f"{k} threads, {kind}{goal}" for (kind, k), goal in zip(kinds, goals, strict=True)]
    lines = [f"| data | one thread, s | {' | '.join(titles)} |", "|---" * (2 + len(kinds)) + "|"]
    for name in dict.fromkeys(frame["data"]):
        alone = {kind: cells.get((name, kind, 1)) for kind in ("measured", "simulated")}
        known = next((t for t in alone.values() if t is not None), float("nan"))
        times = []
        for kind, k in kinds:
            taken, one = cells.get((name, kind, k)), alone[kind]
            times.append("" if taken is None or one is None else f"{one / taken:.2f}")
        lines.append(f"| {name} | {known:.2f} | {' | '.join(times)} |")
    return "\n".join(lines)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    numbers = {"type": lambda text: [int(k) for k in text.split(",") if k]}
    command = commands.add_parser("run")
    command.add_argument("--data", default=list(DATA), type=lambda text: text.split(","))
    command.add_argument("--threads", default=[1, 2], **numbers)
    command.add_argument("--simulated", default=[2, 4, 8, 16], **numbers)
    shown, one = commands.add_parser("table"), commands.add_parser("one")
    for parsed in (command, shown):
        parsed.add_argument("--out", type=Path, default=OUT)
    one.add_argument("job", nargs="+")
    commands.add_parser("serial").add_argument("name")
    arguments = parser.parse_args()
    if arguments.command == "run":
        run(arguments)
    elif arguments.command == "table":
        print(speedups(pd.read_csv(arguments.out, comment="#")))
    elif arguments.command == "serial":
        print(serial(arguments.name))
    else:
        name, kind, *more = arguments.job
        found = simulated(name, [*map(int, more)]) if more else measured(name, int(kind))
        print(json.dumps(found))


if __name__ == "__main__":
    main()
