"""Joint counts of integer codes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.compile import kernel


@kernel
def joint_counts(
    codes: NDArray[np.int32],
    first: int,
    others: NDArray[np.int64],
    y: NDArray[np.float64],
    weight: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Count weights and events of one column's codes jointly with those of other columns.

    Parameters
    ----------
    codes : (columns, n)
        Codes from 0; what is not to be counted has a code of its own.
    first : int
        The column that is paired with each of `others`.
    others : (k,)
    y, weight : (n,)
    out : (k, a, b, 2), zero on entry
        Weight and positive weight by (other column, code of first, code of other).
    """
    n = codes.shape[1]
    for k in range(others.shape[0]):
        other = others[k]
        for i in range(n):
            a = codes[first, i]
            b = codes[other, i]
            out[k, a, b, 0] += weight[i]
            out[k, a, b, 1] += weight[i] * y[i]
