"""Questions to a model with a table: cross-validation, bootstrap intervals, alternative models.

`tables` reads labelled rows and splits them into folds for all. Imported by `report/` and `cli/`,
and by methods of the estimators when they are called.
"""
