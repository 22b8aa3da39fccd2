"""The fitted model: frozen, numpy only; it scores, explains, verifies itself and is a JSON file.

`parts` holds the dataclasses, `model` the `Model`, `explain` and `summary` what people read,
`verify` (with `verify_structure`, `verify_limits`, `verify_table`) the checks. `file` is the way to
and from disk, in steps: `reading` (bytes), `format` and `validator` (the published schema),
`semantics` (fields that must fit together); `signature` signs files. Nothing here imports numba,
scikit-learn or pandas.
"""
