"""Rows: passes over blocks of them, the threads that share a pass, folds and samples, scale.

Every pass over all rows is `passes.add(statistic, rows)` or `rows.map(function)`: a function of one
block, the results taken in block order. An engine is what has `map`, and it keeps three promises:

- blocks depend on the rows alone, never on threads, workers or free memory;
- results come in block order, and a block is read the same each time;
- BLAS has one thread in a function.

`passes.RowBlocks` is the engine of arrays in memory: a block is a slice. What a fit is given is
`training_rows.TrainingRows`: an engine whose blocks are tables, with the sums over all rows that a
model needs (schema, loss, rows, cases, weight, weight times target), and `searched`, the table in
memory that Stages 1 and 2 and inner validation see: all rows, or a random sample by content.
`MemoryRows` is that of a table in memory, `stored.StoredRows` that of rows on disk, which `files`
reads through pyarrow and `cache` writes in the same order and blocks. `dask.rows.DaskRows`, a room
of its own, has partitions on a cluster as blocks: it also has `reduce`, which combines results
where they are in the order of a fixed tree, and draws the same sample by it (`draw`). Stage 3 and
the model come from passes over blocks wherever the rows are more than those that were searched
(`estimation.BlockDesign`, `fit.assemble`). The functions of these passes hold terms and
coefficients, no table and no engine, so that they can be sent to where the rows are.

What sees all rows at once needs `whole`, a table in memory: fixed penalties and the published
configuration (their Stages 1 and 2), the fingerprint of a model file, and the merge of equal rows.

Imported by the stages, `model/` (to verify what was learned from which rows), `fit/` and
`selection/`; it imports `table/` and `losses/`.
"""
