"""What would have to change: the cheapest changes of one row that bring its score to a target.

`actions` says what may be changed and at what cost, `choices` lists the values that each variable
may take, `cells` cuts a component into boxes inside which every term is smooth, `bounds` says what
a box can reach at best, `search` combines the components, `solve` puts these together and proves
the answer, `answers` is what people read. Numpy and the standard library only.
"""

from rpte.counterfactual.actions import Actions
from rpte.counterfactual.answers import Answer, Change, Counterfactuals
from rpte.counterfactual.find import counterfactuals

__all__ = ["Actions", "Answer", "Change", "Counterfactuals", "counterfactuals"]
