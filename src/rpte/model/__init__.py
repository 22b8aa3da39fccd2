"""The fitted model: frozen, numpy only; it scores, explains, verifies itself and is a JSON file.

`parts` holds the dataclasses, `target` what is predicted (task, loss, classes), `model` the
`Model`, `explain` and `summary` what people read, `verify` (with `verify_structure`, `certificate`,
`verify_table`, `verify_derived`) the checks. `file` is the way to and from disk, in steps:
`reading` (bytes), `format` and `validator` (the published schema), `versions` (files of the first
release), `semantics` (fields that must fit together). Every room above may
import from here; nothing here imports numba, scikit-learn or pandas.
"""
