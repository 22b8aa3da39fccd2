"""Which texts an ONNX graph takes for a level or for missing, and which it cannot tell."""

from __future__ import annotations

import re

from rpte.export.form import CategoryInput, Input
from rpte.table.spelling import DECIMAL, TRUTHS, plain_form

# onnxruntime reads None, NaN and pandas' NA in a column of texts as these words.
GAPS = ("", "None", "nan", "<NA>")


def gaps_of(given: Input) -> tuple[str, ...]:
    """Return the texts that stand for missing: none of them a level."""
    return tuple(text for text in GAPS if text not in given.words)


def spellings(given: CategoryInput) -> dict[str, str]:
    """Return texts that are read as a level without being it to the letter."""
    found: dict[str, str] = {}
    for level in (level for level in given.levels if level not in given.doubtful):
        form = given.form(level)
        forms = [form]
        if given.boolean:
            words = [word for word, truth in TRUTHS.items() if truth == form]
            forms = [spelled for w in words for spelled in (w, w.upper(), w.title())]
            forms.append("1.0" if form == "True" else "0.0")
        elif form in given.numeric():
            forms.append(f"{form}0" if "." in form else f"{form}.0")
        found |= dict.fromkeys(forms, level)
    return {text: level for text, level in found.items() if text}


def strange_pattern(given: CategoryInput) -> str:
    """Return what texts look like that may be a level, or none, in another spelling."""
    forms = dict.fromkeys(map(plain_form, given.doubtful))
    patterns = ["(?s: .*|.* )", *(f"(?:{re.escape(form)})" for form in forms)]
    if given.boolean:
        patterns.append("(?i:true|false|t|f)")
    if given.closed:
        patterns.append("(?s:[-+.0-9].*)")
    elif given.boolean or any(DECIMAL.fullmatch(plain_form(level)) for level in given.levels):
        patterns.append(r"-0|-?(0|[1-9][0-9]*)\.([0-9]*0)?")
    return "|".join(patterns)
