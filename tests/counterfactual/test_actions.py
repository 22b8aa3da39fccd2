"""What may be changed: names, values and contradictions are checked before any work."""

import pytest

from rpte import Actions, InputError
from small_models import SCHEMA


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"keep": ["A"]}, r"keep names 'A', no variable of the model \(did you mean 'a'"),
        ({"keep": "a"}, "keep is 'a'; it must be a list"),
        ({"one_way": ["a"]}, "one_way is .*it must map names"),
        ({"one_way": {"a": "up"}}, "'up'; it must be 'increase' or 'decrease'"),
        ({"one_way": {"c": "increase"}}, "one_way names 'c', a category"),
        ({"costs": {"a": 0}}, r"costs\['a'\] is 0; it must be a positive number"),
        ({"costs": {"a": float("inf")}}, "it must be a positive number"),
        ({"steps": {"a": True}}, "it must be a positive number"),
        ({"spreads": {"q": 1}}, "spreads names 'q', no variable"),
        ({"allowed": {"a": (3, 1)}}, r"must be \(low, high\), two numbers in this order"),
        ({"allowed": {"a": 3}}, r"must be \(low, high\) or a list of levels"),
        ({"allowed": {"c": ["U"]}}, r"'U' is none \(did you mean 'u'\?\)"),
        ({"codes": ["a"]}, "codes names 'a', which has no special codes"),
        ({"per_change": -1}, "per_change is -1; it must be a number, 0 or more"),
    ],
)
def test_mistakes_are_told(wrong, said):
    with pytest.raises(InputError, match=said):
        Actions(**wrong).checked(SCHEMA)


def test_good_actions_pass():
    actions = Actions(
        keep=["a"],
        one_way={"b": "decrease"},
        allowed={"c": ["u"], "z": (0, 3)},
        codes=["s"],
        per_change=0,
    )
    assert actions.checked(SCHEMA) is actions
