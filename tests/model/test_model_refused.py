"""Fields that obey the schema but do not fit each other: refused in one line with their place.

The library and the checker agree on each of them.
"""

import pytest

from model_files import at, columns, direct, put, sealed, splits, stored, trees, write
from rpte import ModelFileError, load, verify_file
from rpte.check import rpte_check
from rpte.model.file import from_dict


def first(items, **wanted):
    return next(i for i in items if all(i.get(k) == v for k, v in wanted.items()))


def column(d, kind):
    return first(columns(d), kind=kind)


def one_source(kind):
    """Let a column of two variables read one of them twice."""
    return lambda d: column(d, kind).update(right=column(d, kind)["left"])


def threshold_on_a_level(d):
    next(s for s in splits(d) if "at_most" not in s).update(at_most=0.5, missing_holds=False)


def number_without_threshold(d):
    numeric = next(s for s in splits(d) if "at_most" in s)
    del numeric["at_most"], numeric["missing_holds"]


def leaves_out_of_order(d):
    node = trees(d)[0]["root"]
    while "if" in node["yes"]:
        node = node["yes"]
    node["yes"]["leaf"] = 1


def tie_of_different(d):
    active = [i for i, leaf in enumerate(trees(d)[0]["leaves"]) if leaf["coefficient"]]
    d["training"]["ties"] = [[f"T1.L{i + 1}" for i in active[:2]]]


def unreal_support(d):
    direct(d)[0]["support"] = 1.1 * d["target"]["units"]["weight"] * d["training"]["rows"]


AGE, REGION, NOISE = (f"schema.variables.{number}" for number in (0, 2, 4))
LIMITS, TREE, TERM = "settings.limits", "components.0.trees.0", "components.0.direct.0"
MEANS, PROFILE = "training.mean_contributions", "data.profile"
CASES = [
    ("mixed", put(f"{NOISE}.name", "age"), r"schema\.variables\[4\]\.name is 'age'; names must di"),
    ("mixed", put(f"{NOISE}.name", ""), r"schema\.variables\[4\]\.name is ''; names must differ"),
    ("mixed", put(f"{REGION}.levels", lambda v: [*v, "east"]), r"\[2\]\.levels holds 'east' twice"),
    ("mixed", put(f"{AGE}.pooled", True), r"\[0\]\.pooled is true, but only a category"),
    ("array", put("schema.variables.1.name", "age"), r"\.name is 'age'; unnamed columns are"),
    ("mixed", put("target.classes", [0, "sick"]), r"classes are 0 and 'sick'; they must be of one"),
    ("mixed", put("target.classes", ["sick"] * 2), r"classes are 'sick' and 'sick'; they must dif"),
    ("mixed", put("target.classes", lambda v: v[::-1]), r"classes are 'sick' and 'healthy'; they"),
    ("mixed", threshold_on_a_level, r"\.if has a threshold on a 0/1 column"),
    ("mixed", number_without_threshold, r"\.if lacks its threshold 'at_most'"),
    ("mixed", leaves_out_of_order, r"root\.yes.*\.leaf is 1; leaves count up in order, here 0"),
    ("mixed", put(f"{TREE}.leaves.0.coefficient", [1.0] * 3), r"leaves\[0\].coefficient must be"),
    ("mixed", put(f"{TERM}.target_total", [1.0] * 3), r"direct\[0\].target_total must be a numbe"),
    ("mixed", put(f"{TREE}.leaves", lambda v: [*v, v[0]]), r"leaves describes \d+ leaves, the tre"),
    ("mixed", put(TERM, lambda t: {**t, "target_total": t["support"] + 1}),
     r"direct\[0\]\.target_total is \d.*, the support only"),
    ("mixed", lambda d: first(direct(d), centre=0.0).update(centre=1.0), r"\.centre is 1\.0; that"),
    ("mixed", lambda d: column(d, "level").update(levels=["moon"]), r"levels\[0\] is 'moon', no l"),
    ("mixed", lambda d: column(d, "level").update(levels=column(d, "level")["levels"][:1] * 2),
     r"column\.levels holds '\w+' twice"),
    ("mixed", lambda d: column(d, "level").update(source="age"), r"is '\w+', no level of 'age'"),
    ("mixed", lambda d: column(d, "interval").update(low=2.0, high=2.0), r"high is 2\.0, not abov"),
    ("mixed", one_source("pair"), r"column reads '\w+' twice; it needs two variables"),
    ("mixed", one_source("pattern"), r"column reads '\w+' twice; it needs two variables"),
    ("published", lambda d: column(d, "value").update(source="region"),
     r"column\.source is 'region', a category; it must be a number"),
    ("mixed", lambda d: next(c for c in columns(d) if "source" in c).update(source="salary"),
     r"source is 'salary', no variable of the schema"),
    ("mixed", put(f"{LIMITS}.penalty", {"salary": 2.0}), r"penalty names 'salary', no variable"),
    ("mixed", put(f"{LIMITS}.interactions", [["age", "salary"]]), r"interactions names 'salary',"),
    ("mixed", put(f"{LIMITS}.monotone", {"region": "increasing"}), r"monotone names 'region', a c"),
    ("mixed", put("target.total", 1e6), r"target\.total is more than training\.rows"),
    ("mixed", put("training.objective", None), r"training\.objective does not go with settings\.r"),
    ("mixed", lambda d: at(d, MEANS).pop("D1"), r"mean_contributions must name every tree.*'D1'"),
    ("mixed", put(f"{MEANS}.D99", 0.0), r"mean_contributions must name every tree.*'D99'"),
    ("mixed", put("training.ties", [["T1.L1", "T1.L99"]]), r"ties\[0\] names 'T1\.L99', no leaf"),
    ("mixed", tie_of_different, r"training\.ties\[0\] must name leaves of one tree that share one"),
    ("mixed", put("data.rows", lambda n: n + 1), r"data\.rows is .*, training\.rows"),
    ("mixed", put("data.distinct_rows", 10**6), r"data\.distinct_rows is more than training\.dist"),
    ("mixed", put("data.sha256", None), r"data\.sha256 and data\.distinct_rows must both be null"),
    ("mixed", put(PROFILE, lambda v: v[:-1]), r"data\.profile has 4 columns, the schema 5"),
    ("mixed", put(f"{PROFILE}.0.name", "noise"), r"data\.profile\[0\] is not of the variable 'age"),
    ("mixed", lambda d: first(d["data"]["profile"], name="region")["levels"].pop("east"),
     r"data\.profile\[2\]\.levels are not those of the schema"),
    ("mixed", put(f"{PROFILE}.0.equal_parts", [3.0, 1.0]), r"\[0\]\.equal_parts is not in order"),
    ("mixed", put(f"{PROFILE}.0.values", [1.0, 1.0]), r"\[0\]\.values is not in order"),
    ("mixed", put(f"{PROFILE}.2.values", [1.0, 2.0]), r"\[2\]\.values goes with a number only"),
    ("mixed", put(PROFILE, None), r"data\.profile does not go with settings\.profile"),
    ("mixed", put("components.0.direct.1.name", "D1"), r"direct\[1\]\.name is 'D1', as another pa"),
    ("limited", put("components.0.name", "C2"), r"components\[1\]\.name is 'C2', as another part'"),
    ("mixed", put("ownership", "strict"), r"ownership is 'strict', settings\.ownership 'component"),
    ("mixed", put("components.0.sources", lambda v: v[1:]), r"sources must be what the component"),
    ("mixed", put("bound", 1), r"bound is 1, below the audit load of \d+ conditions"),
    ("published", put("settings.max_depth", 1), r"is deeper than settings\.max_depth, 1"),
    ("mixed", put("settings.max_leaves", 2), r"trees\[0\]\.leaves are \d+, settings\.max_leaves 2"),
    ("mixed", put(f"{TERM}.support", 1e6), r"direct\[0\]\.support is 1e\+06, training\.rows only"),
    ("counts", put("task", "binary"), r"loss\.name does not go with the task 'binary'"),
    ("counts", put("loss.name", "binomial"), r"loss\.name does not go with the task 'regr"),
    ("counts", put("loss.link", "identity"), r"loss\.link is 'identity', that of 'poisson' is"),
    ("squared", put("loss.link", "log"), r"loss\.link is 'log', that of 'squared_error' is"),
    ("counts", put("loss.power", 1.5), r"loss must have a 'power' where its name is 'tweedie'"),
    ("claims", lambda d: d["loss"].pop("power"), r"loss must have a 'power' where its name is 'tw"),
    ("claims", put("loss.power", 2.0), r"loss\.power is 2\.0; it must lie between 1 and 2"),
    ("claims", put("loss.power", 1.55555555), r"loss\.power is 1\.55555555; .* six decimals"),
    ("counts", put("target", {"classes": [0, 1], "positive": 1, "total": 3.0}),
     r"target does not go with the task 'regression'"),
    ("counts", lambda d: d["target"].pop("units"), r"target lacks the field 'units'"),
    ("squared", put("target.exposure", "years"), r"exposure is 'years'; squared error has none"),
    ("counts", put("target.units.centre", 0.5), r"target\.units\.centre is not 0"),
    ("counts", put("target.units.scale", 0), r"target\.units\.scale is 0; it must be above"),
    ("counts", put("target.total", -1.0), r"target\.total is negative"),
    ("claims", put(f"{TREE}.leaves.0.target_total", -1.0), r"leaves\[0\]\.target_total is -1; it"),
    ("counts", unreal_support, r"direct\[0\]\.support is .*, training\.rows only"),
    ("counts", put("training.class_factors", [1.0, 1.0]), r"training must have 'class_factors'"),
]  # fmt: skip
LOG = {"kind": "scale", "source": "income", "formula": "log", "low": 0.5}
CLIP = {"kind": "scale", "source": "income", "formula": "clip", "low": 1.0, "high": 9.0}
NEAR = {"kind": "scale", "source": "income", "formula": "distance", "centre": 5.0}
HINGE = {"kind": "hinge", "source": "income", "knot": 5.0, "side": "above"}
STEP = {"kind": "step", "source": "income", "threshold": 5.0}
OLD, MISSING = ({"kind": kind, "source": "age"} for kind in ("value", "missing"))
LEVEL = {"kind": "level", "source": "region", "levels": ["north"]}
PRODUCT = {"kind": "pair", "operation": "product", "left": HINGE, "right": LOG}
SUM = {**PRODUCT, "operation": "sum"}
NO_FLAG = r"\.centre is 3\.0; that of a 0/1 column, a hinge or a product with one is 0"
COLUMN_CASES = [
    ({**LOG, "low": 0.0}, r"column\.low is 0\.0; that of a logarithm must be above 0"),
    ({**LOG, "formula": "sqrt", "low": -1.0}, r"low is -1\.0; that of a square root must be at"),
    ({**LOG, "high": 0.5}, r"column\.high is 0\.5, not above low, 0\.5"),
    ({**LOG, "centre": 0.5}, r"column has 'centre'; the formula 'log' has the numbers \['low'\]"),
    ({**NEAR, "low": 1.0}, r"column has 'low'; the formula 'distance' has the numbers \['cen"),
    ({**NEAR, "high": 9.0}, r"column lacks 'low'; the formula 'distance' has the numbers"),
    ({**NEAR, "low": 6.0, "high": 9.0}, r"centre is 5\.0, not between low and high"),
    ({**HINGE, "end": 5.0}, r"column\.end is 5\.0, not above the knot, 5\.0"),
    ({**HINGE, "side": "below", "end": 6.0}, r"column\.end is 6\.0, not below the knot, 5\.0"),
    ({**HINGE, "end": None}, r"end is None; it must be a finite number"),
    ({**LOG, "formula": "distance"}, r"column has 'low'; the formula 'distance'"),
    ({**LOG, "formula": "rank"}, r"formula is 'rank'; it must be one of \['log', 'sqrt'"),
    ({**CLIP, "high": 1.0}, r"column\.high is 1\.0, not above low, 1\.0"),
    ({k: v for k, v in CLIP.items() if k != "high"}, r"column lacks 'high'; the formula 'clip'"),
    ({**HINGE, "side": "left"}, r"side is 'left'; it must be one of \['above', 'below'\]"),
    ({**HINGE, "knot": None}, r"knot is None; it must be a finite number"),
    ({**HINGE, "source": "region"}, r"source is 'region', a category; it must be a number"),
    ({**STEP, "source": "region"}, r"source is 'region', a category; it must be a number"),
    ({**LOG, "source": "region"}, r"source is 'region', a category; it must be a number"),
    (PRODUCT, r"column reads 'income' twice"),
    ({**PRODUCT, "right": MISSING}, r"right\.kind is 'missing'; it must be one of"),
    ({**PRODUCT, "right": STEP}, r"column reads 'income' twice"),
    ({**PRODUCT, "left": STEP, "right": LEVEL}, r"column is a pair of two 0/1 columns; those make"),
    ({**SUM, "right": LEVEL}, r"right\.kind is 'level'; 'sum' needs numbers, a 0/1 column can be"),
    ({**SUM, "left": STEP, "right": OLD}, r"left\.kind is 'step'; 'sum' needs numbers"),
    ({**SUM, "left": STEP, "right": LEVEL}, r"column is a pair of two 0/1 columns"),
    (HINGE, NO_FLAG),
    (STEP, NO_FLAG),
    ({**PRODUCT, "right": OLD}, NO_FLAG),
    ({**PRODUCT, "left": STEP, "right": OLD}, NO_FLAG),
]
CASES += [
    ("mixed", put(TERM, lambda t, c=c: {**t, "column": c, "centre": 3.0}), message)
    for c, message in COLUMN_CASES
]


@pytest.mark.parametrize(("name", "change", "message"), CASES)
def test_it_is_refused_by_library_and_checker(name, change, message, tmp_path):
    document = stored(name).copy()
    change(document)
    assert document != stored(name).document
    path = write(sealed(document), tmp_path)
    for read in (load, verify_file):
        with pytest.raises(ModelFileError, match=message) as raised:
            read(path)
        assert "malformed" in str(raised.value)
        assert len(str(raised.value).splitlines()) == 1
    assert rpte_check.main([str(path)]) == 1


def test_numbers_of_a_column_that_are_none_are_refused():
    document = stored("mixed").copy()
    direct(document)[0]["column"] = {**LOG, "low": float("nan")}
    with pytest.raises(ModelFileError, match=r"column\.low is nan; numbers must be finite"):
        from_dict(document)
