"""How much a run of the tests tries: the tiers, and the number of examples that properties draw.

========================  =====================================================================
`pytest`                  tests not marked `slow`; a quarter of the examples, always the same ones
`pytest --all`            every test; all examples, always the same ones
`pytest --explore=20`     every property test; 20 times the examples, drawn at random
========================  =====================================================================
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

FEWEST = 5  # examples that even the default tier draws, where a test asks for as many
_factor = 0.25


def set_effort(config) -> None:
    """Read the tier from the command line, before any test module is imported."""
    global _factor
    explore = config.getoption("--explore")
    _factor = float(explore or (1.0 if config.getoption("--all") else 0.25))
    name = "explore" if explore else "same"
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large]
    # A fixture of one test may serve all its examples: what fixtures give here is never changed.
    quiet = [*slow, HealthCheck.function_scoped_fixture, HealthCheck.differing_executors]
    common = {"deadline": None, "database": None, "suppress_health_check": quiet}
    settings.register_profile(name, derandomize=not explore, print_blob=bool(explore), **common)
    settings.load_profile(name)


def examples(count: int, **more) -> settings:
    """Return settings for a property that draws `count` examples when every test is run."""
    scaled = max(min(count, FEWEST), round(count * _factor))
    return settings(max_examples=scaled, **more)
