"""The algorithm: `algorithm.py` is the paper's Algorithm 1, on one page.

Imported by `selection/`, which runs its stages on every fold, and by `estimators/`.
"""
