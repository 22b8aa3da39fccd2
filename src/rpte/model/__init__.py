"""The fitted model: frozen, numpy only; it scores, explains, verifies itself and is a JSON file.

`parts` holds the dataclasses, `model` the `Model`, `explain` and `summary` what people read,
`verify` the checks, `file` the way to and from disk. Nothing here imports numba, scikit-learn or
pandas.
"""
