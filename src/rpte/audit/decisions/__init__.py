"""Decisions on the record: the principal reasons of a case, and logs that can be computed again.

`reasons` finds what counts most against a case, and the words for it; `decide` works out what a run
records of each case and appends it to a log, `records` says what the lines of a log hold, `replay`
checks a log (`readers` has what all versions share, and version 1). Every module may be imported;
numpy and the standard library suffice.
"""
