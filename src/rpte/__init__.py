"""Auditable classifiers for tables: every prediction a short sum of named rule contributions.

Importing this package, or loading a model, imports neither numba nor scikit-learn.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rpte.errors import Cancelled, InputError, ModelFileError, RPTEWarning

if TYPE_CHECKING:
    from rpte.audit.compare import compare
    from rpte.audit.decisions.catalogue import Catalogue, read_catalogue
    from rpte.audit.decisions.decide import append_decisions, decide
    from rpte.audit.decisions.reasons import ReasonRule, reason_codes, reason_rule
    from rpte.audit.decisions.replay import read_decisions, replay
    from rpte.audit.edits import Labelled, edit
    from rpte.audit.load import AuditLoad, audit_load
    from rpte.columns.limits import Limits
    from rpte.counterfactual import Actions
    from rpte.estimators.classifier import RPTEClassifier
    from rpte.estimators.regressor import RPTERegressor
    from rpte.estimators.survival import RPTESurvival
    from rpte.model.file import check_signature, load, sign
    from rpte.model.model import Model
    from rpte.model.verify import verify_file
    from rpte.plots.effect import EffectDisplay
    from rpte.plots.frontier import FrontierDisplay
    from rpte.plots.importance import ImportanceDisplay
    from rpte.plots.overview import OverviewDisplay
    from rpte.plots.surface import SurfaceDisplay
    from rpte.plots.tree import TreeDisplay
    from rpte.plots.waterfall import CaseDisplay
    from rpte.table.files import read_table
    from rpte.utils.progress import Progress
    from rpte.validation.alternatives import alternatives
    from rpte.validation.uncertainty import bootstrap

__version__ = "0.1.0"

_HOMES = {
    "Actions": "rpte.counterfactual",
    "AuditLoad": "rpte.audit.load",
    "CaseDisplay": "rpte.plots.waterfall",
    "Catalogue": "rpte.audit.decisions.catalogue",
    "EffectDisplay": "rpte.plots.effect",
    "FrontierDisplay": "rpte.plots.frontier",
    "ImportanceDisplay": "rpte.plots.importance",
    "Labelled": "rpte.audit.edits",
    "Limits": "rpte.columns.limits",
    "Model": "rpte.model.model",
    "OverviewDisplay": "rpte.plots.overview",
    "Progress": "rpte.utils.progress",
    "RPTEClassifier": "rpte.estimators.classifier",
    "RPTERegressor": "rpte.estimators.regressor",
    "RPTESurvival": "rpte.estimators.survival",
    "ReasonRule": "rpte.audit.decisions.reasons",
    "SurfaceDisplay": "rpte.plots.surface",
    "TreeDisplay": "rpte.plots.tree",
    "alternatives": "rpte.validation.alternatives",
    "append_decisions": "rpte.audit.decisions.decide",
    "audit_load": "rpte.audit.load",
    "bootstrap": "rpte.validation.uncertainty",
    "check_signature": "rpte.model.file",
    "compare": "rpte.audit.compare",
    "decide": "rpte.audit.decisions.decide",
    "edit": "rpte.audit.edits",
    "load": "rpte.model.file",
    "read_catalogue": "rpte.audit.decisions.catalogue",
    "read_decisions": "rpte.audit.decisions.replay",
    "read_table": "rpte.table.files",
    "reason_codes": "rpte.audit.decisions.reasons",
    "reason_rule": "rpte.audit.decisions.reasons",
    "replay": "rpte.audit.decisions.replay",
    "sign": "rpte.model.file",
    "verify_file": "rpte.model.verify",
}

_RENAMED = {  # old names, which work for one more release: what they are now, and where
    "ClassReasonRule": ("reason_rule", "rpte.audit.decisions.reasons", "rule_of_classes"),
    "class_bootstrap": ("bootstrap", "rpte.validation.uncertainty", "bootstrap"),
    "class_reasons": ("reason_codes", "rpte.audit.decisions.reasons", "reason_codes"),
}

__all__ = [
    "Actions",
    "AuditLoad",
    "Cancelled",
    "CaseDisplay",
    "Catalogue",
    "EffectDisplay",
    "FrontierDisplay",
    "ImportanceDisplay",
    "InputError",
    "Labelled",
    "Limits",
    "Model",
    "ModelFileError",
    "OverviewDisplay",
    "Progress",
    "RPTEClassifier",
    "RPTERegressor",
    "RPTESurvival",
    "RPTEWarning",
    "ReasonRule",
    "SurfaceDisplay",
    "TreeDisplay",
    "alternatives",
    "append_decisions",
    "audit_load",
    "bootstrap",
    "check_signature",
    "compare",
    "decide",
    "edit",
    "load",
    "read_catalogue",
    "read_decisions",
    "read_table",
    "reason_codes",
    "reason_rule",
    "replay",
    "sign",
    "verify_file",
]


def __getattr__(name: str) -> Any:
    if name == "datasets":
        return import_module("rpte.datasets")
    if name in _RENAMED:
        now, home, attribute = _RENAMED[name]
        text = f"rpte.{name} is now rpte.{now}; the old name will be removed in the next release"
        warnings.warn(text, FutureWarning, stacklevel=2)
        return getattr(import_module(home), attribute)
    if name not in _HOMES:
        raise AttributeError(f"module 'rpte' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, "datasets"})
