"""Inner validation: which terms a model may use, and its penalty.

`frontier` fits the models that `select` recommends; `select` decides which candidates are compared,
`search` evaluates them on the folds (`fold_state`), `comparison` ranks the evaluations. The default
compares the models of `ladder`: the shapes of `shapes` and the trees of the groups that
`interactions` finds, shorter and shorter. `lengths` is the earlier search. The room calls `fit/`
per fold; `estimators/` imports `select_models`.
"""
