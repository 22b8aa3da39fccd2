"""The cases of `benchmarks/hostile.py`, one module for each area, each with a list `CASES`."""
