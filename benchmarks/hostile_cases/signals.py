"""Strong and separable signals: the optimum of every loss against that of an independent solver."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import test_strong_signals as signals

from hostile_cases.case import Case, Result

TABLES = 5  # columns and noise drawn anew

Check = tuple[Callable[..., object], tuple[Any, ...]]


def _single() -> Iterator[Check]:
    for given in product(signals.SINGLE, signals.SHARES, signals.NOISES):
        yield signals.check_one_score, given


def _classes() -> Iterator[Check]:
    for given in product(signals.SHARES, signals.NOISES):
        yield signals.check_several_classes, given


def _times() -> Iterator[Check]:
    for given in product(signals.TIES, (False, True), signals.NOISES, signals.FORMS):
        yield signals.check_times, given
    for noise in signals.NOISES:
        yield signals.check_intervals, (noise,)


def _optima(checks: Callable[[], Iterator[Check]]) -> Callable[[int], Result]:
    def run(seed: int) -> Result:
        result = Result()
        for number in range(TABLES):
            for check, given in checks():
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        check(*given, seed=seed * TABLES + number)
                    result.expect(True, "")
                except Exception as error:  # not the optimum, or a crash
                    said = f"{type(error).__name__}: {str(error).strip()[:200]}"
                    what = f"{check.__name__}{given}, {seed * TABLES + number}"
                    result.expect(False, f"{what}: {said}")
        return result

    return run


CASES = [
    Case("strong signals of one score: scipy finds nothing lower", _optima(_single)),
    Case("strong signals of several classes: scipy finds nothing lower", _optima(_classes)),
    Case("strong signals in times: scipy finds nothing lower", _optima(_times)),
]
