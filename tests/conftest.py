"""Settings of every test run."""

import os

# The workers of pytest-xdist share the cores, so a fit in one of them has one thread if not told.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
