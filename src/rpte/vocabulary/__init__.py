"""Stage 1: a bounded vocabulary of readable columns, mined with the label.

`shapes` makes the columns of single numbers, `shape_cache` holds them for all folds and ranks them,
`products` and `pursuit` find products of two variables. `screening` and `redundancy` keep what says
something of its own, and `build` puts the vocabulary together. `gain` has the information gain and
the order statistics of a column. The kinds of column themselves are in `rpte.columns`; patterns and
arithmetic pairs are mined in `rpte.published`.

Imported by the rooms of the later stages, and by `model/` to derive thresholds again.
"""
