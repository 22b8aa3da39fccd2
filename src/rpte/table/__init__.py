"""What came in: names, kinds, levels, missing cells, row order and weights.

`schema` says what a model knows of a table; `inputs`, `column` and `spelling` read a table under
it, with numpy only, because a stored model scores with them. `read` learns the schema of a training
table from any data frame (narwhals), `table` merges equal rows into the weighted `Table` that the
stages learn from, `target` reads labels, `hints` tells what deserves a look, `fingerprint` is what
a model file says of its table. `files` reads and writes CSV, Parquet and Excel (`cells`: what their
cells mean); `decimals` chooses and prints the short decimals that models are made of. Every room
but `kernels/` may import from here.
"""
