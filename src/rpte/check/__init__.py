"""The checker that an auditor can read and run by itself.

`rpte_check.py` is one file on the standard library alone. It follows `docs/model_file.md` and
shares no code with `rpte.model`, so that nobody has to trust the library to check what it says: it
imports nothing from `rpte`, and nothing in `rpte` imports it.
"""
