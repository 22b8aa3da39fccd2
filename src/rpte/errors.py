"""The errors and the warning that are ours.

Each message states the value, the rule it breaks and what to do about it.
"""

import warnings
from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return a hint at the known name nearest to an unknown one, or nothing.

    Examples
    --------
    >>> did_you_mean("Gendr", ["Age", "Gender"])
    " (did you mean 'Gender'?)"
    """
    lowered = {text.lower(): text for text in known}
    near = get_close_matches(str(name).lower(), list(lowered), n=1)
    return f" (did you mean {lowered[near[0]]!r}?)" if near else ""


class RPTEWarning(UserWarning):
    """Something in the data or the settings deserves a look; the answer is still exact."""


def warn(text: str, stacklevel: int = 3) -> None:
    """Give an `RPTEWarning`, which by default names the caller of who warns."""
    warnings.warn(text, RPTEWarning, stacklevel=stacklevel)


class InputError(ValueError):
    """A table, a label or a setting breaks a rule."""


class Cancelled(Exception):  # noqa: N818  # no error: the caller wanted it
    """A fit was cancelled by its `progress` callback; the classifier is as it was before."""


class ModelFileError(ValueError):
    """A model file is not one that this library wrote, or has been changed since."""
