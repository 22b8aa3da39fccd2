"""Which of two classes is the bad outcome, as far as names tell."""

from rpte.model.labels import Label
from rpte.model.target import Target
from rpte.utils.words import words_of

BAD = {"bad", "bads", "default", "defaults", "defaulted", "defaulter", "delinquent", "delinquency"}
BAD |= {"arrears", "overdue", "npl", "bankrupt", "bankruptcy", "foreclosure", "chargeoff", "churn"}
BAD |= {"fraud", "frauds", "fraudulent", "claim", "claims", "loss", "losses", "lapse", "lapsed"}
BAD |= {"death", "dead", "died", "mortality", "deceased", "disease", "sick", "stroke", "relapse"}
BAD |= {"recurrence", "readmission", "readmitted", "cancer", "malignant", "complication"}
BAD |= {"failure", "failed", "accident", "injury", "churned"}
YES, NO = {"1", "1.0", "yes", "y", "true", "t"}, {"0", "0.0", "no", "n", "false", "f"}


def bad_side(target: Target) -> tuple[str, str] | None:
    """Return which class is bad, "positive" or "other", and the word that tells; None if neither.

    A class is bad if its label has one of the words `BAD`, or the target has one in its name and
    the class is "yes" (1, true).

    Examples
    --------
    >>> bad_side(Target(("no", "yes"), 1, 10.0, "default_90d"))
    ('positive', 'default')
    >>> bad_side(Target(("bad", "good"), 1, 10.0))
    ('other', 'bad')
    >>> bad_side(Target(("no", "yes"), 1, 10.0, "bought"))
    """
    labels = {"positive": target.outcome, "other": target.other}
    of_labels = {side: _word(str(label)) for side, label in labels.items()}
    named = [(side, word) for side, word in of_labels.items() if word is not None]
    if len(named) == 1:
        return named[0]
    word = None if target.name is None else _word(target.name)
    if named or word is None or {_text(label) for label in labels.values()} - (YES | NO):
        return None
    yes = [side for side, label in labels.items() if _text(label) in YES]
    return (yes[0], word) if len(yes) == 1 else None


def _text(label: Label) -> str:
    return str(label).strip().lower()


def _word(name: str) -> str | None:
    return next((word for word in words_of(name) if word in BAD), None)
