"""Thin scikit-learn estimators: check what is given, call `fit/` or `selection/`, keep the Model.

Users get them from `rpte`; `validation/`, `report/` and `cli/` import them.
"""
