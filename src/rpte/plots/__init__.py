"""Pictures with matplotlib (the extra ``plot``), one `Display` class for each kind.

A display holds plain numbers. `from_estimator` takes them from a fitted estimator or a model and
draws, `plot` draws again, `frame` gives them as a pandas frame. The numbers and the pictures are
those of the report: both come from `figures`. `dispatch` chooses the display that `plot` of an
estimator or a model asks for.
Estimators import this folder, and the methods of a model when they are called.
"""
