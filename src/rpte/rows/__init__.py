"""Rows: which go to folds and samples, the threads that pass over them, constants of scale.

Imported by the stages, `model/` (to verify what was learned from which rows), `fit/` and
`selection/`; it imports `table/` and `kernels/`.
"""
