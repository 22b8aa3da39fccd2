"""Units of y, exposure, time and weights, in powers of ten, for every task."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import test_invariance as units
from hostile_cases.case import Case, Result
from rpte import InputError

POWERS = range(-12, 13)


def _tried(result: Result, what: str, holds: Callable[[], object]) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            holds()
        result.expect(True, "")
    except Exception as error:  # a disagreement, or a crash
        said = f"{type(error).__name__}: {str(error).strip().splitlines()[:6]}"
        result.expect(False, f"{what}: {said}")


def _each_power(
    tasks: tuple[str, ...], seed: int, holds: Callable[[str, int], Callable[[], object]]
) -> Result:
    result = Result()
    for task in tasks:
        for power in POWERS:
            _tried(result, f"{task}, 1e{power}, seed {seed}", holds(task, power))
    return result


def of_y(seed: int) -> Result:
    """Numbers in other units have the same terms, score and figures."""

    def holds(loss: str, power: int) -> Callable[[], object]:
        return lambda: units.assert_same(
            units.Fitted(loss, 10.0**power, seed=seed),
            units.base_fit(loss, False, seed=seed),
            10.0**power,
        )

    return _each_power(units.NUMBERS, seed, holds)


def of_exposure(seed: int) -> Result:
    """The same with an exposure in other units."""

    def holds(loss: str, power: int) -> Callable[[], object]:
        return lambda: units.assert_same(
            units.Fitted(loss, 1.0, 10.0**power, seed=seed),
            units.base_fit(loss, True, seed=seed),
            1.0,
            10.0**power,
        )

    return _each_power(units.EXPOSED, seed, holds)


def of_time(seed: int) -> Result:
    """Times in other units, of one event and of competing risks."""
    return _each_power(
        units.TIMED, seed, lambda task, power: lambda: units.assert_same_times(task, power, seed)
    )


def of_weights(seed: int) -> Result:
    """Weights in larger units: the same coefficients. In smaller ones they are refused."""

    def refused(task: str, power: int) -> None:
        with pytest.raises(InputError, match="rescale the weights"):
            units.of_weights(task, np.full(units.N, 0.7 * 10.0**power), seed)

    def holds(task: str, power: int) -> Callable[[], object]:
        if power <= -3:
            return lambda: refused(task, power)
        return lambda: units.assert_same_weights(task, max(power, 0), seed)

    return _each_power(units.TASKS, seed, holds)


CASES = [
    Case("numbers in units of 1e-12 to 1e12: the same model", of_y),
    Case("exposures in units of 1e-12 to 1e12: the same model", of_exposure),
    Case("times in units of 1e-12 to 1e12: the same model", of_time),
    Case("weights in units of 1e-12 to 1e12: the same coefficients, or refused", of_weights),
]
