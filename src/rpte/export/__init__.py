"""Exports: a model in other forms, each proved against the original row by row.

Everything is generated from one small intermediate form, so that a new target is one short file:

1. `lower.make_form(model)` gives a `form.Form`: typed inputs, and named lines that compute each
   term, each component's subtotal, the score and the probability from seven kinds of node.
   `form` says what the nodes mean; `evaluate` is the reference, on numpy arrays.
2. A target is a module with a `TARGET = Target(...)` (`target.Target`), named in `target.HOMES`.
   It has `write(form, options)`, which returns a text, bytes, or a folder as a mapping from name to
   bytes, and `run(path, form, options, cells)`, which runs what was written on typed rows and
   returns `Answers`: the lines by name, at least the score, and what ran them (and `sizes` if that
   rounds differences as spreadsheets do). Where nothing here can run it, `run` raises
   `CannotRunError` with the reason, and the record says so.
3. `check(form, options)` refuses, with one `InputError`, what the target cannot hold: a name, a
   dialect. `lacks` names the features (`target.FEATURES`) that it cannot express; the core refuses
   these. `options` are names with defaults; the core refuses others, and fills an option `format`
   that is None from the ending of the file. `tolerance` is larger than rounding only where the
   format computes in single precision. `settle` reads files that options name, so that the record
   holds all that a later check needs; `learn` takes what the export needs from the user's rows, and
   `truth` replaces the model's lines where an export has its own. `packages` are those whose
   versions matter to the record, `notes` what else it should say (or refuse: `Answers.others` has
   columns that are no lines).
4. The core (`exporting`) does the rest for every target: checks before anything is written, runs
   the export on the user's table or on rows made from the model (`cells.probe_table`), refuses one
   that differs, writes it and its parity record (`parity`) whole or not at all, and repeats the
   comparison on request. `Model.export` and ``rpte export`` call it.

`reasons` has the principal reasons in the words of the form, for targets that tell them; `fold` is
a form with one input fixed. `rpte.mlflow` and `rpte.estimators.json_state` keep models as they are.

Heavy packages (sqlglot, duckdb, ...) are extras, imported inside `write` and `run`.
`source.Language` is the base of targets that are programming languages; `python` is the shortest
example. Nothing here imports numba or scikit-learn.
"""
