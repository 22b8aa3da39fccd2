"""Pictures with matplotlib (the extra ``plot``), one `Display` class for each kind.

A display holds plain numbers. `from_estimator` takes them from a fitted estimator or a model and
draws, `plot` draws again, `frame` gives them as a pandas frame. The numbers are those of the
report: `report.curves` and `model.effect` for effects, `report.cards` for trees, `report.frontier`.
`dispatch` chooses the display that `plot` of an estimator or a model asks for, `subject` is whom a
picture is of, `style` has colours and texts.
Estimators import this folder, and the methods of a model when they are called.
"""
