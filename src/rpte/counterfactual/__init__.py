"""What would have to change: the cheapest changes of one row that bring its score to a target.

`find` takes the question; `actions` says what may be changed and at what cost, `choices` lists the
values that each variable may take, `boxes` cuts a component into boxes and bounds what they reach,
`search` combines the components, `solve` refines boxes until the answer is proved, `answers` is
what people read; `classes` asks for one of several classes. Numpy and the standard library only.
"""

from rpte.counterfactual.actions import Actions
from rpte.counterfactual.answers import Answer, Change, Counterfactuals
from rpte.counterfactual.classes import (
    ClassAnswer,
    ClassCounterfactuals,
    class_counterfactuals,
)
from rpte.counterfactual.find import counterfactuals

__all__ = [
    "Actions",
    "Answer",
    "Change",
    "ClassAnswer",
    "ClassCounterfactuals",
    "Counterfactuals",
    "class_counterfactuals",
    "counterfactuals",
]
