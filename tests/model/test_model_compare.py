"""Two models side by side: what is said of them is true, on models changed by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_tables import good
from effort import examples
from model_files import sealed, stored, write
from rpte import InputError, RPTEClassifier
from rpte.model.compare import compare
from rpte.model.compare_parts import moves_by_group
from rpte.model.file import from_dict
from rpte.model.parts import DirectTerm, TreeTerms

KINDS = ["mixed", "published", "special", "monotone", "limited", "chosen"]


def model_of(name):
    return from_dict(stored(name).copy())


def mapped(model, change):
    """Return a model whose parts are changed one by one; None drops one."""
    components = []
    for component in model.components:
        parts = [change(part) for part in component.parts]
        trees = tuple(part for part in parts if isinstance(part, TreeTerms))
        direct = tuple(part for part in parts if isinstance(part, DirectTerm))
        if trees or direct:
            components.append(replace(component, trees=trees, direct=direct))
    return replace(model, components=tuple(components))


def scaled(factor):
    """Return a change of every coefficient."""

    def change(part):
        if isinstance(part, DirectTerm):
            return replace(part, coefficient=factor * part.coefficient)
        leaves = tuple(replace(v, coefficient=factor * v.coefficient) for v in part.leaves)
        return replace(part, leaves=leaves)

    return change


@pytest.mark.parametrize("name", KINDS)
def test_a_model_is_the_same_as_itself(name):
    model = model_of(name)
    found = compare(model, model, stored(name).X)
    assert found["same"]
    assert found["terms"] == {"added": [], "removed": [], "changed": [], "kept": model.audit().mu}
    assert found["guarantees"] == found["settings"] == []
    assert found["predictions"]["probability"]["largest"] == 0
    assert found["predictions"]["moved_most"] == found["predictions"]["by_variables"] == []


@pytest.mark.parametrize("name", KINDS)
def test_a_model_turned_round_says_the_same(name):
    model = model_of(name)
    turned = replace(model.target, positive=1 - model.positive)
    other = replace(mapped(model, scaled(-1.0)), target=turned)
    other = replace(other, intercept=-model.intercept)
    found = compare(model, other, stored(name).X)
    assert found["turned_round"]
    assert not found["same"]
    assert found["terms"]["kept"] == model.audit().mu
    assert found["predictions"]["score"]["largest"] == 0


@pytest.mark.parametrize("name", KINDS)
def test_terms_that_go_come_or_change_are_told_apart(name):
    model = model_of(name)
    first = next(part.name for _, part in model.parts())
    gone = mapped(model, lambda part: None if part.name == first else part)
    names = [r.term for r in model.rules() if r.term.split(".")[0] == first]
    assert [t["term"] for t in compare(model, gone)["terms"]["removed"]] == names
    assert [t["term"] for t in compare(gone, model)["terms"]["added"]] == names
    found = compare(model, mapped(model, scaled(2.0)))["terms"]
    assert (len(found["changed"]), found["kept"]) == (model.audit().mu, 0)
    for pair in found["changed"]:
        assert pair["b"]["coefficient"] == 2 * pair["a"]["coefficient"]


def test_variables_that_are_no_longer_read_are_named():
    model = model_of("chosen")
    component = model.components[0]
    less = replace(model, components=model.components[1:])
    assert compare(model, less)["variables"] == {"added": [], "removed": list(component.sources)}


def test_a_moved_threshold_is_a_change_not_two_terms():
    model = model_of("published")
    tree = next(part for _, part in model.parts() if isinstance(part, TreeTerms))
    document = json.loads(json.dumps(stored("published").document))
    text = json.dumps(document["components"])
    threshold = tree.tree.splits[0].threshold
    assert threshold is not None
    document["components"] = json.loads(
        text.replace(f'"at_most": {threshold}', f'"at_most": {threshold + 0.001}')
    )
    other = from_dict(sealed(document))
    found = compare(model, other)["terms"]
    assert found["added"] == found["removed"] == []
    assert found["changed"]
    for pair in found["changed"]:
        assert pair["a"]["text"] != pair["b"]["text"]
        assert pair["a"]["coefficient"] == pair["b"]["coefficient"]


def test_guarantees_and_settings_that_differ():
    a, b = model_of("mixed"), model_of("limited")
    found = compare(a, b)
    claims = {at["name"]: (at["a"], at["b"]) for at in found["guarantees"]}
    assert claims["monotone in age"] == (None, "increasing")
    assert claims["does not use noise"] == (None, True)
    assert claims["interactions"][1] == [["age", "region"], ["income", "smoker"]]
    assert {at["name"] for at in found["settings"]} == {"l1"}
    assert compare(b, b)["guarantees"] == []


def test_a_guarantee_that_fails_is_gone():
    model = model_of("limited")
    broken = mapped(model, scaled(-1.0))
    names = {at["name"]: at["b"] for at in compare(model, broken)["guarantees"]}
    assert any(name.startswith("check") and "age" in name for name in names)
    assert "fails" in names.values()


@examples(25)
@given(st.sampled_from([*KINDS[:3], "chosen"]), st.floats(-2, 2), st.integers(0, 50))
def test_the_moves_of_variables_add_up_to_the_move_of_the_score(name, factor, seed):
    model, X = model_of(name), stored(name).X
    rng = np.random.default_rng(seed)

    def change(part):
        return None if rng.random() < 0.3 else scaled(factor)(part)

    other = mapped(model, change)
    rows = model.read(X)
    moves = moves_by_group(model, other, rows, rows, 1.0)
    groups = list(moves)
    assert all(not a & b for k, a in enumerate(groups) for b in groups[k + 1 :])
    total = sum(moves.values(), np.zeros(rows.n_rows))
    assert np.allclose(total, other.score(rows) - model.score(rows), atol=1e-9)
    found = compare(model, other, X)["predictions"]
    difference = np.abs(other.predict_proba(rows) - model.predict_proba(rows))[:, 0]
    assert found["probability"]["largest"] == pytest.approx(difference.max())
    assert sum(band["rows"] for band in found["by_band"]) == rows.n_rows
    if found["moved_most"]:
        first = found["moved_most"][0]
        assert abs(first["a"] - first["b"]) == pytest.approx(difference.max())
        assert difference[first["row"] - 1] == pytest.approx(difference.max())


def test_models_of_different_outcomes_are_refused():
    X = {"x": [0.0, 1.0, 2.0, 3.0] * 10}
    a = RPTEClassifier(l1=0.1).fit(X, [0, 0, 1, 1] * 10).model_
    b = RPTEClassifier(l1=0.1).fit(X, ["no", "no", "yes", "yes"] * 10).model_
    with pytest.raises(InputError, match="only models of the same outcome"):
        compare(a, b)


def test_the_command_says_it(tmp_path):
    case = stored("chosen")
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = write(case.document, tmp_path / "a")
    second = write(stored("limited").document, tmp_path / "b")
    table = tmp_path / "t.csv"
    case.X.assign(name=[f"case {k}" for k in range(len(case.X))]).to_csv(table, index=False)
    told = good("compare", first, second, table, "--id-column", "name")
    for words in ("added", "removed", "Guarantees that differ", "Moved most", "case "):
        assert words in told
    found = json.loads(good("compare", first, second, table, "--id-column", "name", "--json"))
    assert found == json.loads(json.dumps(found))
    moved = found["predictions"]["moved_most"][0]
    assert moved["name"] == f"case {moved['row'] - 1}"
    wanted = compare(from_dict(case.document), from_dict(stored("limited").document), case.X)
    for at in found["predictions"]["moved_most"]:
        del at["name"]
    assert found == json.loads(json.dumps(wanted))
    assert "bit for bit" in good("compare", first, first)
