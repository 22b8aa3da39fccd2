"""What a reader sees first: which variables move predictions most, and the strongest effects."""

from collections.abc import Sequence

import numpy as np

from rpte.model.classes import ClassesModel
from rpte.model.effect import Background
from rpte.model.model import Model
from rpte.report.curves import Record
from rpte.report.evidence import AnyModel

STRONGEST = 4  # effects that are drawn on the first screen


def glance(model: AnyModel, rows: Background | None, cards: Sequence[Record]) -> Record:
    """Return how far each variable moves the score, and which of those drawn move it most."""
    found = importance(model, rows)
    drawn = [shape["source"] for card in cards for shape in card["shapes"]]
    places = {record["source"]: n for n, record in enumerate(found or ())}
    ordered = sorted(drawn, key=lambda source: places.get(source, 0))
    return {"importance": found, "strongest": ordered[:STRONGEST]}


def importance(model: AnyModel, rows: Background | None) -> list[Record] | None:
    """Return by variable the mean absolute contribution over the rows, largest first.

    What a term adds is counted from its mean over the rows; a term of two variables or a tree
    counts for each of those that it reads, in equal parts. None without rows.
    """
    if rows is None:
        return None
    models: Sequence[Model] = model.models if isinstance(model, ClassesModel) else (model,)
    sizes = dict.fromkeys(model.sources, 0.0)
    for each in models:
        moved = {source: np.zeros(len(rows.weight)) for source in each.sources}
        for component in each.components:
            for part in component.parts:
                added = part.contribution(rows.inputs)
                added = (added - rows.mean(added)) / len(part.sources)
                for source in part.sources:
                    moved[source] += added
        for source, total in moved.items():
            sizes[source] += float(rows.mean(np.abs(total))) / len(models)
    ordered = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    return [{"source": source, "value": value} for source, value in ordered]
