"""The scorecard of `rpte.scorecard` as a file, and how far it is from the model.

`rpte.export.target` finds it; nothing else imports from here but `card_csv`.
"""
