"""Stage 1: a bounded vocabulary of readable columns, mined with the label.

`shapes` and `book` make the columns of single numbers, `products` and `pursuit` find products of
two variables; `items` bins variables, `hug` and `frequent` mine patterns from the bins and `pairs`
makes arithmetic pairs. `screening` and `redundancy` keep what says something of its own, and
`build` puts the vocabulary together. The kinds of column themselves are in `rpte.columns`.
"""
