"""Inner validation: which terms a model may use, and its penalty.

`frontier` fits the models that `select` recommends; `select` decides which candidates are compared,
`search` evaluates them on the folds (`fold_state`), `comparison` ranks the evaluations. It calls
`fit/` per fold; `estimators/` imports `select_models`.
"""
