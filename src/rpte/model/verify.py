"""Every claim of a model as a check with evidence; some need the training table.

The checks themselves: `verify_structure` and `certificate` (from the file alone), `verify_table`
(with rows or the training table) and `verify_derived` (what follows from the training table).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rpte.model.certificate import limit_checks
from rpte.model.check import NOT_CHECKED, Check, Checks
from rpte.model.class_limits import class_limit_checks
from rpte.model.classes import ClassesModel
from rpte.model.file import blamed_on, build, content_hash, read_document
from rpte.model.intervals import calibration_check
from rpte.model.ledger import OPTIMALITY, ledger_checks, withdrawn
from rpte.model.verify_classes import class_checks
from rpte.model.verify_structure import structure_checks
from rpte.model.verify_table import contributions_sum, labelled, one_leaf_per_tree, training_checks

if TYPE_CHECKING:
    from rpte.model.file import AnyModel
    from rpte.model.model import Model

__all__ = ["NOT_CHECKED", "Check", "Checks", "verify", "verify_file"]

NEEDS_ROWS = ("one leaf per tree for each row", "contributions sum to the score")
DERIVED_AGAIN = (
    "mean contributions",
    "variables, thresholds, levels, knots, centres and sides of missing cells",
)


def verify(
    model: AnyModel,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    exposure: Any = None,
    offset: Any = None,
    entry: Any = None,
    strata: Any = None,
) -> Checks:
    """Check a model's claims.

    Parameters
    ----------
    model : Model or ClassesModel
    X : table, optional
        Rows on which contributions are added up again; the training table proves more.
    y : labels, optional
        With the training X: that it is the training table, supports, event rates, that thresholds,
        levels, knots, centres and sides of missing cells follow from it, and the optimality of
        Stage 3. With the rows that prediction intervals were calibrated on: their scores.
    sample_weight, exposure, offset, entry, strata : of the training rows, optional

    Returns
    -------
    Checks
        A list. The last one, "not checked", says what more the training table would prove.
    """
    several = model if isinstance(model, ClassesModel) else None
    checks = [*structure_checks(model), *limit_checks(model.outline)]
    checks += [] if several is None else class_limit_checks(several)
    checks += [*ledger_checks(model), *([] if several is None else class_checks(several))]
    if X is None:
        return Checks([*checks, not_checked(*NEEDS_ROWS, *needs_training(model.outline))])
    inputs = model.read(X)
    checks += [one_leaf_per_tree(model.outline, inputs), contributions_sum(model, inputs)]
    if y is None:
        return Checks([*checks, not_checked(*needs_training(model.outline))])
    rows = labelled(model, inputs, y, sample_weight, exposure, offset, entry, strata)
    given = model.outline, rows, y, sample_weight, exposure, offset
    if (own := calibration_check(*given)) is not None:
        return Checks([*checks, own, not_checked(*needs_training(model.outline))])
    return Checks([*checks, *training_checks(model, rows)])


def needs_training(model: Model) -> tuple[str, ...]:
    """Return the claims that only the training table can prove."""
    claims = ("training table", f"supports and {model.target.mean_name}s", *DERIVED_AGAIN)
    return claims if OPTIMALITY in withdrawn(model) else (*claims, "coefficients (optimality)")


def not_checked(*claims: str) -> Check:
    """Return what says that some claims were not checked, and what they need."""
    evidence = f"{'; '.join(claims)}: give the training X and y (and sample_weight)"
    return Check(NOT_CHECKED, True, evidence, claims)


def verify_file(
    path: str | Path,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    exposure: Any = None,
    offset: Any = None,
    entry: Any = None,
    strata: Any = None,
) -> Checks:
    """Check the claims of a model file, content hash included.

    Unlike `load` it opens a file whose content hash is wrong, and says so. The hash finds
    accidents, not forgers: who changes a file can compute it again. The other checks then find what
    cannot be true; `check_signature` finds any change.

    Parameters
    ----------
    path : str or Path
    X, y, sample_weight, exposure, offset, entry, strata : the training table, optional
        As for `Model.verify`.

    Returns
    -------
    Checks

    Raises
    ------
    ModelFileError
        If the file cannot be read as a model at all.

    Examples
    --------
    >>> import tempfile, rpte
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, [0, 0, 1, 1] * 10
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rpte.RPTEClassifier(l1="4/n").fit(X, y).save(f"{folder}/model.json")
    ...     checks = rpte.verify_file(f"{folder}/model.json", X, y)
    >>> checks[0].name, checks.holds
    ('content hash', True)
    """
    document = read_document(path)
    with blamed_on(path):
        model = build(document)
    stored, found = document["hash"], content_hash(document)
    evidence = f"sha256 {found}" + ("" if stored == found else f", stored {stored}")
    own = Check("content hash", stored == found, evidence)
    beside = {"exposure": exposure, "offset": offset, "entry": entry, "strata": strata}
    given = {name: each for name, each in beside.items() if each is not None}
    return Checks([own, *model.verify(X, y, sample_weight, **given)])
