"""Stage 1: a bounded vocabulary of readable columns, mined with the label.

`columns` holds the kinds of column (numpy only: a stored model scores with them). `items` bins
variables into items, `hug` and `frequent` mine patterns from them, `pairs` makes arithmetic pairs,
`redundancy` removes what is said twice, `build` puts the vocabulary together, and `coding` turns it
into the integer codes that Stage 2 grows trees on.
"""
