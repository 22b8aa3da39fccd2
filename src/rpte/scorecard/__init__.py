"""Scorecard: a model as tables of attributes with whole points that a person adds up by hand.

`values` lists what a variable can be and how often, from rows or from the model file; `bins` cuts
it into few attributes; `tables` holds attributes with their points; `card` is the whole card, which
scores rows by itself; `build` makes one of a model; `difference` says how far it is from the model.
Numpy and the standard library only. What is printed is in `rpte.export.scorecard`.
"""

from rpte.scorecard.build import make_card
from rpte.scorecard.card import Scorecard

__all__ = ["Scorecard", "make_card"]
