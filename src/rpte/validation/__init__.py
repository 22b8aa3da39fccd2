"""What is asked of a fitted model with a table at hand: honest scores, intervals, alternatives.

Imported by `report/` and `cli/`, and by methods of the estimators when they are called.
"""
