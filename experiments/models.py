"""The models of the evaluation by name: what each is, how it is fitted, what its results rest on.

CORELS is not among them: its last release builds neither with today's setuptools nor for Python
3.11, and imodels has dropped it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks.peers import (
    Fitted,
    Rows,
    fit_ours,
    l1_logistic,
    lightgbm,
    random_forest,
    rpte,
    rpte_paper,
    rpte_strict,
    xgboost,
)
from experiments.rule_models import ebm_tuned, figs, figs_100, rulefit, sirus
from rpte import RPTEClassifier

Fit = Callable[[Rows], Fitted]


@dataclass(frozen=True)
class Spec:
    """A model.

    Parameters
    ----------
    title : str
        As tables show it.
    fit : callable
        From rows to a fitted model, its grid searched.
    kind : {"ours", "peer", "rules"}
        Which source files its results depend on.
    package : str
    fixed : callable, optional
        The same without a search, for sets on which the search takes too long.
    """

    title: str
    fit: Fit
    kind: str = "ours"
    package: str = "rpte"
    fixed: Fit | None = None


def _policy(ownership: str, rows: Rows) -> Fitted:
    return Fitted(fit_ours(RPTEClassifier(ownership=ownership), rows))


MODELS = {
    "rpte": Spec("RPTE, our default", rpte),
    "rpte_strict": Spec("RPTE, strict", rpte_strict),
    "rpte_separate": Spec("RPTE, separate", partial(_policy, "separate")),
    "rpte_by_tree": Spec('RPTE, ownership "paper"', partial(_policy, "paper")),
    "rpte_paper": Spec("RPTE, paper", rpte_paper),
    "rpte_paper_strict": Spec("RPTE, paper, strict", partial(rpte_paper, ownership="strict")),
    "rpte_paper_separate": Spec("RPTE, paper, separate", partial(rpte_paper, ownership="separate")),
    "rpte_paper_component": Spec(
        "RPTE, paper, component", partial(rpte_paper, ownership="component")
    ),
    "l1_logistic": Spec("L1 logistic", l1_logistic, "peer", "scikit-learn"),
    "lightgbm": Spec("LightGBM", lightgbm, "peer", "lightgbm"),
    "random_forest": Spec("random forest", random_forest, "peer", "scikit-learn"),
    "xgboost": Spec("XGBoost", xgboost, "peer", "xgboost"),
    "figs": Spec("FIGS", figs, "rules", "imodels", partial(figs, fixed=True)),
    "figs_100": Spec("FIGS, 100 rules", figs_100, "rules", "imodels"),
    "sirus": Spec("SIRUS", sirus, "rules", "scikit-learn", sirus),
    "rulefit": Spec("RuleFit", rulefit, "rules", "imodels", partial(rulefit, fixed=True)),
    "ebm": Spec("EBM", ebm_tuned, "rules", "interpret-core", partial(ebm_tuned, fixed=True)),
}
OURS = tuple(name for name, spec in MODELS.items() if spec.kind == "ours")
