"""PMML: the document, and its evaluator; only `rpte.export.target` imports it."""
