"""Which leaf of a code tree each row reaches."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rpte.kernels.compile import kernel


@kernel
def reached_leaves(
    codes: NDArray[Any],
    column: NDArray[np.int32],
    children: NDArray[np.int32],
    starts: NDArray[np.int64],
    goes_left: NDArray[np.bool_],
    leaf: NDArray[np.int32],
    out: NDArray[np.int32],
) -> None:
    """Send every row from the root to its leaf.

    Parameters
    ----------
    codes : (V, n)
    column : (nodes,), -1 for a leaf
    children : (nodes, 2), right and left
    starts : (nodes,)
        Where the answers of each node begin in `goes_left`.
    goes_left : for every code of a node's column, whether it goes left
    leaf : (nodes,) numbers of the leaves
    out : (n,), overwritten
    """
    for i in range(codes.shape[1]):
        node = 0
        while column[node] >= 0:
            answer = goes_left[starts[node] + codes[column[node], i]]
            node = children[node, 1 if answer else 0]
        out[i] = leaf[node]
