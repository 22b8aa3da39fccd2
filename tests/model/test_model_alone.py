"""Everything a stored model can do, in an interpreter that has numpy and nothing else."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import rpte
from model_files import stored, write

SOURCE = str(Path(rpte.__file__).parents[1])
ALONE = f"""
import sys
sys.path.insert(0, {SOURCE!r})
class Refuse:
    def find_spec(self, name, path=None, target=None):
        top = name.split(".")[0]
        if top not in sys.stdlib_module_names and top not in ("numpy", "rpte"):
            raise ImportError(f"{{name}} is blocked")
sys.meta_path.insert(0, Refuse())
"""


def run(code):
    script = [sys.executable, "-c", ALONE + code]
    return subprocess.run(script, capture_output=True, text=True, check=False)


def test_the_block_works():
    for name in ("pandas", "sklearn", "yaml", "nothing_known"):
        assert f"{name} is blocked" in run(f"import {name}").stderr


@pytest.mark.parametrize("name", ["mixed", "monotone"])
def test_load_score_explain_verify_save_and_sign(name, tmp_path):
    model = stored(name)
    path = write(model.document, tmp_path)
    X = model.X.astype(object).where(model.X.notna(), None)
    table = {column: list(X[column]) for column in X}
    weight = None if model.weight is None else model.weight.tolist()
    rows = json.dumps([table, model.y.tolist(), weight], default=float)
    (tmp_path / "rows.json").write_text(rows)
    done = run(f"""
import json, rpte
X, y, weight = json.load(open({str(tmp_path / "rows.json")!r}))
model = rpte.load({str(path)!r})
rpte.sign({str(path)!r}, b"k" * 32)
from rpte.model.format import SCHEMA
print(json.dumps([
    model.score(X).tolist(),
    [e.score for e in model.explain(X)],
    [c.name for c in rpte.verify_file({str(path)!r}, X, y, weight) if not c.holds],
    rpte.check_signature({str(path)!r}, b"k" * 32),
    model.summary(),
    len(model.rules()),
]))
model.save({str(tmp_path / "again.json")!r})
""")
    assert done.returncode == 0, done.stderr
    score, explained, failed, signed, summary, rules = json.loads(done.stdout)
    own = rpte.load(path)
    assert score == explained == own.score(model.X).tolist()
    assert failed == []
    assert signed
    assert summary == own.summary()
    assert rules == len(own.rules())
    assert rpte.load(tmp_path / "again.json") == own
