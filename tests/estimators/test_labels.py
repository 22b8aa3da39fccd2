"""Labels: what is kept comes back the same everywhere; what cannot be kept is refused in words."""

import datetime
import enum
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rpte
from effort import examples
from rpte import InputError, RPTEClassifier, RPTEWarning
from rpte.estimators.labels import check_rare, read_labels
from rpte.model.file import from_dict, to_dict
from rpte.model.target import Target


class Grade(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Answer(str, enum.Enum):  # noqa: UP042  # its str() is not its value
    NO = "no"
    YES = "yes"


class Side(enum.Enum):
    LEFT = 1
    RIGHT = 2


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 1)).round(2)
    return x, (x[:, 0] > 0).astype(int)


def objects(cells):
    return np.array([*cells, None], object)[:-1]


def same(a, b):
    return a == b and isinstance(a, type(b))


plain = st.one_of(
    st.booleans(),
    st.integers(-(2**53), 2**53),
    st.floats(-1e6, 1e6).map(float).map(np.rint).map(float),
    st.text(max_size=4),
)


@examples(40)
@given(plain, plain, st.sampled_from(["list", "objects", "array", "series"]))
def test_labels_come_back_the_same_or_are_refused(first, second, form):
    X, y = table()
    labels = [(first, second)[i] for i in y]
    made = {"list": list, "objects": objects, "array": np.array, "series": pd.Series}[form](labels)
    if {type(first), type(second)} == {int, float}:
        labels = list(map(float, labels))
    if form == "array":  # numpy has made them one type, and dropped zeros at the end of text
        labels = made.tolist()
    try:
        fitted = RPTEClassifier(l1=0.05).fit(X, made)
    except InputError:
        mixed = type(first) is not type(second)
        assert first == second or mixed or any(str(label).endswith("\0") for label in labels)
        return
    document = to_dict(fitted.model_)
    loaded = from_dict(document)
    wanted = sorted(set(labels))
    for found in (fitted.classes_.tolist(), list(loaded.classes), document["target"]["classes"]):
        assert all(map(same, found, wanted))
        assert len(found) == 2
    assert fitted.predict(X).tolist() == loaded.predict(X).tolist() == labels
    assert all(check.holds for check in loaded.verify(X, made))


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (("a", "a\0"), r"label 'a\\x00': numpy drops zero characters"),
        (("a", "\ud800"), "Unicode text only"),
        ((Decimal(0), Decimal(1)), "type Decimal"),
        ((b"a", b"b"), "type bytes"),
        (((1, 2), (3, 4)), "type tuple"),
        ((Side.LEFT, Side.RIGHT), "type Side"),
        ((datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)), "type date"),
        ((2**53, 2**53 + 1), "beyond 2\\*\\*53"),
        ((0, 2**64), "label 18446744073709551616"),
        ((-(10**400), 1), "label -1000"),
        ((True, 0), r"mixes labels of the types \['bool', 'int'\]"),
        ((False, 1.0), r"mixes labels of the types \['bool', 'float'\]"),
        (("1", 1), r"mixes labels of the types \['int', 'str'\]"),
        ((0.0, np.inf), "infinite"),
        ((1j, 2j), "type complex"),
    ],
)
def test_what_a_model_file_cannot_keep_is_refused(pair, message):
    X, y = table()
    with pytest.raises(InputError, match=message):
        RPTEClassifier(l1=0.05).fit(X, objects([pair[i] for i in y]))


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["2020-01-01", "2021-01-01"], "datetime64[D]"),
        np.array([b"a", b"b"]),
        np.array([1j, 2j]),
        np.array([2**63, 1], np.uint64),
        pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"])),
    ],
)
def test_arrays_that_cannot_be_kept_are_refused(labels):
    with pytest.raises(InputError, match="y holds"):
        read_labels(labels, 2)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (objects([0, 1.0]), [0.0, 1.0]),
        ([np.int8(0), 1], [0, 1]),
        (objects([Grade.LOW, 2]), [1, 2]),
        (objects([Answer.NO, "yes"]), ["no", "yes"]),
        (pd.Series([0, 1], dtype="Int64"), [0, 1]),
        (pd.Series([True, False], dtype="boolean"), [False, True]),
        (pd.Series(["b", "a"], dtype="string"), ["a", "b"]),
        (pd.Categorical(["b", "a"], categories=["b", "a"], ordered=True), ["a", "b"]),
        (pd.Categorical([True, False]), [False, True]),
        (pl.Series(["b", "a"]), ["a", "b"]),
        (pl.Series([True, False]), [False, True]),
        (["a", "a\0b"], ["a", "a\0b"]),
        ([0, 1.0], [0.0, 1.0]),
    ],
)
def test_two_labels_in_any_container(labels, classes):
    found = read_labels(labels, 2)[1].tolist()
    assert all(map(same, found, classes))


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="needs numpy 2")
def test_labels_of_numpys_own_text_type():
    labels = np.array(["no", "yes"], np.dtypes.StringDType())
    assert read_labels(labels, 2)[1].tolist() == ["no", "yes"]


def test_classes_that_numpy_would_change_are_kept_as_objects():
    assert Target(("a", "a\0"), 1, 0.0).labels.tolist() == ["a", "a\0"]
    assert Target((-1, 2**63), 1, 0.0).labels.tolist() == [-1, 2**63]
    assert Target((0, 1), 1, 0.0).labels.dtype.kind == "i"


class TestOtherTasks:
    def test_several_classes(self):
        labels, classes = read_labels(["b", "a", "c"], 3)
        assert labels.tolist() == ["b", "a", "c"]
        assert classes.tolist() == ["a", "b", "c"]

    def test_numbers(self):
        with pytest.raises(InputError, match=r"Unknown label type: continuous.* is regression"):
            read_labels([0.5, 1.5, 2.5], 3)
        with pytest.raises(InputError, match="is regression"):
            check_rare(np.arange(30), [1] * 30)

    def test_a_time_beside_an_event(self):
        with pytest.raises(InputError, match="is survival analysis: use RPTESurvival"):
            check_rare(np.arange(30), [1] * 30, "futime", ["age", "death"])

    @pytest.mark.parametrize(
        "y",
        [
            np.array([(True, 1.0), (False, 2.0)], [("event", bool), ("time", float)]),
            np.array([[1.0, 0.0], [2.0, 1.0]]),
            pd.DataFrame({"time": [1.0, 2.0], "event": [0, 1]}),
        ],
    )
    def test_times_and_events_as_two_columns(self, y):
        said = "is survival analysis.*use RPTESurvival, rpte fit with --task survival"
        with pytest.raises(InputError, match=said):
            read_labels(y, 2)

    def test_a_time_among_the_columns_of_an_event_is_warned_of(self):
        X, y = table()
        frame = pd.DataFrame({"age": X[:, 0], "time": np.arange(60.0)})
        event = pd.Series(y, name="DEATH_EVENT")
        said = "column 'time' beside the target 'DEATH_EVENT' looks like the time.*RPTESurvival"
        with pytest.warns(RPTEWarning, match=said):
            RPTEClassifier(l1=0.05).fit(frame, event)
        RPTEClassifier(l1=0.05).fit(frame, y)
        left_out = rpte.Limits(exclude=["time"])
        RPTEClassifier(l1=0.05, limits=left_out).fit(frame, event)


def test_models_of_classes_keep_the_name_of_their_target(tmp_path):
    X = pd.DataFrame({"x": np.arange(60.0)})
    y = pd.Series((X["x"] > 30).astype(int), name="default")
    clf = RPTEClassifier(l1=0.01).fit(X, y)
    assert clf.summary().startswith("RPTE model: log odds of default = 1 against 0\n")
    clf.save(tmp_path / "model.json")
    assert rpte.load(tmp_path / "model.json").target == clf.model_.target
    unnamed = RPTEClassifier(l1=0.01).fit(X, y.to_numpy()).model_
    assert "name" not in unnamed.target.to_dict()
    assert to_dict(unnamed, 1)["hash"] == to_dict(clf.model_, 1)["hash"]
    three = RPTEClassifier(l1=0.01).fit(X, pd.Series(X["x"] // 20, name="grade").astype(int))
    three.save(tmp_path / "classes.json")
    assert rpte.load(tmp_path / "classes.json").target.name == "grade"
    assert "3 classes of grade" in three.summary()
