"""A tamperer who computes the hash again: each kind of changed field fails a named check."""

import pytest

from model_files import NAMES, columns, direct, sealed, splits, stored, trees, write
from rpte import ModelFileError, load, verify_file
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


def failing(document, folder, *given):
    """Return the checks that fail on a document whose hash fits."""
    checks = verify_file(write(sealed(document), folder), *given)
    assert checks[0].name == HASH
    assert checks[0].holds
    return {check.name for check in checks if not check.holds}


def changed(name, change):
    document = stored(name).copy()
    change(document)
    assert document != stored(name).document
    return document


@pytest.mark.parametrize("name", NAMES)
def test_files_as_written_pass_every_check(name, tmp_path):
    model = stored(name)
    checks = verify_file(write(model.document, tmp_path), *model.given)
    made_by_hand = [DERIVED] if name == "shaped" else []
    assert [check.name for check in checks if not check.holds] == made_by_hand
    claimed = {LEDGER, WITHDRAWN} if "ledger" in model.document else {RECORD}
    claimed |= {HASH, PARTITION, BOUND, SUPPORT, TABLE}
    assert claimed <= {check.name for check in checks}
    assert "not checked" not in {check.name for check in checks}


@pytest.mark.parametrize("name", NAMES)
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


def weaker_bound(d):
    d["bound"] += 1


def smaller_components(d):
    d["settings"]["max_component_sources"] = 1


def other_direction(d):
    d["settings"]["limits"]["monotone"]["a"] = "decreasing"


def certificate_gone(d):
    d["training"]["monotone"] = []


def limit_gone(d):
    d["settings"]["limits"]["monotone"] = {}


def fewer_pairs(d):
    d["training"]["monotone"][0]["leaf_pairs"] -= 1


def other_sign(d):
    d["training"]["monotone"][0]["direct"][0]["sign"] = 0


def leaf_out_of_order(d):
    leaves = trees(d)[0]["leaves"]
    best = max(range(len(leaves)), key=lambda i: leaves[i]["coefficient"])
    d["training"]["ties"] = []
    leaves[best]["coefficient"] *= -2


def forbidden_variable(d):
    d["settings"]["limits"]["exclude"] = ["income"]
    d["settings"]["limits"]["interactions"] = None


def forbidden_meeting(d):
    d["settings"]["limits"]["interactions"] = [["age", "smoker"]]


def not_linear(d):
    d["settings"]["limits"]["linear_only"] = ["income"]


def loose_tolerance(d):
    d["training"]["objective"]["tolerance"] = 1.0


def other_penalty(d):
    d["training"]["objective"]["l1"] *= 2


def other_penalty_everywhere(d):
    d["training"]["objective"]["l1"] = d["training"]["selection"]["chosen"]["l1"] = 0.5


def other_share(d):
    d["training"]["objective"]["l1_ratio"] = 0.25


def other_factor(d):
    direct(d)[0]["penalty"] = 3.0


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


def strict_policy(d):
    d["ownership"] = d["settings"]["ownership"] = "strict"


def shared_source(d):
    """Move a variable that the first component reads into the second."""
    own, other = d["components"][0], d["components"][1]
    spy = {"kind": "missing", "source": own["sources"][0]}
    other["direct"][0].update(column=spy, centre=0.0)
    read = {s for c in columns({"components": [other]}) for s in _sources(c)}
    other["sources"] = sorted(read)


WITHOUT_DATA = [
    ("mixed", weaker_bound, {BOUND}),
    ("chosen", weaker_bound, {BOUND}),
    ("mixed", smaller_components, {SIZE}),
    ("monotone", other_direction, {CERTIFICATE, "monotone: decreasing in a"}),
    ("monotone", certificate_gone, {CERTIFICATE}),
    ("monotone", limit_gone, {CERTIFICATE, RECORD}),
    ("monotone", fewer_pairs, {CERTIFICATE}),
    ("limited", other_sign, {CERTIFICATE}),
    ("monotone", leaf_out_of_order, {"monotone: increasing in a"}),
    ("limited", forbidden_variable, {"excluded variables"}),
    ("limited", forbidden_meeting, {"interactions"}),
    ("limited", not_linear, {"linear only"}),
    ("mixed", loose_tolerance, {RECORD}),
    ("chosen", loose_tolerance, {RECORD}),
    ("mixed", other_penalty, {RECORD}),
    ("mixed", other_penalty_everywhere, {RECORD}),
    ("array", other_share, {RECORD}),
    ("array", other_factor, {RECORD}),
    ("monotone", other_factor, {RECORD}),
    ("array", impossible_range, {PARTITION}),
    ("special", nested_levels, {PARTITION}),
    ("mixed", strict_policy, {"ownership 'strict'"}),
    ("limited", shared_source, {"ownership 'component'"}),
]


@pytest.mark.parametrize(
    ("name", "change", "expected"), WITHOUT_DATA, ids=lambda v: getattr(v, "__name__", None)
)
def test_it_fails_without_data(name, change, expected, tmp_path):
    assert expected <= failing(changed(name, change), tmp_path)


def a_slope(d):
    direct(d)[0]["coefficient"] *= 1.05


def a_leaf(d):
    leaf = next(v for v in trees(d)[0]["leaves"] if v["coefficient"])
    leaf["coefficient"] *= 1.05


def an_intercept(d):
    d["intercept"] += 1e-3


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


def a_support(d):
    direct(d)[0]["support"] -= 1


def some_events(d):
    direct(d)[0]["target_total"] -= 0.5


def a_leaf_support(d):
    trees(d)[0]["leaves"][0]["support"] += 1


def leaf_events(d):
    trees(d)[0]["leaves"][-1]["target_total"] += 0.25


def the_positive_class(d):
    d["target"]["positive"] = 1 - d["target"]["positive"]


def counted_rows(d):
    d["training"]["rows"] += 1
    d["data"]["rows"] += 1


def distinct_rows(d):
    d["training"]["distinct_rows"] += 1


def counted_events(d):
    d["target"]["total"] -= 1


def the_table_hash(d):
    d["data"]["sha256"] = "0" * 64


def a_class_factor(d):
    d["training"]["class_factors"] = [1.0, 1.0]


def a_quantile(d):
    d["data"]["profile"][0]["quantiles"][2] += 1


def a_level_count(d):
    column = next(c for c in d["data"]["profile"] if c["levels"])
    first = next(iter(column["levels"]))
    column["levels"][first] += 1


def a_mean(d):
    name = next(iter(d["training"]["mean_contributions"]))
    d["training"]["mean_contributions"][name] += 1e-3


def the_objective(d):
    d["training"]["objective"]["value"] *= 0.99


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


def matching_by_position(d):
    d["schema"]["named"] = True


WITH_TABLE = [
    ("mixed", a_slope, {OPTIMUM}),
    ("chosen", a_slope, {OPTIMUM}),
    ("array", a_slope, {OPTIMUM}),
    ("published", a_leaf, {OPTIMUM}),
    ("special", a_leaf, {OPTIMUM}),
    ("boosted", a_leaf, {MEANS}),
    ("mixed", an_intercept, {OPTIMUM}),
    ("monotone", an_intercept, {OPTIMUM}),
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
    ("mixed", a_support, {SUPPORT}),
    ("mixed", some_events, {SUPPORT}),
    ("published", a_leaf_support, {SUPPORT}),
    ("monotone", leaf_events, {SUPPORT}),
    ("mixed", the_positive_class, {SUPPORT, OPTIMUM, TABLE}),
    ("special", the_positive_class, {SUPPORT, OPTIMUM, TABLE}),
    ("array", counted_rows, {TABLE}),
    ("mixed", distinct_rows, {TABLE}),
    ("mixed", counted_events, {TABLE}),
    ("chosen", the_table_hash, {TABLE}),
    ("array", a_class_factor, {TABLE, SUPPORT, OPTIMUM}),
    ("mixed", a_quantile, {PROFILE}),
    ("limited", a_level_count, {PROFILE}),
    ("mixed", a_mean, {MEANS}),
    ("mixed", the_objective, {OPTIMUM}),
    ("mixed", a_level_name, {SUPPORT}),
    ("array", another_variable, {OPTIMUM}),
    ("array", matching_by_position, {TABLE}),
]


@pytest.mark.parametrize(
    ("name", "change", "expected"), WITH_TABLE, ids=lambda v: getattr(v, "__name__", None)
)
def test_it_fails_given_the_training_table(name, change, expected, tmp_path):
    document = changed(name, change)
    assert failing(document, tmp_path) <= {RECORD, SUMS}
    assert expected <= failing(document, tmp_path, *stored(name).given)


def stated_policy(d):
    d["ownership"] = "strict" if d["ownership"] != "strict" else "paper"


def stated_sources(d):
    d["components"][0]["sources"] = d["components"][0]["sources"][1:]


def read_source(d):
    column = next(c for c in columns(d) if c["kind"] == "value")
    column["source"] = "region"


def unknown_source(d):
    next(c for c in columns(d) if "source" in c)["source"] = "salary"


def low_bound(d):
    d["bound"] = 1


def reordered_classes(d):
    d["target"]["classes"].reverse()


def deep_tree(d):
    d["settings"]["max_depth"] = 1


def many_leaves(d):
    d["settings"]["max_leaves"] = 2


def renamed(d):
    d["components"][0]["name"] = "C2"


def unreal_support(d):
    direct(d)[0]["support"] = 1e6


def lost_profile(d):
    d["data"]["profile"] = None


REFUSED = [
    ("mixed", stated_policy, r"ownership is 'strict', settings\.ownership 'component'"),
    ("mixed", stated_sources, r"components\[0\]\.sources must be what the component reads"),
    ("published", read_source, r"column\.source is 'region', a category; it must be a number"),
    ("mixed", unknown_source, r"source is 'salary', no variable of the schema"),
    ("mixed", low_bound, r"bound is 1, below the audit load of \d+ conditions"),
    ("mixed", reordered_classes, r"classes are 'sick' and 'healthy'; they must differ, in order"),
    ("published", deep_tree, r"is deeper than settings\.max_depth, 1"),
    ("mixed", many_leaves, r"trees\[0\]\.leaves are \d+, settings\.max_leaves 2"),
    ("limited", renamed, r"components\[1\]\.name is 'C2', as another part's"),
    ("mixed", unreal_support, r"direct\[0\]\.support is 1e\+06, training\.rows only"),
    ("mixed", lost_profile, r"data\.profile does not go with settings\.profile"),
]


@pytest.mark.parametrize(
    ("name", "change", "message"), REFUSED, ids=lambda v: getattr(v, "__name__", None)
)
def test_what_makes_no_sense_is_not_even_opened(name, change, message, tmp_path):
    path = write(sealed(changed(name, change)), tmp_path)
    for read in (load, verify_file):
        with pytest.raises(ModelFileError, match=message) as raised:
            read(path)
        assert "\n" not in str(raised.value)
