"""Approximate fits of several classes, one class after the other.

Where the scores of the other classes are held, that of a class is a binomial score beside an
offset, log(sum of exp(their scores)). So the path of each class is a binomial one, and at every
lambda the classes take turns until the deviance hardly falls. The penalty is a sum over terms and
classes: where no class can gain, no change of several classes can.
"""

from __future__ import annotations

import numpy as np

from rpte.estimation.approximate import ApproximateDesign, ApproximatePath
from rpte.losses import Multinomial
from rpte.rows import scale
from rpte.utils.arrays import Floats

TURNS = 4  # of every class at one lambda, at most
ENOUGH = 1e-3  # of the deviance: turns of all classes that gain less are the last


class ClassesPath:
    """The penalty path of a design whose loss has a score per class, as `ApproximatePath`.

    `start` (K, q + 1) are intercepts and coefficients at the lambda before the first.
    """

    def __init__(
        self, design: ApproximateDesign, l1_ratio: float = 1.0, start: Floats | None = None
    ) -> None:
        assert isinstance(design.loss, Multinomial)
        self.design, self.loss = design, design.loss
        if start is None:
            start = np.zeros((self.loss.n_scores, 1 + len(design.rows)))
            start[:, 0] = self.loss.null_scores(design.y, design.weight)
        self.scores = design.scores(start)
        threads = len(design.y) > scale.LONG_ABOVE  # otherwise folds have threads of their own
        given = zip(self.loss.is_class(design.y), start, strict=True)
        self.paths = [
            ApproximatePath(design.of_class(k, y), l1_ratio, fit, threads)
            for k, (y, fit) in enumerate(given)
        ]

    def to(self, l1s: Floats) -> Floats:
        """Go on to some lambdas, descending; return intercepts and coefficients, (f, K, q + 1)."""
        return np.array([self._to(l1s[at : at + 1]) for at in range(len(l1s))])

    def _to(self, l1: Floats) -> Floats:
        design = self.design
        least = self.loss.deviance(self.scores, design.y, design.weight)
        fit = np.empty((len(self.paths), 1 + len(design.rows)))
        for _ in range(TURNS):
            for k, path in enumerate(self.paths):
                fit[k] = path.turn(l1, self.scores, k)[0]
            deviance = self.loss.deviance(self.scores, design.y, design.weight)
            if deviance >= least - ENOUGH * deviance:
                break
            least = deviance
        return fit
