"""Scorecard: a model as tables of attributes with whole points that a person adds up by hand.

`values` lists what a variable can be and how often, from rows or from the model file; `bins` cuts
it into few attributes; `tables` holds attributes with their points; `card` is the whole card, which
scores rows by itself; `build` makes one of a model; `view` draws it as a text or a page. Numpy and
the standard library only. `rpte.export.scorecard` writes cards and says how far they are from the
model.
"""

from rpte.scorecard.build import make_card
from rpte.scorecard.card import Scorecard

__all__ = ["Scorecard", "make_card"]
