"""Rows of a fit as files and clusters have them: blocks of any lengths, in any order."""

from __future__ import annotations

import pickle

import numpy as np

from rpte.rows.threads import thread_map
from rpte.rows.training_rows import MemoryRows
from rpte.table.table import Table


class UnevenTables(MemoryRows):
    """The rows of a table in blocks of any lengths, in any order; it notes what it is given."""

    def __init__(self, table, lengths=(), order=None):
        super().__init__(table)
        order = np.arange(table.n_rows) if order is None else order
        self.blocks = [
            Table(table.inputs.take(rows), table.y[rows], table.weight[rows], loss=table.loss)
            for rows in np.split(order, np.cumsum(lengths))
        ]
        self.sent = []

    def map(self, function):
        self.sent.append(pickle.dumps(function))
        return thread_map(pickle.loads(self.sent[-1]), self.blocks)


def uneven(table, seed=0):
    rng = np.random.default_rng(seed)
    lengths = [0, 1, table.n_rows // 7, table.n_rows // 3]
    return UnevenTables(table, lengths, rng.permutation(table.n_rows))
