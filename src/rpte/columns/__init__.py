"""The kinds of column a model is made of, with numpy and the standard library alone.

`kinds` holds them: each knows its sources, its values on a table, its conditions, its text and its
record in model files. `logarithm` is the logarithm that scores the same everywhere, `units` the
counting rule of the audit load and its bound before training, `limits` what people forbid. Every
room above `table/` may import from here.
"""
