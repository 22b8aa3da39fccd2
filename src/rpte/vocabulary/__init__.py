"""Stage 1: a bounded vocabulary of readable columns, mined with the label.

`shapes` and `shape_cache` make the columns of single numbers, `products` and `pursuit` find
products of two variables; `screening` and `redundancy` drop weak and repeated columns, and
`build` puts the vocabulary together. The kinds of column are in `rpte.columns`, the published
patterns in `rpte.published`. Imported by `structure/`, `published/` and the packages after them.
"""
