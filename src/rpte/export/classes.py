"""Several classes in a form: what each weighs, the softmax of their scores, and the class chosen.

The lines are, in this order: the value of each direct term's column and the number of the leaf of
each tree, from 0, which all classes share
(``D1``); of each class the terms whose coefficient is not zero, the subtotals of components that
have such terms, and the score (``D1_setosa``, ``C1_setosa``, ``score_setosa``); the ``largest``
score; of each class exp(score - largest), 0 below exp(-700) (``odds_setosa``); their ``total``; of
each class the probability (``probability_setosa``); the number of the class of the largest score,
counted from 0, the first of several (``chosen``).
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rpte.export.form import Constant, Definition, Form, Line, Node, Operation, apply
from rpte.model.classes import ClassesModel
from rpte.model.labels import Label
from rpte.model.parts import Component, DirectTerm, TreeTerms
from rpte.utils.arrays import Floats

LONGEST_KEY = 30  # some databases have names of 63 bytes
FARTHEST = 700.0  # below the largest score; some targets refuse the exponential of less
CHOSEN = "chosen"


def class_keys(labels: Iterable[Label], kind: str = "class") -> list[str]:
    """Return what names of lines end with, one for each class; they differ in more than case.

    A label without letters and digits is called by its `kind` and place.

    Examples
    --------
    >>> class_keys(["Adelie", "Größe (cm)", "adelie", "-", "3"])
    ['Adelie', 'Grosse_cm', 'adelie_2', 'class_4', '3']
    """
    taken: dict[str, str] = {}
    for place, label in enumerate(labels, 1):
        letters = unicodedata.normalize("NFKD", str(label).replace("ß", "ss"))
        slug = re.sub(r"[^A-Za-z0-9]+", "_", letters.encode("ascii", "ignore").decode())
        slug = slug.strip("_")[:LONGEST_KEY] or f"{kind}_{place}"
        chosen, number = slug, 2
        while chosen.lower() in taken:
            chosen, number = f"{slug}_{number}", number + 1
        taken[chosen.lower()] = chosen
    return list(taken.values())


def class_lines(model: ClassesModel, sources: tuple[str, ...]) -> Iterator[Definition]:
    """Yield the lines of all classes, above which stand the columns; `sources` is what all read."""
    keys = class_keys(model.classes)
    for place, key in enumerate(keys):
        yield from _score(model, place, key, sources)
    scores = [Line(f"score_{key}") for key in keys]
    yield Definition("largest", "largest", apply("max", *scores), sources, "largest score")
    for place, (key, score) in enumerate(zip(keys, scores, strict=True)):
        text = f"odds of {model.classes[place]} against the most probable class"
        yield Definition(f"odds_{key}", "odds", _odds(score), sources, text, place)
    odds = [Line(f"odds_{key}") for key in keys]
    yield Definition("total", "total", apply("sum", *odds), sources, "sum of these odds")
    for place, (key, mine) in enumerate(zip(keys, odds, strict=True)):
        value, text = apply("/", mine, Line("total")), f"probability of {model.classes[place]}"
        yield Definition(f"probability_{key}", "probability", value, sources, text, place)
    yield Definition(CHOSEN, "class", _first(scores), sources, "number of the class, from 0")


def _score(
    model: ClassesModel, place: int, key: str, sources: tuple[str, ...]
) -> Iterator[Definition]:
    """Yield terms, subtotals and score of one class; what is zero is left out."""
    label, subtotals = model.classes[place], []
    for component in model.by_class[place]:
        parts = said_parts(component)
        for part in parts:
            if isinstance(part, DirectTerm):
                value, text = apply("*", Constant(part.coefficient), Line(part.name)), part.text
            else:
                value, text = _leaf(part), f"tree of {', '.join(part.sources)}"
            said = f"{text}, for {label}"
            yield Definition(f"{part.name}_{key}", "term", value, part.sources, said, place)
        if parts:
            total = apply("sum", *(Line(f"{part.name}_{key}") for part in parts))
            name, text = f"{component.name}_{key}", f"{', '.join(component.sources)}, for {label}"
            yield Definition(name, "component", total, component.sources, text, place)
            subtotals.append(Line(name))
    score = apply("sum", Constant(model.intercepts[place]), *subtotals)
    yield Definition(f"score_{key}", "score", score, sources, f"score of {label}", place)


def said_parts(component: Component) -> list[TreeTerms | DirectTerm]:
    """Return the trees and direct terms of a component that say something of its class."""
    trees = [tree for tree in component.trees if any(leaf.coefficient for leaf in tree.leaves)]
    return [*trees, *(term for term in component.direct if term.coefficient != 0.0)]


def _leaf(tree: TreeTerms) -> Operation:
    """Return the coefficient of the leaf whose number the line of a tree has."""
    *others, last = (Constant(leaf.coefficient) for leaf in tree.leaves)
    found: Node = last
    for number in reversed(range(len(others))):
        below = apply("<=", Line(tree.name), Constant(float(number)))
        found = apply("if", below, others[number], found)
    assert isinstance(found, Operation)
    return found


def _odds(score: Line) -> Node:
    """Return exp(score - largest), 0 where it is next to nothing."""
    below = apply("-", score, Line("largest"))
    least = apply("<", below, Constant(-FARTHEST))
    return apply("if", least, Constant(0.0), apply("exp", below))


def _first(scores: Sequence[Line]) -> Node:
    """Return the number of the first of the largest scores."""
    found: Node = Constant(float(len(scores) - 1))
    for place in reversed(range(len(scores) - 1)):
        is_largest = apply(">=", scores[place], Line("largest"))
        found = apply("if", is_largest, Constant(float(place)), found)
    return found


def without_parts(form: Form) -> Form:
    """Return the form of several classes without lines for terms and subtotals, to the last bit.

    Of 50 classes these are thousands, and some engines have room for some hundred.
    """
    parts = {line.name: line.value for line in form.role("term", "component")}

    def whole(node: Node) -> Node:
        match node:
            case Line(name) if name in parts:
                return whole(parts[name])
            case Operation(name, below):
                return apply(name, *map(whole, below))
        return node

    kept = (line for line in form.lines if line.name not in parts)
    return replace(form, lines=tuple(replace(line, value=whole(line.value)) for line in kept))


def class_numbers(form: Form, told: Iterable[Any]) -> Floats:
    """Return the numbers of classes that an export calls by their labels, NaN for any other."""
    places: dict[Any, float] = {}
    for place, label in enumerate(form.classes):
        places |= dict.fromkeys((label, str(label)), float(place))
    return np.array([places.get(label, np.nan) for label in told])


def expected_classes(model: ClassesModel, inputs: Any) -> dict[str, Floats]:
    """Return what the model itself says of some rows, by the names of the lines."""
    keys, lines = class_keys(model.classes), dict[str, Floats]()
    with np.errstate(over="ignore", invalid="ignore"):  # steep slopes of the largest numbers
        score, probability = model.score(inputs), model.response(inputs)
        lines |= {f"score_{key}": score[:, k] for k, key in enumerate(keys)}
        lines |= {f"probability_{key}": probability[:, k] for k, key in enumerate(keys)}
        lines[CHOSEN] = score.argmax(axis=1).astype(np.float64)
        for key, components in zip(keys, model.by_class, strict=True):
            for component in components:
                parts = said_parts(component)
                lines |= {f"{part.name}_{key}": part.contribution(inputs) for part in parts}
                if parts:
                    lines[f"{component.name}_{key}"] = component.subtotal(inputs)
    return lines


def told_apart(form: Form, truth: Mapping[str, Floats], lines: Mapping[str, Floats]) -> Floats:
    """Return by how much the score of the class that an export tells is below the largest.

    By the model's scores or the export's own, whichever is more; it is infinite for another than
    the first of the export's largest scores.
    """
    names = [line.name for line in form.role("score")]
    own = np.array([truth[name] for name in names])
    given = np.array([lines[name] for name in names])
    chosen = lines[CHOSEN]
    with np.errstate(invalid="ignore"):
        place = np.nan_to_num(chosen).astype(np.intp)[None]
        gaps = [
            side.max(axis=0) - np.take_along_axis(side, place, axis=0)[0] for side in (own, given)
        ]
        below = np.where(chosen == truth[CHOSEN], 0.0, np.maximum(*gaps))
        second = (gaps[1] == 0.0) & (chosen != given.argmax(axis=0))
    return np.where(second | np.isnan(chosen), np.inf, below)
