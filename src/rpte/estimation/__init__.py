"""Stage 3: one elastic-net fit over leaves and direct terms (equation (5)).

`terms.py` chooses what is fitted (`ownership.py` admits it) and `design.py` holds it; `solver.py`
is one fit or the lambda path, `monotone.py` a fit under order, `canonical.py` the choice among
equally good solutions. Behind them: `newton.py` (the iteration), `quadratic.py` (its subproblem),
`gram.py`. `approximate.py` and `forward.py` are the fits that inner validation compares.

Imported by `fit/`, `selection/` and `validation/`.
"""
