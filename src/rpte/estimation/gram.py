"""Weighted Gram matrices of any set of terms, the intercept eliminated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from rpte.estimation.design import Design, Selection
from rpte.kernels.design_products import (
    ROW_BLOCK,
    centre_moments,
    gather_rows,
    leaf_direct_sums,
    leaf_pair_sums,
)

__all__ = ["Gram", "one_blas_thread", "weighted_gram"]

Vector = NDArray[np.float64]
Index = NDArray[np.intp]


@dataclass(frozen=True, slots=True, eq=False)
class Gram:
    """Second moments of some columns of Z under row weights h.

    Parameters
    ----------
    selection : Selection of the k columns
    centred : (k, k) Z'hZ - cross cross' / total; rows of constant columns are exactly zero
    cross : (k,) Z'h
    total : float, sum of h
    """

    selection: Selection
    centred: Vector
    cross: Vector
    total: float


def weighted_gram(design: Design, selection: Selection, h: Vector) -> Gram:
    """Gram matrix of the columns `selection` of Z under the row weights `h` (n,).

    Where `h` is shorter, of the first so many rows. Call it inside `one_blas_thread`.
    """
    terms, trees, columns = selection.terms, selection.trees, selection.columns
    counts = np.asarray(design.leaf_counts, dtype=np.intp)[trees]
    local = np.concatenate(([0], np.cumsum(counts))).astype(np.intp)
    size = int(local[-1]) + columns.size
    raw = np.zeros((size, size))
    leaf_pair_sums(design.leaf_codes, local, trees, h, raw)
    _add_direct_moments(design, trees, columns, local, h, raw)
    cross, total = design.transposed(h, selection)[terms], float(h.sum())
    centred = np.empty((terms.size, terms.size))
    centre_moments(raw, _positions(design, selection), cross, total, centred)
    return Gram(selection, centred, cross, total)


def _positions(design: Design, selection: Selection) -> Index:
    """Where the columns are among those counted, which are all leaves of their trees."""
    reached = np.zeros(len(design.leaf_counts), np.bool_)
    reached[selection.trees] = True
    counted = np.concatenate((reached[design.owner], selection.mask[design.n_leaves :]))
    return np.flatnonzero(selection.mask[counted])


def _add_direct_moments(
    design: Design, trees: Index, columns: Index, local: Index, h: Vector, out: Vector
) -> None:
    """Leaf against direct and direct against direct, block of rows by block of rows."""
    leaves, n = int(local[-1]), h.shape[0]
    if not columns.size:
        return
    root = np.sqrt(h)
    mixed = np.zeros((leaves, columns.size))
    buffer = np.empty((min(ROW_BLOCK, n), columns.size))
    for start, end, direct in design.blocks(n):
        for low in range(start, min(end, n), ROW_BLOCK):
            high = min(low + ROW_BLOCK, end, n)
            block = buffer[: high - low]
            gather_rows(direct, columns, root[start:end], low - start, high - start, block)
            leaf_direct_sums(design.leaf_codes, local, trees, root, block, low, mixed)
            out[leaves:, leaves:] += block.T @ block
    out[:leaves, leaves:] = mixed


@cache
def _controller() -> ThreadpoolController:
    """Find the BLAS libraries of this process, once: it takes milliseconds."""
    return ThreadpoolController()


_lock = Lock()
_users = 0
_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread, so that no sum depends on the number of threads.

    The limit belongs to the process. It is counted, so that one of several Python threads in here
    at the same time does not lift it for the others.
    """
    global _users, _limit
    with _lock:
        if _users == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limit.restore_original_limits()
