"""What the picture of an effect shows, in words: whole or own terms alone, averaged over what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rpte.report.numbers import count, signed

BAND = "nine tenths of the rows lie in the band, or on the line across a bar"
MOST_LEVELS = 30  # of one variable that are drawn


def effect_title(shape: Mapping[str, Any]) -> str:
    """Return the title of the picture of one of `curves.shapes`."""
    whole = shape["alone"] or shape["averaged"] is not None
    return f"What {'' if whole else 'the own terms of '}{shape['source']} add{'s' * whole}"


def effect_note(shape: Mapping[str, Any]) -> str:
    """Return the caption of one of `curves.shapes`."""
    own, shared = terms_text(shape["terms"], "own terms"), terms_text(shape["shared"])
    others, gone = names_text(shape["others"]), _missing(shape) + levels_note(shape)
    if shape["alone"]:
        return f"{own}{gone}"
    if shape["averaged"] is None:
        return (
            f"{own}. Not its whole effect: it also acts with {others} in {shared}, which only rows "
            f"can average; give a table{gone}"
        )
    over = averaged_text(shape["averaged"])
    if not own:
        return f"whole effect: {shared}, with {others}, over {over}{gone}"
    return f"whole effect: {own} and {shared} with {others}, over {over}; thin: {own} alone{gone}"


def levels_note(shape: Mapping[str, Any]) -> str:
    """Say that not all levels are drawn, where they are too many."""
    levels = len(shape["levels"])
    return f"; the {MOST_LEVELS} strongest of {levels} levels" if levels > MOST_LEVELS else ""


def drawn_levels(shape: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the levels that are drawn: all, or the strongest where they are many, in order."""
    rows = shape["levels"]
    size = [abs(row["own"] if row["whole"] is None else row["whole"]) for row in rows]
    strongest = sorted(range(len(rows)), key=lambda place: -size[place])[:MOST_LEVELS]
    return [rows[place] for place in sorted(strongest)]


def joint_note(surface: Mapping[str, Any]) -> str:
    """Return the caption of one of `surfaces.surfaces`."""
    own, shared = terms_text(surface["terms"]), terms_text(surface["shared"])
    if not surface["shared"]:
        return f"all that reads them: {own}"
    others = names_text(surface["others"])
    if surface["averaged"] is None:
        return f"{own}; not {shared} with {others}, which only rows can average"
    over = averaged_text(surface["averaged"])
    return f"all that reads them: {own}, and {shared} with {others}, over {over}"


def averaged_text(averaged: Mapping[str, Any]) -> str:
    """Say which rows an effect is averaged over."""
    if averaged["sampled"]:
        return f"{count(averaged['rows'])} of {count(averaged['table_rows'])} rows"
    return f"{count(averaged['rows'])} rows"


def terms_text(names: Sequence[str], many: str = "terms") -> str:
    """Name some terms, or say their number where they are many."""
    if len(names) > 4:
        return f"{len(names)} {many}"
    return " + ".join(names)


def names_text(names: Sequence[str]) -> str:
    """Return names as a person lists them."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _missing(shape: Mapping[str, Any]) -> str:
    """Say what a number adds where it is missing; a category has a bar for it."""
    if shape["kind"] != "number":
        return ""
    gone = [row for row in shape["levels"] if row["level"] is None]
    values = [row["own"] if row["whole"] is None else row["whole"] for row in gone]
    return f"; missing adds {signed(values[0], 3)}" if values else ""
