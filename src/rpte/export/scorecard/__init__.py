"""Scorecards as files, and how far they are from the model; `rpte.export.target` imports it."""
