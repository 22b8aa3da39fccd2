"""Compiled kernels in one file: what fits is read, what does not fit is refused with the reason."""

import ast
import json
import os
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from test_compile import fit

from import_graph import SOURCE
from rpte.cli.compile import _compile_to
from rpte.kernels import compiled
from rpte.kernels.losses import loss_statistics

ROOT = str(SOURCE.parent)
FITS = """
import logging
import numpy as np, pandas as pd
from rpte import Limits, RPTEClassifier, RPTERegressor
logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
rng = np.random.default_rng(5)
def table(n):
    x, other = rng.normal(size=(2, n))
    X = pd.DataFrame({"x": x, "other": other.round(2), "many": rng.integers(0, 30, n).astype(str),
                      "flag": rng.random(n) < 0.4, "skewed": np.exp(x + rng.normal(size=n))})
    X.loc[rng.random(n) < 0.2, ["other", "many"]] = None
    return X, (x * X["flag"] + x + rng.logistic(size=n) > 0.2).astype(int)
limits = Limits(monotone={"x": "increasing"})
more = [RPTEClassifier(limits=limits), RPTEClassifier(form="rules"), RPTEClassifier(l1="4/n")]
for n in (300, 9_000, 30_000):
    for learner in (RPTEClassifier(), RPTEClassifier.paper(), *more):
        learner.fit(*table(n))
X, y = rng.normal(size=(26_000, 12)).astype(np.float32), rng.integers(0, 2, 26_000)
for learner in (RPTEClassifier(n_jobs=2), RPTEClassifier.paper(n_jobs=2)):
    learner.fit(X, y)
for loss in ("squared_error", "poisson"):
    RPTERegressor.paper(loss=loss).fit(*table(300))
"""


@pytest.fixture
def here(monkeypatch):
    """Forget which file was found before, and after."""
    compiled.compiled_kernels.cache_clear()
    monkeypatch.delenv(compiled.SWITCH, raising=False)
    yield monkeypatch
    compiled.compiled_kernels.cache_clear()


def written(path, monkeypatch=None, **environment):
    """Write a file of one kernel that is no code, compiled for another environment."""
    if monkeypatch is not None:
        changed = {**compiled.environment(), **environment}
        monkeypatch.setattr(compiled, "environment", lambda: changed)
    compiled.write_compiled({"rpte.kernels.codes.none()": compiled.pickle.dumps("code")}, path)
    if monkeypatch is not None:
        monkeypatch.undo()
    return path


def test_what_was_written_is_read(tmp_path):
    found = compiled.opened(written(tmp_path / "kernels.zip"))
    assert found.read("rpte.kernels.codes.none()") == "code"
    assert found.read("rpte.kernels.codes.other()") is None
    assert found.refused == ""


@pytest.mark.parametrize(
    ("key", "value"), [("numba", "0.1"), ("kernels", "0" * 16), ("Python", "cpython-27")]
)
def test_kernels_for_another_environment_are_refused_with_the_reason(
    key, value, tmp_path, monkeypatch
):
    found = compiled.opened(written(tmp_path / "kernels.zip", monkeypatch, **{key: value}))
    assert found.path is None
    assert f"is for {key} {value}, here {compiled.environment()[key]}" in found.refused
    assert found.read("rpte.kernels.codes.none()") is None


def test_kernels_for_any_processor_fit_every_one(tmp_path, monkeypatch):
    assert compiled.opened(written(tmp_path / "any.zip", monkeypatch, processor="generic")).path


def test_an_old_processor_gets_kernels_for_any(monkeypatch):
    old = {name: name != "avx2" for name in compiled.FEATURES}
    monkeypatch.setattr(compiled, "get_host_cpu_features", lambda: old)
    assert compiled.processor() == "generic"


def test_a_broken_file_is_refused_and_a_missing_one_is_not_mentioned(tmp_path):
    broken = tmp_path / "broken.zip"
    broken.write_bytes(b"PK")
    assert f"{broken} cannot be read" in compiled.opened(broken).refused
    assert compiled.opened(tmp_path / "none.zip") == compiled.CompiledKernels()


def test_the_first_file_that_fits_is_used(here, tmp_path):
    stale, fits = tmp_path / "stale.zip", tmp_path / "fits.zip"
    here.setattr(compiled, "places", lambda: (stale, fits))
    written(fits)
    with pytest.MonkeyPatch.context() as patch:
        written(stale, patch, numba="0.1")
    assert compiled.compiled_kernels().path == fits
    compiled.compiled_kernels.cache_clear()
    fits.unlink()
    assert "numba 0.1" in compiled.compiled_kernels().refused


@pytest.mark.parametrize(
    "variables", [{"RPTE_COMPILED_KERNELS": "0"}, {"NUMBA_CPU_NAME": "generic"}]
)
def test_a_variable_asks_for_kernels_of_this_processor(variables):
    code = "from rpte.kernels.compiled import compiled_kernels; print(compiled_kernels().refused)"
    env = {**os.environ, "PYTHONPATH": ROOT, **variables}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    )
    assert next(iter(variables)) in done.stdout


@pytest.mark.parametrize("variables", [{}, {"NUMBA_CPU_NAME": "generic"}])
def test_kernels_that_were_compiled_otherwise_are_not_written_to_a_file(variables, tmp_path):
    """Numba would refuse after all fits, in words of its own, where it read one from a cache."""
    (tmp_path / "cached.nbi").touch()
    command = [sys.executable, "-m", "rpte.estimators.first_fits", str(tmp_path / "kernels.zip")]
    env = {**os.environ, "PYTHONPATH": ROOT, "NUMBA_CACHE_DIR": str(tmp_path), **variables}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "use rpte compile --output FILE" in done.stderr


@pytest.fixture(scope="module")
def ready(tmp_path_factory):
    """Return the variables of a process whose kernels are all compiled and no others cached.

    They are those of the package where it came with them.
    """
    folder, shipped = tmp_path_factory.mktemp("cache"), compiled.places()[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled.config, "CACHE_DIR", str(folder))
        if compiled.opened(shipped).path is None:
            _compile_to(compiled.places()[1])
        else:
            shutil.copy(shipped, compiled.places()[1])
    return {"NUMBA_CACHE_DIR": str(folder), "RPTE_COMPILED_KERNELS": "1"}


def index_of(ready):
    (path,) = Path(ready["NUMBA_CACHE_DIR"]).glob("*.zip")
    return compiled.opened(path).entries


def is_kernel(value):
    return getattr(value, "__code__", None) is loss_statistics.__code__


@pytest.mark.slow(reason="compiles all kernels")
@pytest.mark.xdist_group("compiled kernels")
def test_all_kernels_that_fits_call_are_compiled(ready):
    """A new kernel, or a new kind of call, needs a fit that makes it in `first_fits`."""
    files = [path for path in SOURCE.rglob("*.py") if path.parent.name != "kernels"]
    nodes = [node for path in files for node in ast.walk(ast.parse(path.read_text("utf-8")))]
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    kernels = {
        f"{node.module}.{alias.name}"
        for node in imports
        if node.module.startswith("rpte.kernels.")
        for alias in node.names
        if is_kernel(getattr(import_module(node.module), alias.name))
    }
    assert len(kernels) > 30
    assert kernels - {entry.split("(")[0] for entry in index_of(ready)} == set()


@pytest.mark.slow(reason="compiles all kernels")
@pytest.mark.xdist_group("compiled kernels")
def test_fits_of_many_kinds_compile_nothing(ready):
    env = {**os.environ, "PYTHONPATH": ROOT, **ready}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FITS],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "compil" not in done.stderr  # a small penalty may be hard to solve, which is said
    assert list(Path(ready["NUMBA_CACHE_DIR"]).rglob("*.nbc")) == []


@pytest.mark.slow(reason="compiles all kernels")
@pytest.mark.xdist_group("compiled kernels")
@pytest.mark.parametrize("more", ["", 'l1="cv", cv=2', 'criterion="label", vocabulary="hug"'])
def test_models_do_not_depend_on_where_kernels_come_from(ready, more):
    log, model = fit(more, **ready)
    assert [line for line in log.splitlines() if not line.startswith("numexpr")] == []
    assert json.loads(model) == json.loads(fit(more, RPTE_COMPILED_KERNELS="0")[1])


def test_the_wheel_holds_them_where_they_are_looked_for():
    """The hook of the build cannot import the package, which needs more than a build does."""
    hook = Path(__file__).parents[2] / "hatch_build.py"
    lines = hook.read_text(encoding="utf-8").splitlines()
    (name,) = [line.split("=")[1] for line in lines if line.startswith("FILE =")]
    assert eval(name.split("#")[0]) == compiled.FILE
