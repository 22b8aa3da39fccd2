"""The long form of the fuzz test of model files.

Run: python benchmarks/fuzz_model_files.py --cases 20000 --seed 0

A third of the cases damages the bytes of real files, a third puts strange values into fields and
makes the hash fit again, a third changes one field a little. Each must be refused in one line that
is a `ModelFileError`, or give the same model (damage), or a model that scores, explains and
verifies (forgery). The stand-alone checker must pass exactly the files that the library passes. A
crash, a hang (10 s), a silently accepted change or a disagreement is printed with its case number,
and the command ends with status 1.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from file_fuzz import (
    damaged_bytes,
    damaged_document,
    dumped,
    moved_document,
    outcome_of_damage,
    outcome_of_forgery,
    verdicts,
)
from model_files import EVERY_NAME, stored
from rpte.model.file import from_dict

SECONDS = 10
KINDS = ("damaged", "forged", "moved")


def main() -> int:
    """Run the cases and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, _hang)
    originals = {name: from_dict(stored(name).copy()) for name in EVERY_NAME}
    start, outcomes, faults = time.perf_counter(), Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        for case in range(options.cases):
            # A case is a function of the seed and its number: it can be run again by itself.
            rng = random.Random(options.seed * 1_000_003 + case)
            try:
                outcomes[one_case(case, rng, path, originals)] += 1
            except Exception as error:  # a fuzzer's job is to meet what nobody expected
                signal.alarm(0)
                faults.append(f"case {case}: {type(error).__name__}: {str(error)[:200]}")
    print(f"{options.cases} cases, seed {options.seed}: {time.perf_counter() - start:.0f} s")
    for outcome, count in sorted(outcomes.items()):
        print(f"{count:>8}  {outcome}")
    print(
        f"{len(faults):>8}  crashes, hangs, silent acceptances or disagreements",
        *faults[:20],
        sep="\n",
    )
    return 1 if faults else 0


def one_case(case: int, rng: random.Random, path: Path, originals: dict) -> str:
    """Damage or forge one file and return what came of it."""
    name = rng.choice(EVERY_NAME)
    kind = KINDS[case % len(KINDS)]
    if kind == "damaged":
        layout = rng.choice((None, 1))
        content = json.dumps(stored(name).document, indent=layout).encode()
        path.write_bytes(damaged_bytes(content, rng))
    else:
        change = damaged_document if kind == "forged" else moved_document
        path.write_text(dumped(change(stored(name).document, rng)))
    signal.alarm(SECONDS)
    forged = kind != "damaged"
    outcome = outcome_of_forgery(path) if forged else outcome_of_damage(path, originals[name])
    passed, agreed = verdicts(path)
    signal.alarm(0)
    assert passed == agreed, f"the library {'passes' if passed else 'refuses'} it, the checker not"
    return f"{kind}: {outcome}; {'passed' if passed else 'not passed'} by both"


def _hang(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


if __name__ == "__main__":
    sys.exit(main())
