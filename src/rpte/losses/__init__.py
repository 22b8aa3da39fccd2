"""Losses: all that depends on the kind of target, one file each (numpy only).

Every room may import this one; it imports `errors` and `utils` alone. Kernels get the integer
`code` of a loss (`rpte.kernels.losses`), never the object. CONTRIBUTING.md says how to add one.
"""

from rpte.losses.binomial import BINOMIAL
from rpte.losses.loss import Loss, Residuals

__all__ = ["BINOMIAL", "LOSSES", "Loss", "Residuals"]

LOSSES: dict[str, Loss] = {loss.name: loss for loss in (BINOMIAL,)}
