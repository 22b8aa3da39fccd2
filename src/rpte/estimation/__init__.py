"""Stage 3: one L1 logistic fit over leaves and direct terms (equation (5)).

`design.py` holds what is fitted, `solver.py` one fit, `path.py` the whole lambda path and
`canonical.py` the choice among equally good solutions; these four are what the rest of the library
imports. Behind them: `newton.py` (the iteration), `quadratic.py` (its subproblem), `gram.py`.
"""

from rpte.estimation.canonical import canonical
from rpte.estimation.design import Design
from rpte.estimation.path import lambda_grid, path
from rpte.estimation.solver import Fit, lambda_max, solve

__all__ = ["Design", "Fit", "canonical", "lambda_grid", "lambda_max", "path", "solve"]
