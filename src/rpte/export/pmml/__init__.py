"""PMML: the document, and the evaluator to run it in.

`rpte.export.target` finds it; nothing else imports from here.
"""
