"""MLflow: saved, logged and loaded in a real file store."""

import importlib
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import rpte
from command_tables import policies
from export_models import (
    HOSTILE_NAMES,
    NAMES,
    NUMBERS,
    TABLES,
    golden,
    needs_data,
    number_model,
    table_model,
)
from fit_tables import make_case
from rpte import InputError, RPTEClassifier, RPTERegressor, RPTESurvival
from rpte.export.lower import make_form
from rpte.export.parity import expected
from survival_tables import made_times

pytestmark = pytest.mark.filterwarnings("ignore:column .* training did not have")

mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed: pip install 'rpte[mlflow]'")
flavor = importlib.import_module("rpte.mlflow")


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    """Keep runs and models in the files of a folder of its own."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(f"file:{tmp_path / 'store'}")
    yield
    mlflow.set_tracking_uri(before)


def assert_same(model, X, uri):
    """Compare what was loaded with the model: the file, and every line of every row."""
    assert flavor.load_model(uri) == model
    truth = expected(model, X)
    found = mlflow.pyfunc.load_model(uri).predict(X, params={"contributions": True})
    assert set(found) == {"prediction", *truth}
    for name, values in truth.items():
        np.testing.assert_array_equal(found[name], values)
    assert found["prediction"].tolist() == model.predict(X).tolist()


def logged(model):
    with mlflow.start_run():
        return flavor.log_model(model).model_uri


@pytest.mark.parametrize("name", NAMES)
def test_golden_models(name):
    model, rows = golden(name)
    X = pd.DataFrame(rows) if model.schema.named else np.array(rows, np.float64)
    assert_same(model, X, logged(model))


@pytest.mark.parametrize("names", HOSTILE_NAMES)
def test_hostile_names_and_cells(names):
    numbers, category, flag = HOSTILE_NAMES[names]
    case = make_case(0, ["number", "skewed", "category", "two"], 200)
    X = case.X.set_axis([*numbers[:2], category, flag], axis=1)
    model = RPTEClassifier(l1="4/n").fit(X, case.y).model_
    assert len(make_form(model).inputs) > 2
    X = X.astype(object)
    X.loc[:5, category] = 'O\'Brien \n"é"'
    X.loc[5:9] = None
    assert_same(model, X, logged(model))


@needs_data
@pytest.mark.parametrize("name", TABLES)
def test_real_tables(name):
    model, X = table_model(name, False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rpte.RPTEWarning)
        assert_same(model, X, logged(model))


def test_the_registry():
    model, rows = golden("mixed")
    with mlflow.start_run():
        flavor.log_model(model, registered_model_name="scoring")
    assert_same(model, pd.DataFrame(rows), "models:/scoring/1")


def test_a_folder_holds_the_model_file_and_no_pickle(tmp_path):
    model, rows = golden("special")
    flavor.save_model(model, tmp_path / "saved", metadata={"owner": "risk"})
    kinds = {path.suffix for path in (tmp_path / "saved").rglob("*") if path.is_file()}
    assert kinds == {".json", ".yaml", ".txt", ""}
    assert rpte.load(tmp_path / "saved" / "data" / "model.json") == model
    told = mlflow.models.Model.load(str(tmp_path / "saved"))
    assert told.metadata == {"owner": "risk"}
    assert told.flavors["rpte"]["inputs"]["points"] == "number, or one of the codes -9, -8"
    assert "rpte==" in (tmp_path / "saved" / "requirements.txt").read_text()
    assert_same(model, pd.DataFrame(rows), tmp_path / "saved")


def test_signature_and_example_come_from_the_schema(tmp_path):
    model, _ = golden("special")
    flavor.save_model(model, tmp_path / "saved")
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    read = {source for component in model.components for source in component.sources}
    assert set(loaded.metadata.get_input_schema().input_names()) == read
    assert loaded.metadata.get_output_schema().input_names() == [
        "prediction",
        "probability",
        "score",
    ]
    example = loaded.input_example
    np.testing.assert_array_equal(loaded.predict(example)["score"], model.score(example))
    assert np.isfinite(model.score(example)).all()


def test_tables_that_the_model_reads_are_not_refused(tmp_path):
    """Whole numbers, pandas categories and rows without a value, which MLflow is strict about."""
    model, rows = golden("mixed")
    flavor.save_model(model, tmp_path / "saved")
    X = pd.DataFrame(rows).dropna().astype({"age": np.int64, "region": "category"})
    X.index = range(100, 100 + len(X))
    found = mlflow.pyfunc.load_model(str(tmp_path / "saved")).predict(X)
    assert list(found) == ["prediction", "probability", "score"]
    assert list(found.index) == list(X.index)
    np.testing.assert_array_equal(found["score"], model.score(X))


def test_the_classifier_and_a_model_without_terms(tmp_path):
    X = pd.DataFrame({"a": np.arange(40.0), "b": np.arange(40.0) % 3})
    classifier = RPTEClassifier(l1=1e6).fit(X, X["a"] > 9)
    flavor.save_model(classifier, tmp_path / "saved")
    assert_same(classifier.model_, X, tmp_path / "saved")


@pytest.mark.filterwarnings("ignore:the model was fitted with the (exposure|offset)")
@pytest.mark.parametrize("loss", NUMBERS)
def test_numbers(loss, tmp_path):
    model, X, _ = number_model(loss)
    flavor.save_model(model, tmp_path / "saved")
    assert_same(model, X, tmp_path / "saved")
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    schema = loaded.metadata.get_output_schema()
    assert schema.input_names() == ["prediction", "mean", "score"]
    assert {str(kind) for kind in schema.input_types()} == {"DataType.double"}


@pytest.mark.parametrize("labels", [("never", "once", "twice"), (0, 1, 5), (0.0, 1.0, 2.0)])
def test_several_classes(labels, tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(18, 80, 200), "zone": rng.choice(list("abc"), 200)})
    place = np.where(X["zone"] == "a", 2, (X["age"] > 50).astype(int))
    y = np.array(labels, object)[np.where(rng.random(200) < 0.9, place, rng.integers(0, 3, 200))]
    classifier = RPTEClassifier(l1=0.03).fit(X, y)
    model = classifier.model_
    flavor.save_model(classifier, tmp_path / "saved")
    assert flavor.load_model(tmp_path / "saved") == model
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    found = loaded.predict(X)
    always = ["prediction", *(f"probability_{c}" for c in labels), *(f"score_{c}" for c in labels)]
    assert list(found) == loaded.metadata.get_output_schema().input_names() == always
    assert found["prediction"].tolist() == model.predict(X).tolist()
    np.testing.assert_array_equal(found[always[1:4]], model.predict_proba(X))
    np.testing.assert_array_equal(found[always[4:]], model.score(X))
    more = loaded.predict(X, params={"contributions": True})
    for k, label in enumerate(labels):
        parts = [more[f"{component.name}_{label}"] for component in model.components]
        total = model.intercepts[k] + sum(parts)
        np.testing.assert_allclose(total, more[f"score_{label}"], rtol=1e-12)
        assert f"{model.components[0].direct[0].name}_{label}" in more
    assert np.isfinite(loaded.predict(loaded.input_example)[always[1:]].to_numpy()).all()
    assert mlflow.pyfunc.load_model(logged(model)).predict(X).equals(found)


def test_times(tmp_path):
    X, y = made_times(200, 2)
    clinic = np.array(["a", "b"])[np.arange(200) % 2]
    est = RPTESurvival(l1=0.03).fit(X, y, strata=clinic)
    flavor.save_model(est, tmp_path / "m")
    assert flavor.load_model(tmp_path / "m") == est.model_
    scored = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    found = scored.predict(X)
    assert list(found) == ["prediction", "hazard_ratio", "score"]
    np.testing.assert_array_equal(found["prediction"], est.predict(X))
    np.testing.assert_allclose(found["hazard_ratio"], np.exp(est.predict(X)), rtol=1e-15)
    found = scored.predict(X, params={"horizons": [0.5, 1.0]})
    wanted = est.model_.survival_at(X, [0.5, 1.0], clinic)
    own = found[["survival_1_a", "survival_1_b"]].to_numpy()[np.arange(200), np.arange(200) % 2]
    np.testing.assert_array_equal(own, wanted[:, 1])
    assert "D1" in scored.predict(X, params={"contributions": True})


@pytest.mark.filterwarnings("ignore:the model was fitted with the (exposure|offset)")
def test_an_exposure_and_an_offset_are_columns_that_may_be_left_out(tmp_path):
    table = policies()
    X = table[["age", "zone", "years", "known"]]
    reg = RPTERegressor(loss="poisson", l1=0.05)
    reg.fit(X, table["claims"], exposure="years", offset="known")
    flavor.save_model(reg, tmp_path / "saved")
    loaded, model = mlflow.pyfunc.load_model(str(tmp_path / "saved")), reg.model_
    found = loaded.predict(X)
    assert list(found) == ["prediction", "mean", "score"]
    whole = model.predict(X, exposure="years", offset="known")
    np.testing.assert_array_equal(found["prediction"], whole)
    np.testing.assert_array_equal(found["mean"], model.predict(X))
    for left in (["years"], ["known"], []):
        roles = {"years": "exposure", "known": "offset"}
        given = {roles[name]: name for name in left}
        some = loaded.predict(X[["age", "zone", *left]])["prediction"]
        np.testing.assert_array_equal(some, model.predict(X, **given))
    told = mlflow.models.Model.load(str(tmp_path / "saved"))
    assert told.flavors["rpte"]["inputs"]["years"].startswith("exposure, above 0; the mean is")
    with pytest.raises(InputError, match="exposures must be finite and above 0"):
        loaded.predict(X.assign(years=0.0))
    with pytest.raises(mlflow.MlflowException, match=r"missing inputs .*age"):
        loaded.predict(X.drop(columns="age"))


class TestRefused:
    def test_what_is_no_model(self, tmp_path):
        for wrong, says in (
            (RPTEClassifier(), "a RPTEClassifier is not fitted: call fit first"),
            (RPTERegressor(), "a RPTERegressor is not fitted: call fit first"),
            (LogisticRegression(), "a LogisticRegression is no model of rpte; give a Model or a"),
        ):
            with pytest.raises(InputError, match=says):
                flavor.save_model(wrong, tmp_path / "saved")
            with pytest.raises(InputError, match=says):
                flavor.log_model(wrong)
        assert not (tmp_path / "saved").exists()

    def test_a_folder_that_is_there(self, tmp_path):
        flavor.save_model(golden("mixed")[0], tmp_path / "saved")
        with pytest.raises(mlflow.MlflowException, match="already exists"):
            flavor.save_model(golden("mixed")[0], tmp_path / "saved")

    def test_another_flavour(self, tmp_path):
        other = mlflow.models.Model()
        other.add_flavor("sklearn")
        other.save(str(tmp_path / "MLmodel"))
        with pytest.raises(InputError, match=r"no model of rpte; its flavours are \['sklearn'\]"):
            flavor.load_model(tmp_path)

    def test_columns_and_cells(self, tmp_path):
        model, rows = golden("mixed")
        flavor.save_model(model, tmp_path / "saved")
        loaded = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
        with pytest.raises(mlflow.MlflowException, match=r"missing inputs .*age"):
            loaded.predict(pd.DataFrame(rows).drop(columns="age"))
        with pytest.raises(InputError, match="'age'"):
            loaded.predict(pd.DataFrame(rows).assign(age="old"))

    def test_a_changed_file(self, tmp_path):
        flavor.save_model(golden("mixed")[0], tmp_path / "saved")
        file = tmp_path / "saved" / "data" / "model.json"
        file.write_text(file.read_text().replace('"positive": 1', '"positive": 0'))
        with pytest.raises(rpte.ModelFileError, match="does not match its hash"):
            flavor.load_model(tmp_path / "saved")

    def test_without_mlflow(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "mlflow", None)
        monkeypatch.delitem(sys.modules, "rpte.mlflow")
        with pytest.raises(ImportError, match=r"pip install 'rpte\[mlflow\]'"):
            importlib.import_module("rpte.mlflow")
