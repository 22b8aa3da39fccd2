"""The hot loops, compiled by numba on first use.

What learns a model imports this folder, nothing that only scores one. A kernel is a plain Python
function on arrays: with ``NUMBA_DISABLE_JIT=1`` it runs uncompiled and is its own specification.
Kernels release the GIL and are never parallel inside: threads share out whole columns, so that
every sum is made in row order by one thread and no result depends on the number of threads.

`compile` makes kernels, `blas` holds BLAS to one thread. Stage 1 calls `screening`, Stage 2 `codes`
and `growth`, Stage 3 `design_products` and `coordinate_descent`, the comparison of penalties
`approximate_path`; `losses` has the losses by code. `published` serves the published configuration
alone.
"""
