"""The checker on models of times until an event: what it proves, and that the library agrees."""

import copy
import json
import random
from functools import cache

import numpy as np
import pandas as pd
import pytest

import rpte
from file_fuzz import damaged_document, moved_document, verdicts
from model_files import CAUSE_NAMES, direct, sealed, stored, trees, write
from rpte.check import rpte_check
from rpte.model.file import content_hash, from_dict, to_dict
from rpte.model.verify import verify_file
from survival_tables import strong_times

OPTIMUM = "Stage 3 optimality of the active terms"
KINDS = {
    "efron": ({}, ()),
    "breslow": ({"ties": "breslow"}, ()),
    "weights": ({}, ("weight",)),
    "entry": ({}, ("entry",)),
    "strata": ({}, ("strata",)),
    "everything": ({}, ("weight", "entry", "strata")),
    "discrete": ({"loss": "discrete", "intervals": 6}, ()),
    "everything by intervals": (
        {"loss": "discrete", "intervals": [2.0, 4.0, 6.0, 9.0, 99.0]},
        ("weight", "entry", "strata"),
    ),
}


@cache
def made(kind):
    """Return a document, its table with columns beside, and what `verify` needs of them."""
    rng, n = np.random.default_rng(4), 260
    table = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n).round(1)})
    table["group"] = rng.choice(["u", "v", "w"], n)
    table.loc[::9, "b"] = np.nan
    risk = np.exp(0.8 * table["a"] + 0.6 * (table["group"] == "v"))
    table["days"] = np.ceil(5.0 * rng.exponential(1.0 / risk)) + 1.0
    table["died"] = (rng.random(n) < 0.7).astype(int)
    table["since"] = np.floor(rng.uniform(0.0, np.minimum(table["days"], 4.0)))
    table["mass"] = rng.choice([0.0, 0.3, 1.0, 2.5], n)
    table["clinic"] = rng.integers(1, 4, n)
    parameters, beside = KINDS[kind]
    names = {"weight": "mass", "entry": "since", "strata": "clinic"}
    given = {role: table[names[role]] for role in beside}
    weight = given.pop("weight", None)
    X, y = table[["a", "b", "group"]], table[["died", "days"]]
    est = rpte.RPTESurvival(l1=0.02, max_trees=1, max_leaves=4, **parameters)
    est.fit(X, y, sample_weight=weight, **given)
    options = {"weight": "--weight-column", "entry": "--entry", "strata": "--strata"}
    told = ["--time", "days", "--event", "died"]
    told += [word for role in beside for word in (options[role], names[role])]
    return json.loads(json.dumps(to_dict(est.model_))), table, (X, y, weight, given), told


def run(document, table, folder, *options):
    path = write(document, folder)
    table.to_csv(folder / "train.csv", index=False)
    return rpte_check.main([str(path), str(folder / "train.csv"), *map(str, options)])


def failing(document, kind, folder, capsys):
    """Return the checks that fail with the training table, and those of the library."""
    _, table, (X, y, weight, given), told = made(kind)
    document = sealed(document)
    capsys.readouterr()
    code = run(document, table, folder, *told)
    lines = capsys.readouterr().out.splitlines()
    mine = [line.split("  ")[1].split(":")[0] for line in lines if line.startswith("FAILS")]
    assert code == bool(mine)
    try:
        checks = from_dict(document).verify(X, y, weight, **given)
        theirs = [check.name for check in checks if not check.holds]
    except rpte.ModelFileError:
        theirs = ["fields"]
    return mine, theirs


@pytest.mark.parametrize("parameters", [{}, {"ties": "breslow"}, {"loss": "discrete"}])
@pytest.mark.parametrize("tied", [False, True])
def test_it_proves_models_of_strong_signals(parameters, tied, tmp_path, capsys):
    """Risks of rows that stay may be far smaller than those of rows with events."""
    X, (event, time) = strong_times(100, 0, 0.1, 0.8, tied)
    table = X.assign(died=event.astype(int), days=time)
    est = rpte.RPTESurvival(l1=0.01, **parameters).fit(X, table[["died", "days"]])
    document = json.loads(json.dumps(to_dict(est.model_)))
    code = run(document, table, tmp_path, "--time", "days", "--event", "died")
    assert code == 0, capsys.readouterr().out


@pytest.mark.parametrize("kind", KINDS)
def test_it_proves_a_model_on_its_table(kind, tmp_path, capsys):
    document, table, _, told = made(kind)
    assert run(document, table, tmp_path, *told) == 0, capsys.readouterr().out
    out = capsys.readouterr().out
    assert f"holds  {OPTIMUM}: " in out
    assert "holds  baseline: " in out
    assert document["data"]["sha256"] in out


@pytest.mark.parametrize("kind", KINDS)
def test_it_scores_as_the_library_does(kind, tmp_path, capsys):
    document, table, (X, *_, given), told = made(kind)
    model, out = from_dict(copy.deepcopy(document)), tmp_path / "out.csv"
    options = [*told, "--horizon", "2,5.5", "--horizon", "8"]
    assert run(document, table, tmp_path, *options, "--scores", out) == 0
    found = pd.read_csv(out, float_precision="round_trip")
    assert [v.hex() for v in found["score"]] == [v.hex() for v in model.score(X)]
    np.testing.assert_allclose(found["hazard_ratio"], model.response(X), rtol=1e-14)
    wanted = model.survival_at(X, [2.0, 5.5, 8.0], given.get("strata"))
    names = ["survival_2", "survival_5.5", "survival_8"]
    np.testing.assert_allclose(found[names], wanted, rtol=1e-13)
    capsys.readouterr()
    assert run(document, table, tmp_path, *options, "--expect", out) == 0
    assert "holds  expected survival until 5.5: 260 survival" in capsys.readouterr().out
    found["survival_8"] *= 1 - 1e-9
    found.to_csv(out, index=False)
    assert run(document, table, tmp_path, *options, "--expect", out) == 1
    assert "FAILS  expected survival until 8: row 1" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["efron", "strata", "discrete"])
def test_a_changed_baseline_is_found(kind, tmp_path, capsys):
    for place in (0, -1):
        document = copy.deepcopy(made(kind)[0])
        hazard = document["target"]["baseline"][-1]["hazard"]
        hazard[place] *= 1.0 + 1e-6 if place else 1.0 - 1e-6
        mine, theirs = failing(document, kind, tmp_path, capsys)
        assert mine == theirs == ["baseline"]


def test_a_baseline_of_other_times_is_found(tmp_path, capsys):
    document = copy.deepcopy(made("efron")[0])
    document["target"]["baseline"][0]["times"][3] += 0.25
    assert failing(document, "efron", tmp_path, capsys) == (["baseline"], ["baseline"])
    document = copy.deepcopy(made("efron")[0])
    document["target"]["baseline"][0]["end"] += 1.0
    assert failing(document, "efron", tmp_path, capsys) == (["baseline"], ["baseline"])


def test_a_shifted_model_is_found(tmp_path, capsys):
    """Hazard ratios to another case, and a baseline that goes with them: scores have no mean 0."""
    document = copy.deepcopy(made("efron")[0])
    document["intercept"] += 0.5
    steps = document["target"]["baseline"][0]
    steps["hazard"] = [value * float(np.exp(-0.5)) for value in steps["hazard"]]
    assert failing(document, "efron", tmp_path, capsys) == (["baseline"], ["baseline"])


@pytest.mark.parametrize("kind", ["efron", "breslow", "everything", "discrete"])
def test_a_changed_coefficient_is_found(kind, tmp_path, capsys):
    document = copy.deepcopy(made(kind)[0])
    term = max(direct(document), key=lambda term: abs(term["coefficient"]))
    term["coefficient"] *= 1.01
    mine, theirs = failing(document, kind, tmp_path, capsys)
    assert {OPTIMUM, "baseline"} <= set(mine)
    assert {OPTIMUM, "baseline"} <= set(theirs)


def test_another_table_is_found(tmp_path, capsys):
    document, table, _, told = made("efron")
    other = table.assign(days=table["days"].where(table.index != 5, table["days"] + 1))
    assert run(document, other, tmp_path, *told) == 1
    assert "FAILS  training table: its hash is" in capsys.readouterr().out
    other = table.assign(died=table["died"].where(table.index != 5, 1 - table["died"]))
    assert run(document, other, tmp_path, *told) == 1
    assert "FAILS  training table: the target adds up to" in capsys.readouterr().out


FAULTS = {
    "falling": lambda t: t["baseline"][0]["hazard"].reverse(),
    "times": lambda t: t["baseline"][0]["times"].reverse(),
    "short": lambda t: t["baseline"][0]["hazard"].pop(),
    "end": lambda t: t["baseline"][0].update(end=1.0),
    "empty": lambda t: t["baseline"][0].update(times=[], hazard=[]),
    "strata": lambda t: t.update(strata=["x", "y"]),
    "twice": lambda t: t.update(strata=["x", "x"], baseline=t["baseline"] * 2),
    "ties": lambda t: t.update(ties="grouped"),
    "grid": lambda t: t.update(grid=[3.0]),
    "negative": lambda t: t["baseline"][0]["hazard"].insert(0, -1.0),
    "unknown ties": lambda t: t.update(ties="exact"),
    "total": lambda t: t.update(total=1e9),
    "no time": lambda t: t.pop("time"),
    "more": lambda t: t.update(more=1),
}


OF_ANOTHER_TASK = {
    f"loss {name}": lambda loss, name=name: loss.update(name=name)
    for name in ("poisson", "binomial", "discrete")
}


@pytest.mark.parametrize("fault", [*FAULTS, *OF_ANOTHER_TASK])
def test_fields_that_make_no_sense_are_found_by_both(fault):
    document = copy.deepcopy(made("efron")[0])
    if fault in FAULTS:
        FAULTS[fault](document["target"])
    else:
        OF_ANOTHER_TASK[fault](document["loss"])
    document = sealed(document)
    assert [name for name, faults, _ in rpte_check.file_checks(document) if faults] == ["fields"]
    with pytest.raises(rpte.ModelFileError):
        from_dict(document)


@pytest.mark.slow(reason="scores and checks many changed files")
@pytest.mark.parametrize("damage", [damaged_document, moved_document])
def test_it_agrees_with_the_library_on_changed_files(damage, tmp_path):
    rng, passed, kinds = random.Random(2), 0, ("efron", "strata", "everything by intervals")
    for kind in kinds * 20:
        mine, other = verdicts(write(damage(made(kind)[0], rng), tmp_path))
        assert mine == other
        passed += mine
    assert 0 < passed < 60


@pytest.mark.parametrize(
    ("kind", "options", "said"),
    [
        ("efron", ["--target", "died"], "named by --time and --event"),
        ("efron", ["--time", "days", "--event", "a"], "is neither true nor false"),
        ("efron", ["--time", "a", "--event", "died"], "less than 0"),
        ("strata", ["--time", "days", "--event", "died"], "fitted with strata: give --strata"),
        ("entry", ["--time", "days", "--event", "died"], "fitted with entry: give --entry"),
        ("efron", ["--horizon", "1000"], "outside of what was observed"),
        ("strata", ["--horizon", "2"], "give --strata"),
        ("strata", ["--horizon", "2", "--strata", "group"], "is none of the model's"),
        ("efron", ["--horizon", "2", "--strata", "clinic"], "one baseline for all rows"),
        ("efron", ["--exposure-column", "days"], "exposure is for models"),
    ],
)
def test_what_is_refused(kind, options, said, tmp_path, capsys):
    document, table, *_ = made(kind)
    assert run(document, table, tmp_path, *options) == 1
    assert said in capsys.readouterr().err


def test_wrong_usage(tmp_path, capsys):
    document, table, *_ = made("efron")
    for options in (["--time", "days"], ["--entry", "since"], ["--horizon", "soon"]):
        with pytest.raises(SystemExit):
            run(document, table, tmp_path, *options)
    capsys.readouterr()


def shared_term(document):
    """Return a direct term of the last cause that the first has, too."""
    first, last = document["models"]
    names = {term["name"] for term in direct(first)}
    return next(term for term in direct(last) if term["name"] in names)


class TestCauses:
    """Competing risks: the files of all causes in one, and the file of one cause."""

    def train(self, name, folder):
        made = stored(name)
        table = made.X.assign(**{column: made.y[column] for column in made.y})
        return made, table, run(made.document, table, folder, "--time", "months", "--event", "died")

    @pytest.mark.parametrize("name", CAUSE_NAMES)
    def test_it_proves_a_model_on_its_table(self, name, tmp_path, capsys):
        made, *_, code = self.train(name, tmp_path)
        assert code == 0, capsys.readouterr().out
        assert {f"holds  {OPTIMUM}", "holds  baseline", "holds  training table"} <= {
            line.split(": ")[0] for line in capsys.readouterr().out.splitlines()
        }
        assert verify_file(tmp_path / "model.json", *made.given).holds

    def test_it_scores_as_the_library_does(self, tmp_path, capsys):
        made, out = stored("causes"), tmp_path / "out.csv"
        model, options = from_dict(made.copy()), ["--horizon", "2,5.5"]
        assert run(made.document, made.X, tmp_path, *options, "--scores", out) == 0
        found = pd.read_csv(out)
        for k, cause in enumerate(model.causes):
            assert found[f"score_{cause}"].tolist() == model.score(made.X)[:, k].tolist()
            names = [f"incidence_{cause}_2", f"incidence_{cause}_5.5"]
            wanted = model.incidence_at(made.X, [2.0, 5.5], cause)
            np.testing.assert_allclose(found[names], wanted, rtol=1e-12)
        wanted = model.survival_at(made.X, [2.0, 5.5])
        np.testing.assert_allclose(found[["survival_2", "survival_5.5"]], wanted, rtol=1e-13)
        assert run(made.document, made.X, tmp_path, *options, "--expect", out) == 0
        assert "holds  expected incidences of fall_5.5" in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("change", "name"),
        [
            (lambda d: d["models"].reverse(), "one entry for each cause, in order"),
            (lambda d: d["models"].pop(), "models"),
            (lambda d: d["models"][1]["target"].pop("status"), "causes of an event"),
            (lambda d: d["models"][1]["target"]["baseline"][0].update(end=99.0), "the same loss"),
            (lambda d: d["models"][0].update(task="competing risks"), r"models\[0\]"),
            (lambda d: d["models"][1]["target"]["status"].update(cause="flu"), "fields"),
            (lambda d: d["models"][1]["target"]["status"].update(censored=0), "fields"),
            (
                lambda d: [m["target"]["status"].update(censored="fall") for m in d["models"]],
                "fields",
            ),
            (lambda d: d["models"][1]["data"].update(sha256="0" * 64), "the same data"),
            (lambda d: d.update(more=1), "more"),
            (lambda d: d["models"][1].update(bound=7777), "one structure for all causes"),
            (lambda d: shared_term(d).update(scale=2.0), "one structure for all causes"),
        ],
    )
    def test_what_was_tampered_with_is_found_by_both(self, change, name, tmp_path):
        """The checker names the check; where that is the fields, the library says which."""
        document = stored("causes").copy()
        change(document)
        document = sealed(document)
        found = {title for title, faults, _ in rpte_check.file_checks(document) if faults}
        assert found & {name, "fields"}
        if "fields" in found and name != "fields":
            with pytest.raises(rpte.ModelFileError, match=name):
                from_dict(document)
        assert verdicts(write(document, tmp_path)) == (False, False)

    def test_an_inner_hash_that_does_not_fit(self, tmp_path):
        document = stored("causes").copy()
        document["models"][0]["intercept"] += 1.0
        document["hash"] = content_hash(document)
        with pytest.raises(rpte.ModelFileError, match=r"models\[0\]: .* does not match its hash"):
            from_dict(document)
        assert verdicts(write(document, tmp_path)) == (False, False)

    def test_trees_of_other_leaves_are_refused(self, tmp_path):
        """The terms of all causes could not be put side by side."""
        document = stored("causes").copy()
        having, other = sorted(document["models"], key=lambda m: -len(trees(m)))
        tree = copy.deepcopy(trees(having)[0])
        tree["root"] = {"if": tree["root"]["if"], "yes": {"leaf": 0}, "no": {"leaf": 1}}
        tree["leaves"] = tree["leaves"][:2]
        sources = [tree["root"]["if"]["column"]["source"]]
        grown = {"name": "C99", "sources": sources, "trees": [tree], "direct": []}
        other["components"].append(grown)
        other["training"]["mean_contributions"][tree["name"]] = 0.0
        document = sealed(document)
        with pytest.raises(rpte.ModelFileError, match="T1 must have the same leaves"):
            from_dict(document)
        assert verdicts(write(document, tmp_path)) == (False, False)

    def test_a_status_that_the_model_does_not_know(self, tmp_path, capsys):
        made = stored("causes")
        table = made.X.assign(months=made.y["months"], died="flu")
        assert run(made.document, table, tmp_path, "--time", "months", "--event", "died") == 1
        assert "the event 'flu' is none of ['alive', 'fall', 'fever']" in capsys.readouterr().err
