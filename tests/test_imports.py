"""What a production machine needs: numpy and the standard library."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rpte
from fit_tables import mixed_case

SOURCE = str(Path(rpte.__file__).parents[1])
HEAVY = (
    "numba",
    "sklearn",
    "pandas",
    "scipy",
    "narwhals",
    "joblib",
    "threadpoolctl",
    "typer",
    "rich",
)

BLOCKED = """
import sys
sys.path.insert(0, {source!r})
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {heavy!r}:
            raise ImportError(f"{{name}} is blocked")
sys.meta_path.insert(0, Refuse())
"""


def run(code):
    """Run code in a fresh interpreter in which heavy packages cannot be imported."""
    script = BLOCKED.format(source=SOURCE, heavy=HEAVY) + code
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )


def test_the_block_works():
    for name in HEAVY:
        assert f"{name} is blocked" in run(f"import {name}").stderr


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


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    case = mixed_case()
    classifier = case.fit(rpte.RPTEClassifier(l1=0.01, ownership="paper"))
    folder = tmp_path_factory.mktemp("stored")
    classifier.save(folder / "model.json")
    rows = case.X.astype(object).where(case.X.notna(), None)
    table = {name: list(rows[name]) for name in rows}
    (folder / "rows.json").write_text(
        json.dumps([table, case.y.tolist(), case.weight.tolist()], default=float)
    )
    return folder, classifier, case


def test_a_stored_model_works_with_numpy_alone(stored):
    folder, classifier, case = stored
    done = run(f"""
import json, rpte
X, y, weight = json.load(open({str(folder / "rows.json")!r}))
model = rpte.load({str(folder / "model.json")!r})
print(json.dumps({{
    "score": model.score(X).tolist(),
    "probability": model.predict_proba(X).tolist(),
    "class": model.predict(X).tolist(),
    "explained": [e.score for e in model.explain(X)],
    "mean": [e.intercept for e in model.explain(X, reference="mean")][:1],
    "checks": [c.holds for c in model.verify(X, y, weight)],
    "load": [rpte.audit_load(model, X).iiu, model.audit().miu],
    "summary": model.summary(),
    "rules": len(model.rules()),
}}))
model.save({str(folder / "again.json")!r})
""")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["score"] == found["explained"] == classifier.model_.score(case.X).tolist()
    assert found["probability"] == classifier.predict_proba(case.X).tolist()
    assert found["class"] == classifier.predict(case.X).tolist()
    assert len(found["checks"]) == 18
    assert all(found["checks"])
    assert found["load"] == [classifier.audit(case.X).iiu, classifier.audit().miu]
    assert found["summary"] == classifier.summary()
    assert found["rules"] == len(classifier.rules_)
    assert (folder / "again.json").read_text() == (folder / "model.json").read_text()


def test_decisions_need_numpy_alone(stored):
    folder, _, _ = stored
    done = run(f"""
import json, rpte
X, y, weight = json.load(open({str(folder / "rows.json")!r}))
model = rpte.load({str(folder / "model.json")!r})
log = {str(folder / "log.jsonl")!r}
rpte.append_decisions(log, model, X)
print(len(rpte.replay(log, model).findings), len(rpte.reason_codes(model, X)))
""")
    assert done.stdout == "0 300\n", done.stderr


def test_a_report_needs_numpy_and_jinja_alone(stored):
    folder, _, _ = stored
    done = run(f"""
import json, rpte
from rpte.report.contents import ReportOptions, report_contents
from rpte.report.evidence import gather
from rpte.report.html import render
X, y, weight = json.load(open({str(folder / "rows.json")!r}))
model = rpte.load({str(folder / "model.json")!r})
evidence = gather(model, X, y, weight)
page = render(report_contents(model, evidence, ReportOptions(resamples=20)))
card = model._repr_html_() + model.explain(X)[0]._repr_html_()
print(evidence.training, len(page) > 10_000, len(card) > 1000)
""")
    assert done.stdout == "True True True\n", done.stderr


def test_every_public_name_resolves():
    for name in rpte.__all__:
        assert getattr(rpte, name).__name__ == name
        assert name in dir(rpte)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rpte.nothing  # noqa: B018
