"""How kernels are compiled and announced."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import rpte
import rpte.kernels.compile as compile_module
from rpte.kernels import compiled
from rpte.kernels.losses import loss_statistics

SOURCE = str(Path(rpte.__file__).parents[1])
FIT = """
import json, logging, sys
import numpy as np
logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
from rpte import RPTEClassifier
from rpte.model.file import to_dict
rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3)).round(1)
X[:5, 2] = np.nan
y = (X[:, 0] + X[:, 1] * (X[:, 0] > 0) + rng.normal(size=60) > 0).astype(int)
settings = {**dict(l1="4/n", budget=5, max_leaves=4), **dict({more})}
print(json.dumps(to_dict(RPTEClassifier(**settings).fit(X, y).model_)))
"""
ANNOUNCED = "rpte: rpte compiles its kernels on first use"


def fit(more="", **environment):
    """Fit a small table in a fresh interpreter; return what it logged and the model's file."""
    env = {**os.environ, "PYTHONPATH": SOURCE, **environment}
    code = FIT.replace("{more}", more)
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr, done.stdout


@pytest.mark.slow(reason="compiles a kernel in two new processes")
def test_the_first_compile_is_announced_once_and_a_cached_one_is_not(tmp_path):
    code = """
import logging
import numpy as np
logging.basicConfig(level=logging.INFO, format="%(name)s: %(message)s")
from rpte.kernels.codes import quantile_starts
first = np.arange(3)
print(quantile_starts(first, 3.0, 2, first), quantile_starts(first, 3, 2, first))
"""
    own = {"NUMBA_CACHE_DIR": str(tmp_path), "RPTE_COMPILED_KERNELS": "0", "PYTHONPATH": SOURCE}
    run = [sys.executable, "-c", code]
    env = {**os.environ, **own}
    logs = [subprocess.run(run, env=env, capture_output=True, text=True).stderr for _ in range(2)]
    assert [(log.count(ANNOUNCED), log.count("rpte: ")) for log in logs] == [(1, 1), (0, 0)]


def test_a_cached_kernel_is_read_without_a_compiler():
    """A new process would wait for what only compiling needs, such as the types of lists."""
    code = """
import sys
import numpy as np
from rpte.kernels.codes import quantile_starts
first = np.arange(3)
found = quantile_starts(first, 3.0, 2, first), first[:2].tolist()
print(found, "numba.typed.typedlist" in sys.modules)
"""
    env = {**os.environ, "PYTHONPATH": SOURCE}
    run = [sys.executable, "-c", code]
    for _ in range(2):
        done = subprocess.run(run, env=env, capture_output=True, text=True, check=False)
    assert done.stdout == "(2, [0, 2]) False\n", done.stderr


@pytest.mark.slow(reason="fits without the compiler")
def test_compiled_kernels_compute_what_their_source_says():
    compiled, plain = fit(), fit(NUMBA_DISABLE_JIT="1")
    assert ANNOUNCED not in plain[0]
    assert '"trees": [{' in compiled[1]
    assert_close(json.loads(plain[1]), json.loads(compiled[1]))


@pytest.mark.slow(reason="fits without the compiler")
def test_the_search_for_a_penalty_works_without_a_compiler():
    """Rough paths, deviances and moments are kernels too."""
    more = 'l1="cv", cv=2, l1_ratio=1.0, max_trees=1'
    models = [json.loads(fit(more, **jit)[1]) for jit in ({"NUMBA_DISABLE_JIT": "1"}, {})]
    plain, compiled = (model["training"]["selection"] for model in models)
    assert compiled["compared"] > 10
    assert len(compiled["frontier"]) > 1
    assert_close(plain, compiled)


def test_a_kernel_is_compiled_again_when_another_file_of_kernels_changes(monkeypatch, tmp_path):
    """It holds the kernels that it calls, wherever they are written."""

    def stamp():
        monkeypatch.setattr(compile_module, "hash_of_sources", compiled.hash_of_sources.__wrapped__)
        return compile_module.FolderCache(loss_statistics.__wrapped__)._cache_file._source_stamp

    monkeypatch.setattr(compiled, "HERE", tmp_path)
    (tmp_path / "other.py").write_text("BINOMIAL = 0")
    before = stamp()
    assert stamp() == before
    (tmp_path / "other.py").write_text("BINOMIAL = 1")
    assert stamp() != before


def test_without_a_folder_to_write_to_kernels_are_compiled_in_every_process(monkeypatch):
    def no_folder(function):
        raise RuntimeError("cannot cache function: no locator available")

    monkeypatch.setattr(compile_module, "FolderCache", no_folder)
    cache = compile_module.KernelCache(loss_statistics.__wrapped__)
    assert cache.folder.load_overload((), None) is None


def assert_close(a, b):
    """Compare two model files: equal but for the last bits of what exp and log round."""
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a.keys() - {"hash"}:
            assert_close(a[key], b[key])
    elif isinstance(a, list):
        assert len(a) == len(b)
        for left, right in zip(a, b, strict=True):
            assert_close(left, right)
    else:
        assert a == (pytest.approx(b, rel=1e-8, abs=1e-9) if isinstance(b, float) else b)
