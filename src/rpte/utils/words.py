"""Words inside the names of columns and labels."""

import re

CAPITALS = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
LETTERS = re.compile(r"[^\W\d_]+")


def words_of(name: str) -> list[str]:
    """Split a name at signs, spaces, digits and capitals; the words are in lower case.

    Examples
    --------
    >>> words_of("ageAtLoan"), words_of("DAYS_PAST-DUE2")
    (['age', 'at', 'loan'], ['days', 'past', 'due'])
    """
    return [word.lower() for word in LETTERS.findall(CAPITALS.sub(" ", name))]
