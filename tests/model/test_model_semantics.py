"""Fields that obey the schema but do not fit each other: refused with their place."""

import pytest

from model_files import columns, direct, sealed, splits, stored, trees
from rpte import ModelFileError
from rpte.model.file import from_dict


def variable(d, name):
    return next(v for v in d["schema"]["variables"] if v["name"] == name)


def first(items, **wanted):
    return next(i for i in items if all(i.get(k) == v for k, v in wanted.items()))


def name_twice(d):
    variable(d, "noise")["name"] = "age"


def no_name(d):
    variable(d, "noise")["name"] = ""


def level_twice(d):
    variable(d, "region")["levels"].append("east")


def pooled_number(d):
    variable(d, "age")["pooled"] = True


def classes_of_two_types(d):
    d["target"]["classes"] = [0, "sick"]


def one_class_twice(d):
    d["target"]["classes"] = ["sick", "sick"]


def threshold_on_a_level(d):
    first_binary = next(s for s in splits(d) if "at_most" not in s)
    first_binary.update(at_most=0.5, missing_holds=False)


def number_without_threshold(d):
    numeric = next(s for s in splits(d) if "at_most" in s)
    del numeric["at_most"], numeric["missing_holds"]


def leaves_out_of_order(d):
    node = trees(d)[0]["root"]
    while "if" in node["yes"]:
        node = node["yes"]
    node["yes"]["leaf"] = 1


def a_leaf_of_several_scores(d):
    trees(d)[0]["leaves"][0]["coefficient"] = [1.0, 2.0, 3.0]


def a_term_of_several_scores(d):
    direct(d)[0]["target_total"] = [1.0, 2.0, 3.0]


def a_leaf_too_many(d):
    trees(d)[0]["leaves"].append(trees(d)[0]["leaves"][0])


def more_events_than_cases(d):
    direct(d)[0]["target_total"] = direct(d)[0]["support"] + 1


def centre_of_a_flag(d):
    first(direct(d), centre=0.0)["centre"] = 1.0


def unknown_level(d):
    next(c for c in columns(d) if c["kind"] == "level")["levels"] = ["moon"]


def level_listed_twice(d):
    column = next(c for c in columns(d) if c["kind"] == "level")
    column["levels"] = column["levels"][:1] * 2


def empty_interval(d):
    column = next(c for c in columns(d) if c["kind"] == "interval")
    column.update(low=2.0, high=2.0)


def pair_of_one(d):
    column = next(c for c in columns(d) if c["kind"] == "pair")
    column["right"] = column["left"]


def pattern_of_one(d):
    column = next(c for c in columns(d) if c["kind"] == "pattern")
    column["right"] = column["left"]


def level_of_a_plain_number(d):
    column = next(c for c in columns(d) if c["kind"] == "level")
    column["source"] = "age"


def limit_on_nothing(d):
    d["settings"]["limits"]["penalty"] = {"salary": 2.0}


def interaction_of_nothing(d):
    d["settings"]["limits"]["interactions"] = [["age", "salary"]]


def monotone_category(d):
    d["settings"]["limits"]["monotone"] = {"region": "increasing"}


def too_many_events(d):
    d["target"]["total"] = d["training"]["rows"] + 1


def objective_lost(d):
    d["training"]["objective"] = None


def mean_lost(d):
    d["training"]["mean_contributions"].pop("D1")


def mean_of_nothing(d):
    d["training"]["mean_contributions"]["D99"] = 0.0


def tie_of_nothing(d):
    d["training"]["ties"] = [["T1.L1", "T1.L99"]]


def tie_of_different(d):
    leaves = trees(d)[0]["leaves"]
    active = [i for i, leaf in enumerate(leaves) if leaf["coefficient"]]
    d["training"]["ties"] = [[f"T1.L{active[0] + 1}", f"T1.L{active[1] + 1}"]]


def other_rows(d):
    d["data"]["rows"] += 1


def more_distinct(d):
    d["data"]["distinct_rows"] = d["training"]["distinct_rows"] + 1


def no_hash(d):
    d["data"]["sha256"] = None


def a_column_less(d):
    d["data"]["profile"].pop()


def other_column(d):
    d["data"]["profile"][0]["name"] = "noise"


def other_levels(d):
    first(d["data"]["profile"], name="region")["levels"].pop("east")


def tree_twice(d):
    d["components"][0]["direct"][1]["name"] = "D1"


CASES = [
    (name_twice, r"schema\.variables\[4\]\.name is 'age'; names must differ and not be empty"),
    (no_name, r"schema\.variables\[4\]\.name is ''; names must differ"),
    (level_twice, r"schema\.variables\[2\]\.levels holds 'east' twice"),
    (pooled_number, r"schema\.variables\[0\]\.pooled is true, but only a category"),
    (classes_of_two_types, r"classes are 0 and 'sick'; they must be of one type"),
    (one_class_twice, r"classes are 'sick' and 'sick'; they must differ"),
    (threshold_on_a_level, r"\.if has a threshold on a 0/1 column"),
    (number_without_threshold, r"\.if lacks its threshold 'at_most'"),
    (leaves_out_of_order, r"root\.yes.*\.leaf is 1; leaves count up in order, here 0"),
    (a_leaf_of_several_scores, r"leaves\[0\].coefficient must be a number, not a list"),
    (a_term_of_several_scores, r"direct\[0\].target_total must be a number, not a list"),
    (a_leaf_too_many, r"trees\[0\]\.leaves describes \d+ leaves, the tree has \d+"),
    (more_events_than_cases, r"direct\[0\]\.target_total is \d.*, the support only"),
    (centre_of_a_flag, r"\.centre is 1\.0; that of a 0/1 column, a hinge"),
    (unknown_level, r"column\.levels\[0\] is 'moon', no level of '\w+'"),
    (level_listed_twice, r"column\.levels holds '\w+' twice"),
    (empty_interval, r"column\.high is 2\.0, not above low, 2\.0"),
    (pair_of_one, r"column reads '\w+' twice; it needs two variables"),
    (pattern_of_one, r"column reads '\w+' twice; it needs two variables"),
    (level_of_a_plain_number, r"column\.levels\[0\] is '\w+', no level of 'age'"),
    (limit_on_nothing, r"settings\.limits\.penalty names 'salary', no variable"),
    (interaction_of_nothing, r"settings\.limits\.interactions names 'salary', no variable"),
    (monotone_category, r"settings\.limits\.monotone names 'region', a category"),
    (too_many_events, r"target\.total is more than training\.rows"),
    (objective_lost, r"training\.objective does not go with settings\.reassign True"),
    (mean_lost, r"training\.mean_contributions must name every tree.*'D1'"),
    (mean_of_nothing, r"training\.mean_contributions must name every tree.*'D99'"),
    (tie_of_nothing, r"training\.ties\[0\] names 'T1\.L99', no leaf"),
    (tie_of_different, r"training\.ties\[0\] must name leaves of one tree that share one"),
    (other_rows, r"data\.rows is .*, training\.rows"),
    (more_distinct, r"data\.distinct_rows is more than training\.distinct_rows"),
    (no_hash, r"data\.sha256 and data\.distinct_rows must both be null, or neither"),
    (a_column_less, r"data\.profile has 4 columns, the schema 5"),
    (other_column, r"data\.profile\[0\] is not of the variable 'age'"),
    (other_levels, r"data\.profile\[2\]\.levels are not those of the schema"),
    (tree_twice, r"direct\[1\]\.name is 'D1', as another part's"),
]


@pytest.mark.parametrize(("change", "message"), CASES, ids=lambda v: getattr(v, "__name__", ""))
def test_it_is_refused_with_its_place(change, message):
    document = stored("mixed").copy()
    change(document)
    with pytest.raises(ModelFileError, match=message) as raised:
        from_dict(sealed(document))
    assert str(raised.value).startswith("the model file is malformed: ")
    assert len(str(raised.value).splitlines()) == 1


LOG = {"kind": "scale", "source": "income", "formula": "log", "low": 0.5}
CLIP = {"kind": "scale", "source": "income", "formula": "clip", "low": 1.0, "high": 9.0}
HINGE = {"kind": "hinge", "source": "income", "knot": 5.0, "side": "above"}
STEP = {"kind": "step", "source": "income", "threshold": 5.0}
AGE, MISSING = ({"kind": kind, "source": "age"} for kind in ("value", "missing"))
LEVEL = {"kind": "level", "source": "region", "levels": ["north"]}
PRODUCT = {"kind": "pair", "operation": "product", "left": HINGE, "right": LOG}
SUM = {**PRODUCT, "operation": "sum"}
NO_FLAG = r"\.centre is 3\.0; that of a 0/1 column, a hinge or a product with one is 0"
COLUMN_CASES = [
    ({**LOG, "low": 0.0}, r"column\.low is 0\.0; that of a logarithm must be above 0"),
    ({**LOG, "formula": "sqrt", "low": -1.0}, r"low is -1\.0; that of a square root must be at"),
    ({**LOG, "high": 2.0}, r"column has 'high'; the formula 'log' has the numbers \['low'\]"),
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
    ({**SUM, "left": STEP, "right": AGE}, r"left\.kind is 'step'; 'sum' needs numbers"),
    ({**SUM, "left": STEP, "right": LEVEL}, r"column is a pair of two 0/1 columns"),
    (HINGE, NO_FLAG),
    (STEP, NO_FLAG),
    ({**PRODUCT, "right": AGE}, NO_FLAG),
    ({**PRODUCT, "left": STEP, "right": AGE}, NO_FLAG),
]


@pytest.mark.parametrize(("column", "message"), COLUMN_CASES)
def test_a_column_that_makes_no_sense_is_refused(column, message):
    document = stored("mixed").copy()
    direct(document)[0].update(column=column, centre=3.0)
    with pytest.raises(ModelFileError, match=message):
        from_dict(sealed(document))


def test_numbers_of_a_column_that_are_none_are_refused():
    document = stored("mixed").copy()
    direct(document)[0]["column"] = {**LOG, "low": float("nan")}
    with pytest.raises(ModelFileError, match=r"column\.low is nan; numbers must be finite"):
        from_dict(document)


def test_unnamed_columns_are_numbered():
    document = stored("array").copy()
    document["schema"]["variables"][1]["name"] = "age"
    with pytest.raises(ModelFileError, match=r"variables\[1\]\.name is 'age'; unnamed columns are"):
        from_dict(sealed(document))
