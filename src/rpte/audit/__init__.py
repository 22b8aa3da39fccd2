"""What an auditor needs of a model: its audit load, its decisions on the record, edits by hand.

`load` counts the audit units (MU, MIU, IIU) of a model of any family by one rule: a reader in
`families` turns it into `Terms` (the terms, the conditions on each, which of them a row consults;
`columns` follows what a pipeline makes), and those are counted, ours and everybody else's alike. No
reader imports the package it reads: the model brings it.

`decisions` gives reasons for a case and keeps logs; `edits` changes a model and its ledger (only an
edit that estimates again needs the stages); `metrics` measures how well a model predicts, `lift`
where it does, in bands of rows; `grid` lists the values between which a component can tell a
difference.

Every room above `model` may import from here. Importing this folder imports numpy and nothing
heavier.
"""

from rpte.audit.load import AuditLoad, audit_load
from rpte.audit.terms import Terms

__all__ = ["AuditLoad", "Terms", "audit_load"]
