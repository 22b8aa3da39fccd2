"""The audit load: terms, conditions in the whole model, conditions for one prediction."""

from dataclasses import dataclass, field
from typing import Any

from rpte.audit.families import read
from rpte.audit.terms import Terms
from rpte.utils.arrays import Ints


@dataclass(frozen=True, slots=True)
class AuditLoad:
    """What there is to read in a model, in audit units.

    Parameters
    ----------
    mu : int
        Terms of the model (MU).
    miu : int
        Conditions in the whole model (MIU).
    iiu : float or None
        Conditions read for one prediction (IIU), the mean over the rows given; None without rows.
    family : str
        The family the model was counted as.
    bound : int, optional
        The bound on the audit load that held before training.
    per_row : ndarray of int, shape (n_rows,), optional
        The conditions read for each row given.

    Examples
    --------
    >>> import rpte
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 10, [0, 0, 1, 1] * 10
    >>> clf = rpte.RPTEClassifier(l1="4/n").fit(X, y)
    >>> load = clf.audit([[0.0], [3.0]])
    >>> load.family, load.miu <= load.bound, load.per_row.shape
    ('rpte', True, (2,))
    """

    mu: int
    miu: int
    iiu: float | None
    family: str
    bound: int | None = None
    per_row: Ints | None = field(default=None, compare=False, repr=False)

    def _repr_html_(self) -> str:
        from rpte.notebook.results import audit_html

        return audit_html(self)

    def __str__(self) -> str:
        parts = [f"{self.mu} terms (MU)", f"{self.miu} conditions in the model (MIU)"]
        if self.iiu is not None:
            parts.append(f"{self.iiu:.4g} conditions per prediction (IIU)")
        if self.bound is not None:
            parts.append(f"bound before training {self.bound}")
        return f"{self.family}: " + ", ".join(parts)


def audit_load(model: Any, X: Any = None) -> AuditLoad:
    """Count the audit load of a fitted model of any supported family, by one rule.

    Parameters
    ----------
    model : object
        A fitted classifier or regressor: ours, a scikit-learn tree, forest, boosted or linear
        model, XGBoost, LightGBM, EBM, RuleFit, FIGS, or a scikit-learn Pipeline that ends in one.
    X : table of shape (n_rows, n_columns), optional
        Rows to count predictions for, as the model takes them. Without it `iiu` is None.

    Returns
    -------
    AuditLoad

    Raises
    ------
    TypeError
        If the family is not known, or a pipeline has a step that mixes columns. Never 0.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> tree = DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    >>> load = audit_load(tree, [[0.0], [2.0]])
    >>> load.mu, load.miu, load.iiu
    (3, 5, 1.5)
    """
    family, terms = read(model, X)
    return count(terms, family)


def count(terms: Terms, family: str) -> AuditLoad:
    """Turn terms into the audit load: the one place where units are added up."""
    per_row = terms.per_row()
    if per_row is not None and not len(per_row):
        raise ValueError(
            "X has 0 rows and a mean over rows needs at least one; pass rows, or X=None"
        )
    return AuditLoad(
        mu=len(terms.conditions),
        miu=int(terms.conditions.sum()),
        iiu=None if per_row is None else float(per_row.mean()),
        family=family,
        bound=terms.bound,
        per_row=per_row,
    )
