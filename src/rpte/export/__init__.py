"""Exports: a model in other forms, each proved against the original row by row.

Everything is generated from one small intermediate form, so that a new target is one short file:

1. `lower.make_form(model)` gives a `form.Form`: typed `inputs`, and named lines that compute each
   term, each component's subtotal, the score and what it stands for (a probability, or the mean of
   a number for one unit of exposure, or a hazard ratio with survival at horizons: `survival`) from
   seven kinds of node. `form`
   says what the nodes mean, and has the walk over them; `evaluate` is the reference, on numpy
   arrays; `fixed` is what is left when one input is known.
2. A target is a module with a `TARGET`, named in `target.HOMES`, in the folder of its family:
   `sql`, `code` (Python, JavaScript, C), `excel`, `onnx`, `pmml`, `scorecard`,
   `relativities`. `target.Target` says what it consists of: at least `write`, and `run` on typed
   rows (`cells`), which raises `CannotRunError` with the reason where nothing here can run it. The
   core refuses options that a target does not have, and fills an option `format` that is None from
   the ending of the file.
3. The core (`exporting`) does the rest for every target: checks before anything is written, runs
   the export on the user's table or on rows made from the model (`cells.probe_table`), refuses one
   that differs, writes it and its parity record (`parity`) whole or not at all, and repeats the
   comparison on request. `Model.export` and ``rpte export`` call it.

`language` has expressions as text, for programming languages and workbooks (`code.python` is the
shortest example), and finds the documents around them in the `templates` of a family; `programs`
runs other programs; `reasons` has the principal reasons in the words of the form. A family imports
from the top of this folder, not from another family. `rpte.mlflow` takes `parity`; heavy packages
(sqlglot, duckdb, ...) are extras, imported inside `write` and `run`. Nothing here imports numba or
scikit-learn.
"""
