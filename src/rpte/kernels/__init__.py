"""The hot loops, compiled by numba on first use.

The stages, `losses/` and `rows/` import this folder, and nobody else. A kernel is a plain Python
function on arrays: with ``NUMBA_DISABLE_JIT=1`` it runs uncompiled and is its own specification.
Kernels release the GIL and are never parallel inside: threads share out whole columns, so that
every sum is made in row order by one thread and no result depends on the number of threads.
"""

from rpte.kernels.compile import kernel

__all__ = ["kernel"]
