"""Scorecard: a model as tables of attributes with whole points that a person adds up by hand.

`values` lists what a variable can be and how often, from rows or from the model file; `build` cuts
it into few attributes and makes a card of a model; `card` holds the tables with their points,
scores rows by itself and is a text or a page. Numpy and the standard library only, and
jinja2 for the page. `rpte.export.scorecard` writes cards and says how far they are from the model.
"""

from rpte.scorecard.build import make_card
from rpte.scorecard.card import Scorecard

__all__ = ["Scorecard", "make_card"]
