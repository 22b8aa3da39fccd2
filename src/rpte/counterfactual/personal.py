"""Names of variables that say who a person is: nobody is told to change them.

A name is split into words at signs, spaces, digits and capitals (``ageAtLoan``, ``AGE_AT_LOAN`` and
``age at loan`` hold the word age, ``mileage`` does not); upper and lower case are the same.
"""

from __future__ import annotations

import re

AGE = {"age", "birth", "birthday", "birthdate", "birthyear", "born", "dob"}
SEX = {"sex", "gender", "male", "female"}
ORIGIN = {"race", "ethnicity", "ethnic", "nationality", "citizenship", "native", "religion"}
WORDS = frozenset(AGE | SEX | ORIGIN | {"marital", "married", "disability"})
CAPITALS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
LETTERS = re.compile(r"[^\W\d_]+")


def is_personal(name: str) -> bool:
    """Tell whether a name holds one of `WORDS`.

    Examples
    --------
    >>> [is_personal(name) for name in ("Age", "date_of_birth", "sexMale", "mileage", "Average")]
    [True, True, True, False, False]
    """
    words = LETTERS.findall(CAPITALS.sub(" ", name))
    return any(word.lower() in WORDS for word in words)
