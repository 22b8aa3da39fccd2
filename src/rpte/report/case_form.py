"""A case to try in the page: what its form asks for, and the code that scores it.

The code is the JavaScript export of the model, so that the page, `rpte export` and `Model.score`
are one definition. What the form needs beside it is plain values: a control for each variable that
the model reads, the words of the terms, and what a score stands for.
"""

import math
from collections.abc import Sequence

from rpte.errors import InputError
from rpte.export.code.javascript import write
from rpte.export.form import Form, Horizon
from rpte.export.inputs import CategoryInput, Input
from rpte.export.lower import codes_of, make_form
from rpte.figures.effect import Record
from rpte.figures.grid import corners, covered
from rpte.model.classes import ClassesModel
from rpte.model.effect import Background
from rpte.model.grid import centres
from rpte.model.model import Model
from rpte.model.parts import DirectTerm, TreeTerms, path_text
from rpte.model.target import NumberTarget
from rpte.report.evidence import AnyModel
from rpte.report.survival_performance import target_of
from rpte.table.spelling import named_levels

LARGEST = 400_000  # characters of code in a page
SLIDER_STEPS = 100  # at least, along the range of a number
UNSEEN = "a level not seen in training"


def case_form(
    model: AnyModel,
    rows: Background | None,
    profile: Sequence[Record],
    order: Sequence[str],
    horizons: Sequence[float] = (),
) -> Record:
    """Return the form and its code, or why there is none (`refused`).

    `profile` is what the data section tells of the variables, `order` how controls are sorted.
    """
    try:
        form = _form(model, horizons)
    except InputError as error:
        return {"refused": str(error)}
    code = write(form, {})
    if len(code) > LARGEST:
        size = f"{len(code):,} characters, more than the {LARGEST:,} that a page has room for"
        return {"refused": f"the code of the model has {size}"}
    known = {v["name"]: v["here"] or v["training"] or {} for v in profile}
    inputs = {given.name: given for given in form.inputs}
    names = [name for name in order if name in inputs]
    names += [name for name in inputs if name not in names]
    controls = [_control(model.outline, inputs[name], known.get(name, {}), rows) for name in names]
    return {
        "refused": None,
        "code": code,
        "controls": controls,
        "components": _components(model),
        **_meaning(model, form),
    }


def _form(model: AnyModel, horizons: Sequence[float]) -> Form:
    """Return the form of a model; survival in many strata is left out where it is too much."""
    try:
        return make_form(model, {"horizons": list(horizons)})
    except InputError:
        if not horizons:
            raise
        return make_form(model)


def _control(model: Model, given: Input, known: Record, rows: Background | None) -> Record:
    variable = model.schema[given.name]
    if variable.kind == "category":
        counts, levels = known.get("levels") or {}, named_levels(variable)
        numbers = {k: n for k, n in counts.items() if k in levels and not isinstance(n, str)}
        most = max(numbers, key=lambda level: numbers[level], default=None)
        start = most if most is not None else next(iter(levels), None)
        return {
            "name": given.name,
            "kind": "category",
            "levels": list(levels),
            "unseen": _unseen(given, levels),
            "pooled": variable.pooled,
            "start": start,
        }
    cells = codes_of(variable.levels, variable)[: len(variable.levels)]
    codes = [{"text": text, "cell": c} for text, c in zip(variable.levels, cells, strict=True)]
    ends = _range(model, given.name, known, rows)
    return {"name": given.name, "kind": "number", "codes": codes, **ends}


def _unseen(given: Input, levels: Sequence[str]) -> str:
    """Return a text that is no level of the category; one that is a number if all levels are."""
    if not isinstance(given, CategoryInput):
        return str(int(levels[-1]) + 1)
    text, taken = UNSEEN, {given.form(level) for level in given.levels}
    while text in taken:
        text += "'"
    return text


def _range(model: Model, source: str, known: Record, rows: Background | None) -> Record:
    """Return the ends, the step and the start of a slider: as curves are drawn, from the median."""
    component = next(c for c in model.components if source in c.sources)
    low, high = covered(model, source, corners(component, source), rows)
    if low == high:
        low, high = low - 1.0, high + 1.0
    told = known.get("values") or [q for q in known.get("quantiles") or [] if q is not None]
    middle = (known.get("quantiles") or [None] * 5)[2]
    step = 10.0 ** math.floor(math.log10((high - low) / SLIDER_STEPS))
    whole = bool(told) and all(float(q).is_integer() for q in told) and high - low >= 2.0
    step = max(step, 1.0) if whole else step
    if middle is None:
        middle = next(iter(centres(component, source)), (low + high) / 2)
    return {
        "low": math.floor(low / step) * step,
        "high": math.ceil(high / step) * step,
        "step": step,
        "start": float(f"{middle:.4g}"),
    }


def _components(model: AnyModel) -> list[Record]:
    """Return the words of every part; of a tree each leaf with its coefficient in every score."""
    return [
        {
            "name": same[0].name,
            "sources": list(same[0].sources),
            "parts": [_part(model, each) for each in zip(*(c.parts for c in same), strict=True)],
        }
        for same in zip(*(one.components for one in model.models), strict=True)
    ]


def _part(model: AnyModel, same: Sequence[TreeTerms | DirectTerm]) -> Record:
    first = same[0]
    if isinstance(first, DirectTerm):
        return {"name": first.name, "text": first.text}
    trees = [part for part in same if isinstance(part, TreeTerms)]
    leaves = [
        {
            "text": path_text(path, model.schema),
            "values": [tree.leaves[number].coefficient for tree in trees],
        }
        for number, path, _ in first.rules()
    ]
    return {"name": first.name, "text": f"tree over {', '.join(first.sources)}", "leaves": leaves}


def _meaning(model: AnyModel, form: Form) -> Record:
    """Return what scores stand for."""
    if isinstance(model, ClassesModel):
        classes = [str(label) for label in model.classes]
        return {"classes": classes, "intercepts": list(model.intercepts), "response": "probability"}
    target = model.target
    found: Record = {
        "classes": [],
        "intercepts": [model.intercept],
        "unit": target.score_unit,
        "response": {"binary": "probability", "regression": "mean"}.get(model.task, "hazard_ratio"),
        "response_text": target.response_text,
        "survival": [_at(model, at) for at in form.horizons],
    }
    if isinstance(target, NumberTarget):
        found |= {"exposure": target.exposure, "offset": target.offset, "log": target.multiplies}
    return found


def _at(model: Model, at: Horizon) -> Record:
    stratum = None if at.stratum is None else str(at.stratum)
    return {"name": at.name, "text": target_of(model).when(at.time), "stratum": stratum}
