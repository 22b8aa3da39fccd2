"""What a loss answers."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rpte.utils.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """Working residual and curvature of each row, weighted: equation (3) for any loss.

    With a change d of its score, half a row's deviance changes by -gradient d + hessian d^2 / 2.
    """

    gradient: Floats
    hessian: Floats


class Loss(ABC):
    """A kind of target: how it is checked, scored, put in words and dealt out to folds.

    Targets and weights are (n,), and so are scores and derivatives; of a loss with K scores per
    row these are (K, n). The deviance is a weighted mean over rows.

    Attributes
    ----------
    name, link : str
        In model files and settings.
    code : int
        Of the loss in kernels.
    n_scores : int
        Scores per row.
    curvature_bound : float or None
        Of the curvature of a row of weight one.
    effect_name : str
        What `effect` of a coefficient is called.
    explained_name : str
        What the fraction of the deviance that a model explains is called.
    leaves_little : bool
        Whether good models may leave little of the deviance, as those of numbers do.
    price_of_rest : float
        How far a condition has to explain a fraction of what a good model leaves, and not of what
        it explains: 1 for numbers, 0 for two classes.
    balanced : bool
        Whether `verify` claims of a solved model that its predictions add up to the targets, as
        they do under the canonical link.
    least_target : float
        The smallest number that a target may be.
    """

    name: ClassVar[str]
    link: ClassVar[str]
    code: ClassVar[int]
    n_scores: ClassVar[int] = 1
    curvature_bound: ClassVar[float | None]
    effect_name: ClassVar[str]
    explained_name: ClassVar[str] = "deviance explained"
    leaves_little: ClassVar[bool] = True
    price_of_rest: ClassVar[float] = 1.0
    balanced: ClassVar[bool] = False
    least_target: ClassVar[float] = 0.0

    @abstractmethod
    def check(self, y: Floats) -> None:
        """Raise `InputError` on targets that the loss has no meaning for."""

    @abstractmethod
    def score_of(self, mean: float) -> float:
        """Return the score of the model without terms on targets with some mean."""

    @abstractmethod
    def residuals(self, score: Floats, y: Floats, weight: Floats) -> Residuals:
        """Return the working residual and the curvature of each row."""

    @abstractmethod
    def unit_deviance(self, score: Floats, y: Floats) -> Floats:
        """Return the deviance of each row."""

    @abstractmethod
    def response(self, score: Floats) -> Floats:
        """Return what is predicted, from the score: the inverse link."""

    @abstractmethod
    def effect(self, coefficient: float) -> float:
        """Return a coefficient as people compare it: an odds ratio, say."""

    @abstractmethod
    def spread(self, mean: Floats) -> Floats:
        """Return what the standard deviation of targets goes with: the root of the variance."""

    @abstractmethod
    def strata(self, y: Floats) -> Ints:
        """Return the stratum of each row, which folds keep even."""

    @abstractmethod
    def effective_cases(self, y: Floats, weight: NDArray[np.generic]) -> float:
        """Return how many cases tell something: of two classes, those of the smaller one."""

    @abstractmethod
    def least_deviance(self, weight: Floats, total: Floats) -> Floats:
        """Return half the deviance of cells of rows, each with a mean of its own, but for a part.

        That part is the same for all partitions of the rows, so that what a partition gains is a
        difference of sums. `weight` and `total` are sums of weights, and of weight times target,
        in each cell: 0 in one without rows. Of two classes this is weight times entropy.
        """

    def explainable(self, y: Floats, weight: Floats) -> float:
        """Return half the deviance of the model without terms: what may be gained at most."""
        score = np.full(len(y), self.null_score(y, weight))
        return 0.5 * float(weight.sum()) * self.deviance(score, y, weight)

    def null_score(self, y: Floats, weight: Floats) -> float:
        """Return the score of the model without terms."""
        return self.score_of(float((weight * y).sum() / weight.sum()))

    def null_scores(self, y: Floats, weight: Floats) -> Floats:
        """Return the scores of the model without terms, (n_scores,)."""
        return np.array([self.null_score(y, weight)])

    def varies(self, y: Floats) -> bool:
        """Tell whether some rows can train, or judge, a model."""
        return bool(len(y)) and bool(y.min() < y.max())

    def null_rows(self, y: Floats, weight: Floats) -> Floats:
        """Return the score of every row in the model without terms: (n,), or (K, n)."""
        scores = self.null_scores(y, weight)
        rows = np.repeat(scores[:, None], len(y), axis=1)
        return rows if self.n_scores > 1 else rows[0]

    def deviance(self, score: Floats, y: Floats, weight: Floats) -> float:
        """Return the mean deviance."""
        return float((weight * self.unit_deviance(score, y)).sum() / weight.sum())

    def dispersion(self, score: Floats, y: Floats, weight: Floats) -> float:
        """Return how far targets spread beside what the loss itself says: 1 for classes."""
        return 1.0

    def null_spread(self, y: Floats, weight: Floats) -> float:
        """Return the standard deviation of a row's deviance in the model without terms."""
        unit = self.unit_deviance(self.null_rows(y, weight), y)
        mean = np.average(unit, weights=weight)
        return float(np.sqrt(np.average((unit - mean) ** 2, weights=weight)))

    def __reduce__(self) -> str | tuple[Any, ...]:
        return type(self).__name__.upper()  # the one object of its module, on other machines too

    def to_dict(self) -> dict[str, str | float]:
        """Return what a model file says of the loss."""
        return {"name": self.name, "link": self.link}
