"""scikit-learn's own estimator checks, with no expected failures."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from rpte import RPTEClassifier

VARIANTS = [
    RPTEClassifier(cv=2, l1_ratio=1.0, budget=20),  # the default, with less to compare
    RPTEClassifier.paper(),
    RPTEClassifier(ownership="strict", l1="4/n", l1_ratio=0.5, class_weight="balanced"),
    RPTEClassifier(vocabulary="frequent", pattern_order=1, l1=0.01, lookahead=True),
    RPTEClassifier(vocabulary="original", ownership="separate", l1="4/n", reassign=False),
]


@pytest.mark.filterwarnings("ignore::rpte.RPTEWarning")
@parametrize_with_checks(VARIANTS)
def test_scikit_learn_check(estimator, check):
    check(estimator)
