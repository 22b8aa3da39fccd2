"""Settings of every test run, and its tiers (helpers/effort.py)."""

import os

import pytest

import effort

# The workers of pytest-xdist share the cores, so a fit in one of them has one thread if not told.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_addoption(parser):
    group = parser.getgroup("rpte")
    group.addoption("--all", action="store_true", help="run the slow tests too, with all examples")
    group.addoption(
        "--explore",
        nargs="?",
        const="20",
        metavar="TIMES",
        help="run only the property tests, on TIMES as many random examples (default 20)",
    )
    group.addoption("--costs", metavar="FILE", help="write what each test costs into FILE")
    group.addoption("--except", metavar="FILE", help="leave out what passed in this table of costs")


def pytest_configure(config):
    effort.set_effort(config)
    if config.getoption("--costs"):
        from run_costs import Costs

        config.pluginmanager.register(Costs(config.getoption("--costs")), "costs")


def pytest_collection_modifyitems(config, items):
    """Leave out what does not belong to the tier; a test that is named by its id always runs."""
    if config.getoption("--explore"):
        kept = [item for item in items if hasattr(getattr(item, "obj", None), "hypothesis")]
    elif config.getoption("--all") or any("::" in argument for argument in config.args):
        kept = items
    else:
        kept = [item for item in items if item.get_closest_marker("slow") is None]
    if config.getoption("--except"):
        from run_costs import passed

        done = passed(config.getoption("--except"))
        kept = [item for item in kept if item.nodeid not in done]
    dropped = set(items) - set(kept)
    if dropped:
        config.hook.pytest_deselected(items=list(dropped))
        items[:] = kept


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item):
    """Refuse a slow test that does not say why it has to be slow."""
    for mark in item.iter_markers("slow"):
        if not mark.kwargs.get("reason"):
            raise pytest.UsageError(
                f"{item.nodeid}: @pytest.mark.slow needs a reason: "
                '@pytest.mark.slow(reason="starts a browser")'
            )
