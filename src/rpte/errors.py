"""The errors and the warning that are ours.

Each message states the value, the rule it breaks and what to do about it.
"""


class RPTEWarning(UserWarning):
    """Something in the data or the settings deserves a look; the answer is still exact."""


class InputError(ValueError):
    """A table, a label or a setting breaks a rule."""


class ModelFileError(ValueError):
    """A model file is not one that this library wrote, or has been changed since."""
