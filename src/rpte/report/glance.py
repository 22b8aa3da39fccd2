"""What a reader sees first: which variables move predictions most, and the strongest effects."""

from collections.abc import Sequence

from rpte.figures.effect import Record
from rpte.model.effect import Background
from rpte.model.importance import RECORD, importance_rows, importances, measured_importances
from rpte.report.evidence import AnyModel

STRONGEST = 4  # effects that are drawn on the first screen


def glance(model: AnyModel, rows: Background | None, cards: Sequence[Record]) -> Record:
    """Return how far each variable moves the score, and which of those drawn move it most.

    `over` says where that was measured: "training" if the model file tells it, "table" if the rows
    of the table had to, None (and no importances) if there are none.
    """
    stored = set(model.training.get(RECORD) or ()) == set(model.sources)
    over = "training" if stored else None if rows is None else "table"
    found: dict[str, float] = {}
    if over == "training":
        found = importances(model)
    elif rows is not None:
        found = measured_importances(model, rows.inputs, rows.weight)
    ordered = [
        {"source": source, "component": component, "value": value, "share": share}
        for source, component, value, share in importance_rows(model.components, found)
    ]
    drawn = [shape["source"] for card in cards for shape in card["shapes"]]
    strongest = sorted(drawn, key=lambda source: -found.get(source, 0.0))
    return {"over": over, "importance": ordered, "strongest": strongest[:STRONGEST]}
