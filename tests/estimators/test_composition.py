"""The estimator inside scikit-learn's other machinery."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from rpte import RPTEClassifier
from small_table import mixed_table

QUICK = {"l1": "4/n", "max_trees": 2}


def test_column_transformer_pipeline_and_grid_search():
    X, y = mixed_table()
    prepare = ColumnTransformer(
        [("numbers", SimpleImputer(), ["age", "noise"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    search = GridSearchCV(
        make_pipeline(prepare, RPTEClassifier(**QUICK)),
        {
            "rpteclassifier__max_leaves": [2, 4],
            "rpteclassifier__ownership": ["strict", "component"],
        },
        cv=3,
        scoring="roc_auc",
    ).fit(X, y)
    assert search.best_score_ > 0.6
    model = search.best_estimator_[-1].model_
    assert set(model.schema.names) == {"age", "noise", "region", "smoker"}
    assert not model.schema["age"].has_missing


def test_calibration_keeps_the_order_of_scores_in_each_fold():
    X, y = mixed_table()
    calibrated = CalibratedClassifierCV(RPTEClassifier(**QUICK), cv=3).fit(X, y)
    assert calibrated.predict_proba(X).shape == (len(X), 2)
    for part in calibrated.calibrated_classifiers_:
        raw = part.estimator.decision_function(X)
        steps = np.diff(part.predict_proba(X)[np.argsort(raw, kind="stable"), 1])
        assert (steps >= -1e-12).all() or (steps <= 1e-12).all()


def test_cross_validation_of_strings_and_three_classes_one_against_the_rest():
    X, y = mixed_table()
    assert cross_val_score(RPTEClassifier(**QUICK), X, y, cv=3).mean() > 0.55
    three = np.array(["a", "b", "c"])[(X["noise"].rank() * 3 / (len(X) + 1)).astype(int)]
    several = OneVsRestClassifier(RPTEClassifier(**QUICK)).fit(X, three)
    assert several.score(X, three) > 0.9


def test_notebooks_get_a_picture_of_the_parameters():
    html = RPTEClassifier(ownership="strict")._repr_html_()
    assert "RPTEClassifier" in html
    assert "strict" in html


def test_unknown_parameters_are_refused():
    with pytest.raises(ValueError, match="Invalid parameter"):
        RPTEClassifier().set_params(nope=3)
