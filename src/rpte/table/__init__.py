"""What came in: names, kinds, levels, missing cells, row order and weights.

`schema` and `inputs` need numpy only, because a stored model scores with them. `read` turns any
data frame into columns (narwhals), `table` merges equal rows into the weighted `Table` that the
stages learn from, `files` reads and writes CSV, Parquet and Excel (`cells`: what their cells mean),
`decimals` chooses and prints the short decimals that models are made of.
"""
