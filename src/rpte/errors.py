"""The errors and the warning that are ours.

Each message states the value, the rule it breaks and what to do about it.
"""

import sys
import warnings
from collections.abc import Iterable
from difflib import get_close_matches

INNER = ("rpte", "sklearn", "joblib", "contextlib", "functools")  # whose frames are no user's


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
    """Something in the data or the settings deserves a look; the answer is still exact.

    Examples
    --------
    >>> import rpte, warnings
    >>> X = {"colour": ["red", "blue"] * 20}
    >>> model = rpte.RPTEClassifier(l1="4/n").fit(X, [0, 1] * 20).model_
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always", rpte.RPTEWarning)
    ...     _ = model.score({"colour": ["green"]})
    >>> str(told[0].message).partition(";")[0]
    "column 'colour': 1 of 1 cells hold a level that training did not have: 'green' (1)"
    """


def warn(text: str) -> None:
    """Give an `RPTEWarning` that names the line of the user which led to it.

    That is the first frame that is not of this library, nor of what wraps its methods.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in INNER:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, RPTEWarning, stacklevel=level)


class InputError(ValueError):
    """A table, a label or a setting breaks a rule.

    Examples
    --------
    >>> import rpte
    >>> try:
    ...     rpte.RPTEClassifier(ownership="loose").fit([[0.0], [1.0]], [0, 1])
    ... except rpte.InputError as error:
    ...     print(error)
    ownership='loose'; it must be one of ['component', 'strict', 'separate', 'paper']
    """


class NotForTask(InputError, AttributeError):  # noqa: N818  # as an attribute that is not there
    """A model has no such method or field, because of what it predicts; the message says why."""


class CellError(InputError):
    """A cell breaks a rule; who reads rows in blocks says where it stands among all."""

    def __init__(
        self, text: str, name: str = "", row: int = 0, what: str = "", rule: str = ""
    ) -> None:
        super().__init__(text)
        self.name, self.row, self.what, self.rule = name, row, what, rule

    def at(self, name: str, place: str) -> InputError:
        """Return the error with a name and a place that users know."""
        return InputError(f"{name} {self.what} in {place}; {self.rule}")


def bad_cell(
    name: str, row: int, what: str, rule: str, count: int = 1, text: str | None = None
) -> CellError:
    """Return the error of a cell; ``{rows}`` in the rule is how many break it, as far as known.

    Examples
    --------
    >>> error = bad_cell("y", 3, "is -1.0", "correct or drop {rows}", 2)
    >>> str(error)
    'y[3] is -1.0; correct or drop 2 row(s)'
    >>> str(error.at("claims", "row 7 of b.parquet"))
    'claims is -1.0 in row 7 of b.parquet; correct or drop such rows'
    """
    text = text or f"{name}[{row}] {what}; {rule}".replace("{rows}", f"{count} row(s)")
    return CellError(text, name, row, what, rule.replace("{rows}", "such rows"))


class Cancelled(Exception):  # noqa: N818  # no error: the caller wanted it
    """A fit was cancelled by its `progress` callback; the classifier is as it was before.

    Examples
    --------
    >>> import rpte
    >>> def stop(now):
    ...     return False
    >>> try:
    ...     rpte.RPTEClassifier().fit([[0.0], [1.0]] * 20, [0, 1] * 20, progress=stop)
    ... except rpte.Cancelled as told:
    ...     print(told)
    the fit was cancelled while reading the table; nothing was changed
    """


class ModelFileError(ValueError):
    """A model file is not one that this library wrote, or has been changed since.

    Examples
    --------
    >>> import rpte, tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.json"
    ...     _ = path.write_text("{}")
    ...     try:
    ...         rpte.load(path)
    ...     except rpte.ModelFileError as error:
    ...         print(type(error).__name__)
    ModelFileError
    """
