"""The hot loops, compiled by numba: with the package, by `rpte compile`, or on first use.

What learns a model imports this folder, nothing that only scores one. A kernel is a plain Python
function on arrays: with ``NUMBA_DISABLE_JIT=1`` it runs uncompiled and is its own specification.
Kernels release the GIL and are never parallel inside: threads share out whole columns or blocks of
rows that do not depend on them, so that no result depends on the number of threads.

`compile` makes kernels, `compiled` reads those that are compiled, `blas` holds BLAS to one thread.
Stage 1 calls `screening`, Stage 2 `codes` and `growth`, Stage 3 `design_products` and
`coordinate_descent`, the comparison of penalties `approximate_path` and `term_products`; `losses`
has the losses by code. `published` serves the published configuration alone.
"""
