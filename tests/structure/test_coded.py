import numpy as np
import pytest

from coded_tables import coded
from rpte.kernels.growth import IS_MISSING, LEVELS, ORDERED
from rpte.structure.coded import Split, TreeBuilder


def test_tables_of_the_three_tests():
    ordered = Split(0, ORDERED, missing_code=4, missing_left=True, gain=1.0, bin=1, next_bin=3)
    assert ordered.table().tolist() == [True, True, False, False, True]
    missing = Split(0, IS_MISSING, missing_code=3, missing_left=True, gain=1.0)
    assert missing.table().tolist() == [False, False, False, True]


@pytest.mark.parametrize("missing_left", [True, False])
def test_unseen_levels_follow_missing(missing_left):
    split = Split(
        0, LEVELS, missing_code=4, missing_left=missing_left, gain=1.0,
        left_levels=(2,), right_levels=(0,),
    )  # fmt: skip
    assert split.table().tolist() == [False, missing_left, True, missing_left, missing_left]


def test_leaves_are_numbered_from_left_to_right():
    tree = TreeBuilder()
    half = Split(0, ORDERED, missing_code=4, missing_left=False, gain=1.0, bin=1, next_bin=2)
    tree.split(0, half)
    tree.split(2, Split(0, ORDERED, 4, False, 1.0, bin=2, next_bin=3))
    tree.split(1, Split(0, ORDERED, 4, False, 1.0, bin=0, next_bin=1))
    done = tree.finish()
    codes = np.array([[0, 1, 2, 3, 4, 0]], dtype=np.uint8)
    assert done.apply(codes).tolist() == [0, 1, 2, 3, 3, 0]
    assert done.n_leaves == 4
    assert tree.depth == [0, 1, 1, 2, 2, 2, 2]
    assert done.used_columns == (0,)


def test_wrong_codes_are_refused():
    with pytest.raises(ValueError, match="uint8 or uint16"):
        coded(np.zeros((2, 3)), dtype=np.int64)
    with pytest.raises(ValueError, match="2 columns"):
        coded(np.zeros((2, 3)), n_bins=[1])
