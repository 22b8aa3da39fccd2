"""Made-up tables with a known truth, for documentation, demonstrations and tests without network.

`make_credit` (two classes), `make_claims` (counts with exposure) and `make_trial` (times until an
event) draw tables as dirty as life is: text in several spellings, gaps, codes among numbers, equal
rows. The outcome is drawn from a score that is a known function of what stands in the table, so
that a fitted model can be held against it, term by term.

Imports nothing but numpy, pandas and the errors; anybody may import it.
"""

from rpte.datasets.claims import make_claims
from rpte.datasets.credit import make_credit
from rpte.datasets.dataset import Claims, Dataset, Trial
from rpte.datasets.trial import make_trial
from rpte.datasets.truth import Effect, Truth

__all__ = [
    "Claims",
    "Dataset",
    "Effect",
    "Trial",
    "Truth",
    "make_claims",
    "make_credit",
    "make_trial",
]
