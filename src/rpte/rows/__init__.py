"""Rows: passes over blocks of them, the threads that share a pass, folds and samples, scale.

Every pass over all rows is `passes.add(statistic, engine)`: a function of one block, the results
added in block order. An engine tells how many blocks there are and reads one of them. It must keep
three promises:

- blocks depend on the rows alone, never on threads or free memory;
- any thread may read any block at any time, and reads the same each time;
- the first blocks are a random sample of the rows, because solvers begin with the first rows.

`TableBlocks` and `RowBlocks` are the engine of tables in memory, whose rows stand in the order of a
hash of their content; other engines (files, a cluster) go beside them. Such an engine would still
have to provide block by block what is one array over all rows today: of `Table` the targets,
weights, hashes, cases and groups; of `estimation.Design` the leaf codes and the score, residual
and curvature of a fit; of `selection.FoldState` the matrices of terms, which are those of a sample
where rows are many. Stage 1 and the grower hold whole columns of the rows that they are given. The
merge of equal rows and the hash of a table (`table/`, below this room) sort all rows by content.

Imported by the stages, `model/` (to verify what was learned from which rows), `fit/` and
`selection/`; it imports `table/` and `losses/`.
"""
