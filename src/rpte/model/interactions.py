"""What the model file says of variables that interact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rpte.errors import InputError

if TYPE_CHECKING:
    from rpte.model.classes import ClassesModel
    from rpte.model.model import Model

Row = tuple[str, str, float, float, int]


def interaction_rows(model: Model | ClassesModel) -> list[Row]:
    """Return each pair that joined a group: its names, gain, the gain of chance, and the group.

    Raises
    ------
    InputError
        Where the fit did not look for groups.
    """
    found = (model.training.get("selection") or {}).get("interactions")
    if found is None:
        raise InputError(
            "the fit did not look for variables that interact: it does so with shapes='one' and "
            "l1='cv', the defaults"
        )
    numbers = {name: n for n, group in enumerate(found["groups"], 1) for name in group}
    return [
        (*pair["variables"], pair["gain"], pair["threshold"], numbers[pair["variables"][0]])
        for pair in found["evidence"]
    ]
