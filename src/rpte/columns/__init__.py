"""The kinds of column a model is made of, with numpy and the standard library alone.

`kinds` holds them: each knows its sources, its values on a table, its conditions and its text.
`records` writes them to model files and reads them back, `logarithm` is the logarithm that scores
the same everywhere. `units` is the counting rule of the audit load, `bound` what it is bounded by
before training, `limits` what people forbid. Every room above `table/` may import from here.
"""
