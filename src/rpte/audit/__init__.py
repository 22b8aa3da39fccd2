"""What an auditor needs of a model: its load, reasons, decisions on the record, edits by hand.

The audit load of any model: units (MU, MIU, IIU), counted by one rule for every family.

`audit_load` finds the family of a model, reads it into `Terms` (the terms, the conditions on each,
and which of them a row consults) and counts those; so the same code counts ours and everybody
else's. Each reader is one file in `families`; none of them, and nothing else here, imports the
package it reads: the model brings it.

`reasons` and `catalogue` say why a case was decided so, `decisions`, `records` and `log` write the
log of it, `replay` checks logs of every version, `edits` changes a model and its ledger; only an
edit that estimates again needs the stages.

May be imported from here: `audit_load`, `AuditLoad`, `Terms` and `level_set_conditions`. Importing
this folder imports numpy and nothing heavier.
"""

from rpte.audit.load import AuditLoad, audit_load
from rpte.audit.terms import Terms
from rpte.columns.units import level_set_conditions

__all__ = ["AuditLoad", "Terms", "audit_load", "level_set_conditions"]
