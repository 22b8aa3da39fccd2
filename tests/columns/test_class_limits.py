"""Monotone limits by class: how they are named, what is refused, and the signs they ask for."""

import pytest

from rpte import InputError, Limits
from rpte.columns.kinds import Hinge, Missing, Pair, Scale, Step, Value
from rpte.columns.limits import FREE, ZERO, describe, permissions
from rpte.table.schema import Schema, Variable

SCHEMA = Schema(
    (
        Variable("age", "number"),
        Variable("dose", "number"),
        Variable("ward", "category", ("a", "b")),
    ),
    named=True,
)
CLASSES = ("dead", "healthy", "ill")


def found(monotone, classes=CLASSES):
    return permissions(Limits(monotone=monotone), SCHEMA, classes)


@pytest.mark.parametrize(
    ("monotone", "says"),
    [
        ({"age": "increasing"}, r"is 'increasing', but there are 3 classes; name the class whose"),
        ({"age": "increasing"}, r"such as \{'age': \{'dead': 'increasing'\}\}; the classes are"),
        ({"age": {}}, r"limits.monotone\['age'\] is \{\}, but there are 3 classes"),
        ({"age": {"ded": "increasing"}}, r"names 'ded', which is no class \(did you mean 'dead'"),
        ({"age": {"x": "increasing"}}, r"the classes are \['dead', 'healthy', 'ill'\]"),
        ({"age": {"dead": "up"}}, r"is 'up'; it must be 'increasing' or 'decreasing'"),
        ({"ward": {"dead": "increasing"}}, "names 'ward', a category"),
        ({"agee": {"dead": "increasing"}}, r"names \['agee'\], which are not columns"),
        ({"age": dict.fromkeys(CLASSES, "increasing")}, "under which no score may move"),
        ({"age": dict.fromkeys(CLASSES, "decreasing")}, "name fewer classes"),
    ],
)
def test_what_is_refused(monotone, says):
    with pytest.raises(InputError, match=says):
        found(monotone)


@pytest.mark.parametrize("classes", [(), ("no", "yes")])
def test_a_class_is_named_of_three_or_more_alone(classes):
    with pytest.raises(InputError, match="only of 3 classes or more by class"):
        found({"age": {"yes": "increasing"}}, classes)


def test_a_class_named_twice():
    with pytest.raises(InputError, match="names '2' twice"):
        found({"age": {2: "increasing", "2": "increasing"}}, (1, 2, 3))


def test_a_class_is_named_by_itself_or_by_its_text():
    by_itself = found({"age": {2: "increasing"}}, (1, 2, 3))
    assert found({"age": {"2": "increasing"}}, (1, 2, 3)) == by_itself
    assert by_itself.by_class == {"age": (0, 1, 0)}
    assert found({"age": {2: "increasing"}}, (1.0, 2.0, 3.0)).by_class == {"age": (0, 1, 0)}


def test_what_the_file_says_gives_the_limits_again():
    age = {"dead": "increasing", "ill": "decreasing"}
    given = found({"dose": {"ill": "increasing"}, "age": age})
    told = describe(given)["monotone"]
    assert list(told.items()) == [("age", age), ("dose", {"ill": "increasing"})]
    assert found(told) == given


def test_without_directions_there_are_no_limits():
    assert found({}) == FREE


AGE, DOSE = Value("age"), Value("dose")
UP = {"age": {"dead": "increasing"}}


@pytest.mark.parametrize(
    ("monotone", "column", "signs"),
    [
        (UP, AGE, (1, -1, -1)),
        (UP, Step("age", 3.0), (1, -1, -1)),
        (UP, Hinge("age", 3.0, "below"), (-1, 1, 1)),
        (UP, DOSE, (0, 0, 0)),
        (UP, Missing("age"), (0, 0, 0)),
        (UP, Scale("age", "distance", (3.0,)), None),
        (UP, Pair("absolute difference", AGE, DOSE), None),
        (UP, Pair("product", AGE, DOSE), None),
        (UP, Pair("product", AGE, Hinge("dose", 1.0, "above")), (1, -1, -1)),
        (UP, Pair("difference", DOSE, AGE), (-1, 1, 1)),
        ({"age": {"dead": "decreasing"}}, AGE, (-1, 1, 1)),
        ({"age": {"dead": "increasing", "ill": "decreasing"}}, AGE, (1, ZERO, -1)),
        ({"age": {"dead": "increasing", "ill": "increasing"}}, AGE, (ZERO, -1, ZERO)),
        ({**UP, "dose": {"ill": "increasing"}}, Pair("sum", AGE, DOSE), (ZERO, -1, ZERO)),
        ({**UP, "dose": {"ill": "decreasing"}}, Pair("sum", AGE, DOSE), (1, ZERO, -1)),
        ({**UP, "dose": {"dead": "decreasing"}}, Pair("sum", AGE, DOSE), None),
        ({**UP, "dose": {"dead": "decreasing"}}, Pair("difference", AGE, DOSE), (1, -1, -1)),
    ],
)
def test_the_signs_of_a_column(monotone, column, signs):
    limits = found(monotone)
    assert limits.class_signs(column) == signs
    assert limits.admits(column) == (signs is not None)


def test_trees_do_not_split_a_limited_variable():
    limits = found(UP)
    assert not limits.in_trees(AGE)
    assert limits.in_trees(DOSE)
