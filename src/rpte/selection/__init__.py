"""Inner validation: candidates, penalty paths, the price of a condition.

It calls `fit/` per fold; `estimators/` imports `select_models`.
"""
