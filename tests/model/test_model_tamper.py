"""A tamperer who computes the hash again: each kind of changed field fails a named check."""

import json

import pytest

from model_files import (
    NAMES,
    NUMBER_NAMES,
    columns,
    direct,
    put,
    sealed,
    splits,
    stored,
    trees,
    write,
)
from rpte import ModelFileError, load, verify_file
from rpte.check import rpte_check
from rpte.losses import OF_NUMBERS
from rpte.model.file import from_dict, to_dict
from rpte.model.ledger import DERIVED

HASH, PARTITION, BOUND = (
    "content hash",
    "leaves partition the inputs",
    "audit load within its bound",
)
SIZE, RECORD, CERTIFICATE = "component size", "recorded objective", "monotone certificate"
SUPPORT, TABLE, PROFILE = "supports and event rates", "training table", "column profile"
UNMET = "missing values not met in training"
SUMS, ASKED, SCHEMA = "supports and means add up", "size as asked for", "variables and levels"
LEDGER, WITHDRAWN = "ledger", "no longer claimed"
MEANS, OPTIMUM = "mean contributions", "Stage 3 optimality of the active terms"
NUMBER_SUPPORT, STAGE_2 = "supports and means", "leaf values of Stage 2"
BALANCE = "sum of predictions equals the sum of the target"


def failing(document, folder, made=None):
    """Return the checks that fail on a document whose hash fits."""
    path = write(sealed(document), folder)
    checks = verify_file(path, *made.given, **made.beside) if made else verify_file(path)
    assert checks[0].name == HASH
    assert checks[0].holds
    return {check.name for check in checks if not check.holds}


def changed(name, change):
    document = stored(name).copy()
    change(document)
    assert document != stored(name).document
    return document


@pytest.mark.parametrize("name", NAMES + NUMBER_NAMES)
def test_files_as_written_pass_every_check(name, tmp_path):
    made = stored(name)
    path = write(made.document, tmp_path)
    checks = verify_file(path, *made.given, **made.beside)
    made_by_hand = [DERIVED] if name == "shaped" else []
    assert [check.name for check in checks if not check.holds] == made_by_hand
    claimed = {LEDGER, WITHDRAWN} if "ledger" in made.document else {RECORD}
    claimed |= {HASH, PARTITION, BOUND, SUPPORT, TABLE}
    if name in NUMBER_NAMES:
        assert trees(made.document)
        assert not any("event" in check.evidence for check in checks)
        claimed = {TABLE, NUMBER_SUPPORT, MEANS, SUMS}
    assert claimed <= {check.name for check in checks}
    assert "not checked" not in {check.name for check in checks}
    assert load(path) == from_dict(made.copy())
    assert json.loads(json.dumps(to_dict(load(path)))) == made.document


def test_there_is_a_file_of_every_loss():
    losses = {stored(name).document["loss"]["name"] for name in NUMBER_NAMES}
    assert losses == {loss.name for loss in OF_NUMBERS}


@pytest.mark.parametrize("name", NAMES + NUMBER_NAMES)
def test_what_was_not_checked_is_listed(name, tmp_path):
    model = stored(name)
    path = write(model.document, tmp_path)
    nothing, rows = verify_file(path)[-1], verify_file(path, model.X)[-1]
    assert nothing.name == rows.name == "not checked"
    claims = ("training table", "supports", "thresholds", "coefficients")
    for claim in claims[: 3 if "ledger" in model.document else 4]:
        assert claim in nothing.evidence
        assert claim in rows.evidence
    assert "contributions sum" in nothing.evidence
    assert "contributions sum" not in rows.evidence


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_hash_is_refused_by_load_and_reported_by_verify(name, tmp_path):
    document = changed(name, lambda d: d.update(intercept=d["intercept"] + 1e-12))
    path = write(document, tmp_path)
    with pytest.raises(ModelFileError, match="changed or damaged"):
        load(path)
    checks = verify_file(path)
    noticed = [HASH, LEDGER] if "ledger" in document else [HASH]
    assert [check.name for check in checks if not check.holds] == noticed
    assert document["hash"] in checks[0].evidence


@pytest.mark.parametrize(
    "change",
    [
        lambda d: trees(d)[0]["leaves"][0].update(support=1.0),
        lambda d: d["training"].update(rows=7.0),
        lambda d: d["settings"].update(ownership="paper"),
        lambda d: d["schema"]["variables"][0].update(name="years"),
        lambda d: d.update(hash="0" * 64),
        lambda d: d.pop("hash"),
        lambda d: d.update(extra=1),
    ],
)
def test_a_change_anywhere_is_refused(change):
    with pytest.raises(ModelFileError, match="changed or damaged"):
        from_dict(changed("mixed", change))


def leaf_out_of_order(d):
    leaves = trees(d)[0]["leaves"]
    best = max(range(len(leaves)), key=lambda i: leaves[i]["coefficient"])
    d["training"]["ties"] = []
    leaves[best]["coefficient"] *= -2


def impossible_range(d):
    tree = next(t for t in trees(d) if "at_most" in t["root"]["if"])
    test = tree["root"]["if"]
    tree["root"]["yes"] = {
        "if": {**test, "at_most": test["at_most"] + 1, "missing_holds": True},
        "yes": {"leaf": 0},
        "no": {"leaf": 1},
    }
    tree["root"]["no"] = {"leaf": 2}
    tree["leaves"] = tree["leaves"][:3]
    d["training"]["ties"] = []


def nested_levels(d):
    """Ask twice for the level of a category: the second time nobody is left."""
    test = {"column": {"kind": "level", "source": "region", "levels": ["west"]}}
    tree = trees(d)[0]
    inner = {"if": test, "yes": {"leaf": 0}, "no": {"leaf": 1}}
    tree["root"] = {"if": test, "yes": inner, "no": {"leaf": 2}}
    tree["leaves"] = tree["leaves"][:3]
    component = d["components"][0]
    read = {s for c in columns({"components": [component]}) for s in _sources(c)}
    component["sources"] = sorted(read)
    named = {source for c in d["components"] for source in c["sources"]}
    d["training"]["importances"] = dict.fromkeys(sorted(named), 0.1)


def _sources(column):
    if "source" in column:
        return {column["source"]}
    return {column["left"]["source"], column["right"]["source"]}


def shared_source(d):
    """Move a variable that the first component reads into the second."""
    own, other = d["components"][0], d["components"][1]
    spy = {"kind": "missing", "source": own["sources"][0]}
    other["direct"][0].update(column=spy, centre=0.0)
    read = {s for c in columns({"components": [other]}) for s in _sources(c)}
    other["sources"] = sorted(read)


def forbidden_variable(d):
    d["settings"]["limits"] |= {"exclude": ["income"], "interactions": None}


def other_penalty_everywhere(d):
    d["training"]["objective"]["l1"] = d["training"]["selection"]["chosen"]["l1"] = 0.5


def strict_policy(d):
    d["ownership"] = d["settings"]["ownership"] = "strict"


LIMITS, OBJECTIVE, TERM = "settings.limits", "training.objective", "components.0.direct.0"
ORDER = "training.monotone.0"
WITHOUT_DATA = [
    ("mixed", put("bound", lambda v: v + 1), {BOUND}),
    ("chosen", put("bound", lambda v: v + 1), {BOUND}),
    ("mixed", put("settings.max_component_sources", 1), {SIZE}),
    ("monotone", put(f"{LIMITS}.monotone.a", "decreasing"),
     {CERTIFICATE, "monotone: decreasing in a"}),
    ("monotone", put("training.monotone", []), {CERTIFICATE}),
    ("monotone", put(f"{LIMITS}.monotone", {}), {CERTIFICATE, RECORD}),
    ("monotone", put(f"{ORDER}.leaf_pairs", lambda v: v - 1), {CERTIFICATE}),
    ("limited", put(f"{ORDER}.direct.0.sign", 0), {CERTIFICATE}),
    ("monotone", leaf_out_of_order, {"monotone: increasing in a"}),
    ("limited", forbidden_variable, {"excluded variables"}),
    ("limited", put(f"{LIMITS}.interactions", [["age", "smoker"]]), {"interactions"}),
    ("limited", put(f"{LIMITS}.linear_only", ["income"]), {"linear only"}),
    ("mixed", put(f"{OBJECTIVE}.tolerance", 1.0), {RECORD}),
    ("chosen", put(f"{OBJECTIVE}.tolerance", 1.0), {RECORD}),
    ("mixed", put(f"{OBJECTIVE}.l1", lambda v: v * 2), {RECORD}),
    ("mixed", other_penalty_everywhere, {RECORD}),
    ("array", put(f"{OBJECTIVE}.l1_ratio", 0.25), {RECORD}),
    ("array", put(f"{TERM}.penalty", 3.0), {RECORD}),
    ("monotone", put(f"{TERM}.penalty", 3.0), {RECORD}),
    ("array", impossible_range, {PARTITION}),
    ("special", nested_levels, {PARTITION}),
    ("mixed", strict_policy, {"ownership 'strict'"}),
    ("limited", shared_source, {"ownership 'component'"}),
]  # fmt: skip


CHECKER = {  # what the checker calls a check, where that is another name
    BOUND: "audit load",
    SIZE: "ownership 'component'",
    CERTIFICATE: "certificate",
    RECORD: "objective",
    PARTITION: "trees",
    **dict.fromkeys(("excluded variables", "interactions", "linear only"), "limits"),
}


@pytest.mark.parametrize(("name", "change", "expected"), WITHOUT_DATA)
def test_it_fails_without_data(name, change, expected, tmp_path):
    document = changed(name, change)
    assert expected <= failing(document, tmp_path)
    mine = {check for check, faults, _ in rpte_check.file_checks(sealed(document)) if faults}
    wanted = {CHECKER.get(check, check) for check in expected}
    assert wanted <= mine <= wanted | {"sums", "limits", "certificate"}


def scaled(factor):
    return lambda value: value * factor


def more(step):
    return lambda value: value + step


def a_leaf(d):
    leaf = next(v for v in trees(d)[0]["leaves"] if v["coefficient"])
    leaf["coefficient"] *= 1.05


def a_centre(d):
    next(t for t in direct(d) if t["column"]["kind"] == "value")["centre"] += 1


def a_scale(d):
    next(t for t in direct(d) if t["column"]["kind"] in ("value", "pair"))["scale"] *= 1.5


def a_threshold(d):
    """Move the last of a number's thresholds, which leaves every leaf possible."""
    tests = [t for t in splits(d) if "at_most" in t and t["column"]["kind"] == "value"]
    number = tests[0]["column"]
    max((t for t in tests if t["column"] == number), key=lambda t: t["at_most"])["at_most"] += 2.5


def a_missing_side(d):
    test = next(t for t in splits(d) if t["column"]["kind"] == "pair")
    test["missing_holds"] = not test["missing_holds"]


def an_unmet_missing_side(d):
    complete = {v["name"] for v in d["schema"]["variables"] if not v["has_missing"]}
    values = [t for t in splits(d) if t["column"]["kind"] == "value"]
    test = next(t for t in values if t["column"]["source"] in complete)
    test["missing_holds"] = not test["missing_holds"]


def a_level_set(d):
    variables = {v["name"]: v["levels"] for v in d["schema"]["variables"]}
    column = next(c for c in columns(d) if c["kind"] == "level")
    others = [v for v in variables[column["source"]] if v not in column["levels"]]
    column["levels"] = others[:1]


def an_interval(d):
    column = next(c for c in columns(d) if c["kind"] == "interval")
    end = "high" if column["high"] is not None else "low"
    column[end] += 5


def a_pattern(d):
    column = next(c for c in columns(d) if c["kind"] == "pattern")
    part = next(p for p in (column["left"], column["right"]) if p["kind"] == "interval")
    end = "high" if part["high"] is not None else "low"
    part[end] += 7


def an_operation(d):
    column = next(t["column"] for t in direct(d) if t["column"]["kind"] == "pair")
    column["operation"] = "sum" if column["operation"] != "sum" else "product"


def counted_rows(d):
    d["training"]["rows"] += 1
    d["data"]["rows"] += 1


def a_level_count(d):
    levels = next(c for c in d["data"]["profile"] if c["levels"])["levels"]
    levels[next(iter(levels))] += 1


def a_level_name(d):
    """Swap the names of two levels everywhere but in the table."""
    levels = next(v for v in d["schema"]["variables"] if v["name"] == "region")["levels"]
    levels[0], levels[1] = levels[1], levels[0]
    wrong = {levels[0]: levels[1], levels[1]: levels[0]}
    for column in columns(d):
        for part in (column, column.get("left", {}), column.get("right", {})):
            if part.get("source") == "region" and part["kind"] == "level":
                part["levels"] = [wrong.get(v, v) for v in part["levels"]]


def another_variable(d):
    """Let a slope read another number, and say so everywhere."""
    term = next(t for t in direct(d) if t["column"]["kind"] == "value")
    term["column"]["source"] = "x1" if term["column"]["source"] == "x0" else "x0"


def other_loss(d):
    d["loss"]["name"] = "poisson" if d["loss"]["name"] == "gamma" else "gamma"


def leaf_totals(d):
    for leaf, sign in zip(trees(d)[0]["leaves"], (1.0, -1.0), strict=False):
        leaf["target_total"] += 0.5 * sign


def fewer_samples(d):
    least = min(leaf["support"] for tree in trees(d) for leaf in tree["leaves"])
    d["settings"]["min_samples_leaf"] = 1.01 * least / d["target"]["units"]["weight"]


SLOPE, LEAF, UNITS = f"{TERM}.coefficient", "components.0.trees.0.leaves", "target.units"
POSITIVE = put("target.positive", lambda v: 1 - v)
WITH_TABLE = [
    ("mixed", put(SLOPE, scaled(1.05)), {OPTIMUM}),
    ("chosen", put(SLOPE, scaled(1.05)), {OPTIMUM}),
    ("array", put(SLOPE, scaled(1.05)), {OPTIMUM}),
    ("published", a_leaf, {OPTIMUM}),
    ("special", a_leaf, {OPTIMUM}),
    ("boosted", a_leaf, {MEANS}),
    ("mixed", put("intercept", more(1e-3)), {OPTIMUM}),
    ("monotone", put("intercept", more(1e-3)), {OPTIMUM}),
    ("mixed", a_centre, {OPTIMUM, MEANS}),
    ("mixed", a_scale, {OPTIMUM}),
    ("published", a_threshold, {SUPPORT}),
    ("special", a_threshold, {SUPPORT}),
    ("boosted", a_threshold, {SUPPORT}),
    ("special", a_missing_side, {SUPPORT}),
    ("array", a_missing_side, {SUPPORT}),
    ("monotone", an_unmet_missing_side, {UNMET}),
    ("limited", an_unmet_missing_side, {UNMET}),
    ("boosted", an_unmet_missing_side, {UNMET}),
    ("mixed", a_level_set, {SUPPORT}),
    ("special", a_level_set, {SUPPORT}),
    ("mixed", an_interval, {SUPPORT}),
    ("mixed", a_pattern, {SUPPORT}),
    ("mixed", an_operation, {OPTIMUM}),
    ("mixed", put(f"{TERM}.support", more(-1)), {SUPPORT}),
    ("mixed", put(f"{TERM}.target_total", more(-0.5)), {SUPPORT}),
    ("published", put(f"{LEAF}.0.support", more(1)), {SUPPORT}),
    ("monotone", put(f"{LEAF}.0.target_total", more(0.25)), {SUPPORT}),
    ("mixed", POSITIVE, {SUPPORT, OPTIMUM, TABLE}),
    ("special", POSITIVE, {SUPPORT, OPTIMUM, TABLE}),
    ("array", counted_rows, {TABLE}),
    ("mixed", put("training.distinct_rows", more(1)), {TABLE}),
    ("mixed", put("target.total", more(-1)), {TABLE}),
    ("chosen", put("data.sha256", "0" * 64), {TABLE}),
    ("array", put("training.class_factors", [1.0, 1.0]), {TABLE, SUPPORT, OPTIMUM}),
    ("mixed", put("data.profile.0.quantiles.2", more(1)), {PROFILE}),
    ("limited", a_level_count, {PROFILE}),
    ("mixed", put("training.mean_contributions.D1", more(1e-3)), {MEANS}),
    ("mixed", put(f"{OBJECTIVE}.value", scaled(0.99)), {OPTIMUM}),
    ("mixed", a_level_name, {SUPPORT}),
    ("array", another_variable, {OPTIMUM}),
    ("array", put("schema.named", True), {TABLE}),
    ("squared", put(f"{UNITS}.centre", more(1.0)), {TABLE}),
    ("squared", put(f"{UNITS}.scale", scaled(1.01)), {TABLE, OPTIMUM}),
    ("counts", put(f"{UNITS}.weight", scaled(1.01)), {TABLE, SUMS}),
    ("claims", put("loss.power", 1.5), {OPTIMUM}),
    ("amounts", other_loss, {OPTIMUM}),
    ("counts", put("target.total", scaled(1.001)), {TABLE, SUMS}),
    ("squared", put("target.total", scaled(1.001)), {TABLE, SUMS}),
    ("counts", leaf_totals, {NUMBER_SUPPORT}),
    ("amounts", put(f"{TERM}.target_total", scaled(1.001)), {NUMBER_SUPPORT}),
    ("squared", put(SLOPE, scaled(1.001)), {OPTIMUM, MEANS}),
    ("claims", put(SLOPE, scaled(1.001)), {OPTIMUM, MEANS}),
    ("squared", a_leaf, {SUMS, OPTIMUM}),
    ("squared", put("intercept", scaled(1.001)), {OPTIMUM, BALANCE}),
    ("counts", put("intercept", scaled(1.001)), {OPTIMUM, BALANCE}),
    ("boosted_counts", a_leaf, {STAGE_2}),
    ("boosted_counts", put("intercept", scaled(1.001)), {STAGE_2}),
    ("counts", fewer_samples, {ASKED}),
]


@pytest.mark.parametrize(("name", "change", "expected"), WITH_TABLE)
def test_it_fails_given_the_training_table(name, change, expected, tmp_path):
    document = changed(name, change)
    assert expected <= failing(document, tmp_path, stored(name))
    alone = failing(document, tmp_path)
    assert alone <= ({SUMS, ASKED} if name in NUMBER_NAMES else {RECORD, SUMS})
    assert rpte_check.main([str(write(sealed(document), tmp_path))]) == bool(alone)
