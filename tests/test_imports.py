"""What a production machine needs: numpy and the standard library."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rpte
from model_files import stored, write

SOURCE = str(Path(rpte.__file__).parents[1])
BLOCKED = """
import sys
sys.path.insert(0, {source!r})
class Refuse:
    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if top not in sys.stdlib_module_names and top not in {allowed!r}:
            raise ImportError(f"{{name}} is blocked")
sys.meta_path.insert(0, Refuse())
"""


def run(code, *more):
    """Run code in a fresh interpreter that has numpy, some packages, and no others."""
    script = BLOCKED.format(source=SOURCE, allowed=("numpy", "rpte", *more)) + code
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )


def test_the_block_works():
    names = ("numba", "sklearn", "pandas", "scipy", "yaml", "nothing_known")
    tries = "".join(f"\ntry: import {n}\nexcept ImportError as error: print(error)" for n in names)
    assert run(tries).stdout.splitlines() == [f"{name} is blocked" for name in names]


def test_importing_the_package_needs_nothing_heavy():
    done = run("import rpte; rpte.load, rpte.Model, rpte.audit_load, rpte.AuditLoad; print('fine')")
    assert done.stdout == "fine\n", done.stderr


@pytest.mark.slow(reason="imports numba and scikit-learn in a fresh interpreter")
def test_fitting_imports_nothing_that_draws():
    code = "import sys, rpte.estimators.classifier; print('rpte.plots' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "False\n", done.stderr


def test_the_estimator_is_what_needs_them():
    assert "is blocked" in run("import rpte; rpte.RPTEClassifier").stderr


@pytest.fixture(scope="module", params=["mixed", "monotone"])
def saved(request, tmp_path_factory):
    """Return a folder with a model, its rows and its labels, the model and the table."""
    case, folder = stored(request.param), tmp_path_factory.mktemp("saved")
    write(case.document, folder)
    X = case.X.astype(object).where(case.X.notna(), None)
    weight = None if case.weight is None else case.weight.tolist()
    rows = json.dumps([{name: list(X[name]) for name in X}, case.y.tolist(), weight], default=float)
    (folder / "rows.json").write_text(rows)
    return folder, rpte.load(folder / "model.json"), case.X


def given(folder):
    """Return code that reads a model and its table."""
    return f"""
import json, rpte
X, y, weight = json.load(open({str(folder / "rows.json")!r}))
path = {str(folder / "model.json")!r}
model = rpte.load(path)
"""


def test_a_stored_model_works_with_numpy_alone(saved):
    folder, model, X = saved
    code = f"""
rpte.sign(path, b"k" * 32)
from rpte.model.format import SCHEMA
print(json.dumps({{
    "score": model.score(X).tolist(),
    "probability": model.predict_proba(X).tolist(),
    "class": model.predict(X).tolist(),
    "explained": [e.score for e in model.explain(X)],
    "mean": [e.intercept for e in model.explain(X, reference="mean")][:1],
    "checks": [c.holds for c in rpte.verify_file(path, X, y, weight)],
    "signed": rpte.check_signature(path, b"k" * 32),
    "load": [rpte.audit_load(model, X).iiu, model.audit().miu],
    "summary": model.summary(),
    "rules": len(model.rules()),
}}))
model.save({str(folder / "again.json")!r})
"""
    done = run(given(folder) + code)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["score"] == found["explained"] == model.score(X).tolist()
    assert found["probability"] == model.predict_proba(X).tolist()
    assert found["class"] == model.predict(X).tolist()
    assert found["mean"] == [model.explain(X, reference="mean")[0].intercept]
    assert len(found["checks"]) >= 19
    assert all(found["checks"])
    assert found["signed"]
    assert found["load"] == [model.audit(X).iiu, model.audit().miu]
    assert found["summary"] == model.summary()
    assert found["rules"] == len(model.rules())
    assert rpte.load(folder / "again.json") == model


def test_decisions_need_numpy_alone(saved):
    folder, *_ = saved
    code = f"""
log = {str(folder / "log.jsonl")!r}
rpte.append_decisions(log, model, X)
print(len(rpte.replay(log, model).findings), len(rpte.reason_codes(model, X)))
"""
    done = run(given(folder) + code)
    assert done.stdout == "0 300\n", done.stderr


def test_a_report_needs_numpy_and_jinja_alone(saved):
    folder, *_ = saved
    code = """
from rpte.report.contents import ReportOptions, report_contents
from rpte.report.evidence import gather
from rpte.report.html import render
evidence = gather(model, X, y, weight)
page = render(report_contents(model, evidence, ReportOptions(resamples=20)))
card = model._repr_html_() + model.explain(X)[0]._repr_html_()
print(evidence.training, len(page) > 10_000, len(card) > 1000)
"""
    done = run(given(folder) + code, "jinja2", "markupsafe")
    assert done.stdout == "True True True\n", done.stderr


def test_every_public_name_resolves():
    for name in rpte.__all__:
        assert getattr(rpte, name).__name__ == name
        assert name in dir(rpte)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rpte.nothing  # noqa: B018
