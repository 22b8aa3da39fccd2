"""The engine of Stage 3: when it goes on, and when it gives up."""

import numpy as np
import pytest

from rpte.estimation import newton as module
from rpte.estimation.design import Design
from rpte.estimation.newton import ProxNewton
from rpte.estimation.quadratic import Penalty
from rpte.kernels.blas import one_blas_thread


def design_of(seed, n=400, d=6):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    y = (rng.random(n) < 1 / (1 + np.exp(x[:, 1] - 2 * x[:, 0]))).astype(float)
    direct = np.asfortranarray((x - x.mean(axis=0)) / x.std(axis=0))
    return Design(np.zeros((0, n), np.int32), (), direct, y, np.ones(n), np.ones(d))


def reached(seed):
    """Tell whether a start with the wrong signs, where all rows are saturated, leads home."""
    design = design_of(seed)
    with one_blas_thread():
        engine = ProxNewton(design, 0.0, np.full(6, -20.0))
        return engine.run(Penalty.of(design, 1e-3, 1.0), np.ones(6, bool), 1e-9).kkt <= 1e-9


@pytest.mark.parametrize("falls", [True, False])
def test_an_objective_that_falls_is_progress(monkeypatch, falls):
    """The residual may rise on the way."""
    monkeypatch.setattr(module, "STALLED_STEPS", 1)
    if not falls:
        monkeypatch.setattr(module, "FALL", np.inf)
    assert all(reached(seed) for seed in range(6)) == falls
