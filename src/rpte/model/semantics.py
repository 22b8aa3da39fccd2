"""What a schema cannot say of a model file: that its fields make sense together.

Each rule yields (place, what is wrong); the first stops the reading. Claims that people may want to
see *fail* (the bound, ownership, certificates, counts) are checks of `verify`, not rules here.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from rpte.columns.kinds import FORMULAS, LIMITED, column_from_dict
from rpte.errors import ModelFileError
from rpte.losses import BINOMIAL, DISCRETE, LOSSES, TWEEDIE
from rpte.losses.risk_sets import GROUPED
from rpte.model.survival import LOSSES_OF_TIMES, SurvivalTarget
from rpte.model.validator import Path, place, shown
from rpte.table.column import level_text, parse_number
from rpte.table.table import pooled_name

Record = Mapping[str, Any]
Faults = Iterator[tuple[Path, str]]
TOLERANCE = 1e-9  # sums of weights are rounded
# What figures of each task hold; those of no other task hold all of it.
FIGURES = {
    "binary": {"auc", "brier"},
    "regression": {"mae"},
    SurvivalTarget.task: {"concordance"},
}


def check_semantics(document: Record) -> None:
    """Raise `ModelFileError` at the first field that does not fit the others."""
    variables = {
        v["name"]: {**v, "levels": frozenset(v["levels"])} for v in document["schema"]["variables"]
    }
    rules = (
        _variables(document["schema"]),
        _labels(document),
        _components(document, variables),
        _settings(document, variables),
        _training(document),
        _data(document),
    )
    for rule in rules:
        for path, fault in rule:
            raise ModelFileError(f"{place(path)} {fault}")


def _variables(schema: Record) -> Faults:
    seen: set[str] = set()
    for number, variable in enumerate(schema["variables"]):
        path: Path = ("schema", "variables", number)
        name, levels = variable["name"], variable["levels"]
        if not schema["named"] and name != f"x{number}":
            yield (*path, "name"), f"is {shown(name)}; unnamed columns are x0, x1, ... in order"
        if not name or name in seen:
            yield (*path, "name"), f"is {shown(name)}; names must differ and not be empty"
        seen.add(name)
        yield from _twice(levels, (*path, "levels"))
        if variable["pooled"] and (variable["kind"] != "category" or not levels):
            yield (*path, "pooled"), "is true, but only a category with levels can be pooled"
        elif variable["pooled"] and levels[-1] != pooled_name(levels[:-1]):
            yield (*path, "pooled"), f"is true, but the last level is {shown(levels[-1])}"
        if variable.get("numeric") and not _are_two_numbers(variable):
            yield (*path, "numeric"), "is true, but the levels are not two numbers in order"


def _are_two_numbers(variable: Record) -> bool:
    """Tell whether a variable is a category whose levels are two numbers in order."""
    levels = variable["levels"]
    numbers = [n for text in levels if (n := parse_number(text)) is not None]
    spelled = [level_text(number) for number in numbers] == list(levels)
    whole = variable["kind"] == "category" and not variable["pooled"] and spelled
    return whole and len(numbers) == 2 and numbers[0] < numbers[1]


def _twice(names: list[str], path: Path) -> Faults:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            yield path, f"holds {shown(name)} twice"
        seen.add(name)


def _labels(document: Record) -> Faults:
    two_classes, loss = document["task"] == "binary", document["loss"]
    if (loss["name"] == BINOMIAL.name) != two_classes:
        yield ("loss", "name"), f"does not go with the task '{document['task']}'"
    if document["scores"] != 1:
        yield ("scores",), f"is {document['scores']}, the task '{document['task']}' has one"
    if loss["name"] not in LOSSES:
        yield ("loss", "name"), f"does not go with the task '{document['task']}'"
    if loss["link"] != LOSSES[loss["name"]].link:
        yield ("loss", "link"), f"is '{loss['link']}', that of '{loss['name']}' is another"
    if ("power" in loss) != (loss["name"] == TWEEDIE.name):
        yield ("loss",), "must have a 'power' where its name is 'tweedie', and only there"
    if ("classes" in document["target"]) != two_classes:
        yield ("target",), f"does not go with the task '{document['task']}'"
    if document["task"] == SurvivalTarget.task:
        yield from _times(document)
        return
    if not two_classes:
        yield from _number(document)
        return
    first, second = document["target"]["classes"]
    alike = type(first) is type(second)
    if not alike or not first < second:
        rule = "differ, in order" if alike else "be of one type"
        yield ("target", "classes"), f"are {shown(first)} and {shown(second)}; they must {rule}"


def _number(document: Record) -> Faults:
    """A Tweedie loss has its power between 1 and 2, and squared error no exposure.

    Logarithms are of sums and means that are not negative, so nothing was taken from the target.
    """
    power = document["loss"].get("power", 1.5)
    if not 1.0 < power < 2.0 or power != round(power, 6):
        yield ("loss", "power"), f"is {shown(power)}; it must lie between 1 and 2, six decimals"
    exposure = document["target"]["exposure"]
    if document["loss"]["link"] == "identity":
        if exposure is not None:
            yield ("target", "exposure"), f"is {shown(exposure)}; squared error has none"
        beside = document["target"]["offset"] is not None or document["target"]["total"] < 0
        if "least" in document["target"] and beside:
            yield ("target", "least"), "does not go with an offset, or a total below 0"
        return
    if "least" in document["target"]:
        yield ("target", "least"), "is for squared error: a logarithm has no numbers below 0"
    if document["target"]["units"]["centre"] != 0:
        yield ("target", "units", "centre"), "is not 0, which the logarithm of a mean asks for"
    if document["target"]["total"] < 0:
        yield ("target", "total"), "is negative, but the loss is of numbers that are not"


def _times(document: Record) -> Faults:
    """Baselines rise, one for each stratum, and the grid of discrete hazards holds their times."""
    target, path = document["target"], ("target", "baseline")
    if document["loss"]["name"] not in LOSSES_OF_TIMES:
        yield ("loss", "name"), f"does not go with the task '{document['task']}'"
    if (document["loss"]["name"] == DISCRETE.name) != (target.get("ties") == GROUPED):
        yield ("target", "ties"), f"is '{target['ties']}', which the loss has not"
    if (target["ties"] == GROUPED) != bool(target["grid"]):
        yield ("target", "grid"), "is there for discrete hazards, and for these alone"
    if any(high <= low for low, high in pairwise(target["grid"])):
        yield ("target", "grid"), "does not rise"
    yield from _twice([shown(label) for label in target["strata"]], ("target", "strata"))
    if len(target["baseline"]) != max(1, len(target["strata"])):
        yield path, "has not one entry for each stratum"
    for number, steps in enumerate(target["baseline"]):
        times, hazard = steps["times"], steps["hazard"]
        rising = all(low < high for low, high in pairwise(times))
        if len(times) != len(hazard) or not times or not rising:
            yield (*path, number), "has not one hazard for each of its times, which rise"
        if any(high < low for low, high in pairwise(hazard)):
            yield (*path, number, "hazard"), "falls"
        if times and steps["end"] < times[-1]:
            yield (*path, number, "end"), "is before the last of the times"
    if "status" in target:
        yield from _status(target["status"], ("target", "status"))


def _status(status: Record, path: Path) -> Faults:
    """Causes are of one type, different and in order, and the value of no event is none of them."""
    causes, none = status["causes"], status["censored"]
    alike = len({type(label) for label in (none, status["cause"], *causes)}) == 1
    if not alike or any(not low < high for low, high in pairwise(causes)):
        yield (*path, "causes"), "must be of one type, also `censored`; different, and in order"
    if status["cause"] not in causes:
        yield (*path, "cause"), f"is {shown(status['cause'])}, none of the causes"
    if none in causes:
        yield (*path, "censored"), f"is {shown(none)}, one of the causes"


def _components(document: Record, variables: Record) -> Faults:
    names: set[str] = set()
    for number, component in enumerate(document["components"]):
        path: Path = ("components", number)
        parts: list[tuple[Record, Path]] = [
            (part, (*path, kind, i))
            for kind in ("trees", "direct")
            for i, part in enumerate(component[kind])
        ]
        for part, where in [(component, path), *parts]:
            if part["name"] in names:
                yield (*where, "name"), f"is '{part['name']}', as another part's"
            names.add(part["name"])
        for part, where in parts:
            rule = _tree if "root" in part else _direct
            yield from rule(part, where, document, variables)
        read = {source for part, _ in parts for source in _sources(part)}
        if component["sources"] != sorted(read):
            yield (*path, "sources"), f"must be what the component reads, {_names(read)}"


def _names(names: set[str]) -> str:
    return f"[{', '.join(shown(name) for name in sorted(names)[:10])}]"


def _sources(part: Record) -> set[str]:
    nodes = [node for node, _ in _nodes(part["root"], ())] if "root" in part else [{"if": part}]
    tests = [node["if"] for node in nodes if "if" in node]
    return {source for test in tests for source in column_from_dict(test["column"]).sources}


def _nodes(root: Record, path: Path) -> Iterator[tuple[Record, Path]]:
    """Yield each node of a tree with its place, the `yes` side first."""
    stack = [(root, path)]
    while stack:
        node, at = stack.pop()
        yield node, at
        if "if" in node:
            stack += [(node[side], (*at, side)) for side in ("no", "yes")]


def _tree(tree: Record, path: Path, document: Record, variables: Record) -> Faults:
    root, leaves, settings = (*path, "root"), tree["leaves"], document["settings"]
    nodes = list(_nodes(tree["root"], root))
    for split, at in [(node["if"], (*at, "if")) for node, at in nodes if "if" in node]:
        yield from _column(split["column"], (*at, "column"), variables)
        numeric = not column_from_dict(split["column"]).binary
        if numeric != ("at_most" in split):
            word = "lacks its threshold 'at_most'" if numeric else "has a threshold on a 0/1 column"
            yield at, word
    found = [(node["leaf"], at) for node, at in nodes if "leaf" in node]
    for expected, (number, at) in enumerate(found):
        if number != expected:
            yield (*at, "leaf"), f"is {shown(number)}; leaves count up in order, here {expected}"
        if len(at) - len(root) > settings["max_depth"]:
            yield at, f"is deeper than settings.max_depth, {settings['max_depth']}"
    if len(found) != len(leaves):
        yield (*path, "leaves"), f"describes {len(leaves)} leaves, the tree has {len(found)}"
    if len(leaves) > settings["max_leaves"]:
        yield (*path, "leaves"), f"are {len(leaves)}, settings.max_leaves {settings['max_leaves']}"
    for number, leaf in enumerate(leaves):
        yield from _counts(leaf, (*path, "leaves", number), document)


def _direct(term: Record, path: Path, document: Record, variables: Record) -> Faults:
    yield from _column(term["column"], (*path, "column"), variables)
    yield from _counts(term, path, document)
    if term["centre"] != 0 and not column_from_dict(term["column"]).centred:
        what = "a 0/1 column, a hinge or a product with one"
        yield (*path, "centre"), f"is {shown(term['centre'])}; that of {what} is 0"


def _counts(part: Record, path: Path, document: Record) -> Faults:
    rows, two_classes = document["training"]["rows"], document["task"] == "binary"
    unit = document["target"].get("units", {"weight": 1.0})["weight"]
    if part["support"] > unit * rows * (1 + TOLERANCE):
        yield (*path, "support"), f"is {part['support']:g}, training.rows only {rows:g}"
    total, support = part["target_total"], part["support"]
    if document["loss"]["link"] != "identity" and total < 0:
        yield (*path, "target_total"), f"is {total:g}; it must be at least 0"
    counts_events = two_classes or document["task"] == SurvivalTarget.task
    if counts_events and total > support + rows * TOLERANCE:
        yield (*path, "target_total"), f"is {total:g}, the support only {support:g}"


def _column(column: Record, path: Path, variables: Record) -> Faults:
    if "source" not in column:
        left, right = column["left"], column["right"]
        for side in ("left", "right"):
            yield from _column(column[side], (*path, side), variables)
        if left["source"] == right["source"]:
            yield path, f"reads {shown(left['source'])} twice; it needs two variables"
        if column["kind"] == "pair":
            yield from _parts(column, path)
        return
    variable = variables.get(column["source"])
    if variable is None:
        yield (*path, "source"), f"is {shown(column['source'])}, no variable of the schema"
        return
    if column["kind"] not in ("level", "missing") and variable["kind"] != "number":
        yield (*path, "source"), f"is {shown(column['source'])}, a category; it must be a number"
    if column["kind"] == "level":
        yield from _twice(column["levels"], (*path, "levels"))
        for number, level in enumerate(column["levels"]):
            if level not in variable["levels"]:
                where = (*path, "levels", number)
                yield where, f"is {shown(level)}, no level of {shown(variable['name'])}"
    if column["kind"] == "scale":
        yield from _formula(column, path)
    low, high = column.get("low"), column.get("high")
    if low is not None and high is not None and not low < high:
        yield (*path, "high"), f"is {shown(high)}, not above low, {shown(low)}"
    if "end" in column:
        side, knot, end = column["side"], column["knot"], column["end"]
        if end == knot or (end > knot) != (side == "above"):
            yield (*path, "end"), f"is {shown(end)}, not {side} the knot, {shown(knot)}"


def _parts(pair: Record, path: Path) -> Faults:
    """A 0/1 column may only be multiplied, and only with a number."""
    binary = [side for side in ("left", "right") if column_from_dict(pair[side]).binary]
    if len(binary) == 2:
        yield path, "is a pair of two 0/1 columns; those make a pattern"
    elif binary and pair["operation"] != "product":
        found, needs = shown(pair[binary[0]]["kind"]), f"'{pair['operation']}' needs numbers"
        fault = f"is {found}; {needs}, a 0/1 column can be multiplied only"
        yield (*path, binary[0], "kind"), fault


def _formula(column: Record, path: Path) -> Faults:
    formula = column["formula"]
    needed = (LIMITED if "high" in column else FORMULAS)[formula]
    for name in ("low", "high", "centre"):
        if (name in column) != (name in needed):
            word = f"lacks '{name}'" if name in needed else f"has '{name}'"
            yield path, f"{word}; the formula '{formula}' has the numbers {list(needed)}"
    if formula == "log" and column["low"] <= 0:
        yield (*path, "low"), f"is {shown(column['low'])}; that of a logarithm must be above 0"
    if formula == "sqrt" and column["low"] < 0:
        yield (*path, "low"), f"is {shown(column['low'])}; that of a square root must be at least 0"
    centre = column.get("centre")
    if centre is not None and not column.get("low", centre) <= centre <= column.get("high", centre):
        yield (*path, "centre"), f"is {shown(centre)}, not between low and high"


def _settings(document: Record, variables: Record) -> Faults:
    settings, limits = document["settings"], document["settings"]["limits"]
    if document["ownership"] != settings["ownership"]:
        stated = settings["ownership"]
        yield ("ownership",), f"is '{document['ownership']}', settings.ownership '{stated}'"
    sets = [name for names in limits["interactions"] or () for name in names]
    for limit in ("monotone", "linear_only", "interactions", "penalty"):
        for name in sets if limit == "interactions" else limits[limit]:
            if name not in variables:
                path = ("settings", "limits", limit)
                yield path, f"names {shown(name)}, no variable of the schema"
    for name, said in limits["monotone"].items():
        if not isinstance(said, str):
            yield (
                ("settings", "limits", "monotone", name),
                "names classes, but the model has one score",
            )
    for limit in ("monotone", "linear_only"):
        for name in limits[limit]:
            if variables[name]["kind"] != "number":
                yield ("settings", "limits", limit), f"names {shown(name)}, a category"


def _training(document: Record) -> Faults:
    training, reassign = document["training"], document["settings"]["reassign"]
    two_classes, number = document["task"] == "binary", document["task"] == "regression"
    if not number and document["target"]["total"] > training["rows"] * (1 + TOLERANCE):
        yield ("target", "total"), "is more than training.rows"
    if two_classes != ("class_factors" in training):
        yield ("training",), "must have 'class_factors' for two classes, and for these alone"
    for field in ("objective", "selection"):
        withdrawn = field == "objective" and reassign and "ledger" in document
        if (training[field] is not None) != reassign and not withdrawn:
            yield ("training", field), f"does not go with settings.reassign {reassign}"
    if "cross_validation" in training and "ledger" in document:
        yield ("training", "cross_validation"), "is of the fit, which the ledger says was edited"
    if any(isinstance(mean, list) for mean in training["mean_contributions"].values()):
        yield ("training", "mean_contributions"), "must hold numbers: the model has one score"
    figures = training.get("cross_validation")
    if figures is not None and not FIGURES[document["task"]] <= set(figures):
        yield (
            ("training", "cross_validation"),
            f"is not of the task '{document['task']}'",
        )
    yield from _calibration(document)
    yield from _ledger(document)
    parts = {p["name"] for c in document["components"] for p in (*c["trees"], *c["direct"])}
    if strange := parts ^ set(training["mean_contributions"]):
        path = ("training", "mean_contributions")
        yield path, f"must name every tree and direct term once; see {_names(strange)}"
    sources = {source for component in document["components"] for source in component["sources"]}
    if strange := sources ^ set(training.get("importances", sources)):
        path = ("training", "importances")
        yield path, f"must name every variable that is read once; see {_names(strange)}"
    yield from _ties(document)


def _calibration(document: Record) -> Faults:
    """Scores and weights of calibration rows are in order, of a number, and of the fit."""
    record, path = document["training"].get("calibration"), ("training", "calibration")
    if record is None:
        return
    if document["task"] != "regression":
        yield path, "is for models of a number"
    if "ledger" in document:
        yield path, "is of the fit, which the ledger says was edited"
    scores, up_to = record["scores"], record["up_to"]
    if len(scores) != len(up_to) or up_to[-1] != record["total"]:
        yield (*path, "up_to"), "must have one number for each of the scores, the last the total"
    for name in ("scores", "up_to"):
        if any(a > b for a, b in pairwise(record[name])):
            yield (*path, name), "must be in order, the smallest first"
    at = [each["prediction"] for each in record.get("errors", ())]
    if any(not a < b for a, b in pairwise(at)):
        yield (*path, "errors"), "must be in order of their predictions, the smallest first"
    if at and document["loss"]["link"] == "log" and at[0] <= 0:
        yield (*path, "errors"), "must be of predictions above 0, as the mean is under a logarithm"


def _ledger(document: Record) -> Faults:
    for number, entry in enumerate(document.get("ledger", ())):
        for when in ("before", "after"):
            figures, path = entry[when]["metrics"], ("ledger", number, when)
            if isinstance(entry[when]["intercept"], list):
                yield (*path, "intercept"), "must be a number: the model has one score"
            if figures is not None and not FIGURES[document["task"]] <= set(figures):
                yield (*path, "metrics"), f"are not of the task '{document['task']}'"


def _ties(document: Record) -> Faults:
    leaves = {
        f"{tree['name']}.L{number + 1}": (tree["name"], leaf["coefficient"])
        for component in document["components"]
        for tree in component["trees"]
        for number, leaf in enumerate(tree["leaves"])
    }
    seen: set[str] = set()
    for number, names in enumerate(document["training"]["ties"]):
        path: Path = ("training", "ties", number)
        for name in names:
            if name not in leaves or name in seen:
                yield path, f"names {shown(name)}, no leaf or one named before"
                return
            seen.add(name)
        if len({leaves[name] for name in names}) > 1 or leaves[names[0]][1] == 0:
            yield path, "must name leaves of one tree that share one coefficient, not 0"


def _data(document: Record) -> Faults:
    data, training = document["data"], document["training"]
    if abs(data["rows"] - training["rows"]) > TOLERANCE * training["rows"]:
        yield ("data", "rows"), f"is {data['rows']:g}, training.rows {training['rows']:g}"
    if (data["sha256"] is None) != (data["distinct_rows"] is None):
        yield ("data", "sha256"), "and data.distinct_rows must both be null, or neither"
    if (data["distinct_rows"] or 0) > training["distinct_rows"]:
        yield ("data", "distinct_rows"), "is more than training.distinct_rows"
    profile = data["profile"]
    if (profile is None) != (document["settings"]["profile"] == "none"):
        yield ("data", "profile"), "does not go with settings.profile"
    if profile is not None:
        yield from _profile(profile, document["schema"]["variables"])


def _profile(profile: list[Any], variables: list[Any]) -> Faults:
    path: Path = ("data", "profile")
    if len(profile) != len(variables):
        yield path, f"has {len(profile)} columns, the schema {len(variables)}"
        return
    for number, (column, variable) in enumerate(zip(profile, variables, strict=True)):
        if (column["name"], column["kind"]) != (variable["name"], variable["kind"]):
            yield (*path, number), f"is not of the variable {shown(variable['name'])}"
        if set(column["levels"]) != set(variable["levels"]):
            yield (*path, number, "levels"), "are not those of the schema"
        for key, once in (("equal_parts", False), ("values", True)):
            numbers = column.get(key) or []
            if numbers and column["kind"] != "number":
                yield (*path, number, key), "goes with a number only"
            if numbers != sorted(set(numbers) if once else numbers):
                yield (*path, number, key), "is not in order"
