"""Reports, pictures and notebook views, built from the `Model` alone.

A report is made in three steps: `contents` gathers everything as one plain dict (`evidence` is the
table that it is measured on; `about`, `cards`, `performance`, ... are its sections, and
`number_performance` and `survival_performance` those of a number and of a time), `html` fills the
templates, and the command line writes the file. Pictures are functions from pieces of that dict to
SVG text (`charts`, `number_charts`, `survival_charts`, `effect_charts`, `draw`, `frontier`, all on
`svg`). Only `stability`, which fits models again, imports the stages, and only when it is asked to.
The command line, the estimators and the notebook methods of a model import this folder.
"""
