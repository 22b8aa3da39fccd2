"""Stage 2: source-disjoint trees, kept as structure only.

`groups` finds the variables that interact, and `group_trees` grows one tree for each group of them.
`coding` turns the vocabulary into integer codes and trees of codes back into readable ones,
`boosting` is the paper's loop, `grower` grows one tree, `lookahead` and `microtrees` search two
levels at once. `tree` is the readable tree, numpy only: a stored model scores with it. Imported by
`published/` and the packages after it.
"""
