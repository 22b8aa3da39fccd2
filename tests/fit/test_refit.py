"""Stage 3 solved again for the terms that a model has."""

import numpy as np
import pytest

from fit_tables import mixed_case
from rpte import InputError, RPTEClassifier
from rpte.fit.refit import refit

CASE = mixed_case()


@pytest.mark.parametrize("made", [RPTEClassifier(l1=0.02), RPTEClassifier.paper()])
def test_on_the_same_table_nothing_changes(made):
    model = CASE.fit(made).model_
    again = refit(model, CASE.X, CASE.y, CASE.weight)
    np.testing.assert_allclose(again.score(CASE.X), model.score(CASE.X), atol=1e-5)
    assert again.audit().miu <= model.audit().miu
    assert all(check.holds is not False for check in again.verify(CASE.X, CASE.y, CASE.weight))


def test_on_other_rows_the_terms_stay_and_the_coefficients_move():
    model = CASE.fit(RPTEClassifier(l1=0.02)).model_
    rows = np.arange(0, len(CASE.y), 2)
    again = refit(model, CASE.X.iloc[rows], CASE.y[rows], CASE.weight[rows])
    before = {rule.conditions for rule in model.rules()}
    assert {rule.conditions for rule in again.rules()} <= before
    assert again.intercept != model.intercept


def test_leaf_values_of_stage_2_are_not_estimated_again():
    model = CASE.fit(RPTEClassifier(reassign=False)).model_
    with pytest.raises(InputError, match="fit it again"):
        refit(model, CASE.X, CASE.y)
