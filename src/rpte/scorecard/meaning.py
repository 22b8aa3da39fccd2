"""What the points of a card stand for: odds and a probability, or a hazard ratio and survival."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from rpte.losses import BINOMIAL
from rpte.model.survival import SurvivalTarget
from rpte.model.target import Target
from rpte.scorecard.outcome import bad_side
from rpte.table.decimals import number_text
from rpte.table.schema import OTHER
from rpte.utils.arrays import Floats

if TYPE_CHECKING:
    from rpte.scorecard.card import Scorecard

LIKELY = math.log(2000)  # log odds beyond which the table of odds tells nothing new
MOST_ROWS = 20  # of the table of survival
STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500)  # of points in it
HOW = (
    "In each numbered table exactly one line applies: add its points. A bin such as 20 < x <= 35 "
    "includes 35."
)

WEIGHTS = (
    "The rate is the share of {against}. WoE, the weight of evidence, is ln(share of all "
    "{favoured} in a line / share of all {against} in it). IV, the information value, is the "
    "difference of these shares times WoE. Where one of them has no row, half a row is added to "
    "both."
)
MOST_DOUBLED = 20.0  # beyond it the bound of a card says nothing: products of far values


def is_survival(card: Scorecard) -> bool:
    """Tell whether a card is of a time until an event."""
    return isinstance(card.model.target, SurvivalTarget)


def headline(card: Scorecard) -> list[str]:
    """Say what the points mean and how to add them."""
    pooled = any(card.model.schema[name].pooled for name in card.model.sources)
    other = [f"{OTHER} stands for levels that training had rarely or never."] if pooled else []
    return [*(_of_times(card) if is_survival(card) else _of_classes(card)), *other]


def _of_classes(card: Scorecard) -> list[str]:
    scale, (favoured, against) = card.scale, sides(card)
    return [
        f"Scorecard: points for {favoured} against {against}",
        f"Base score {scale.base_score:g} at base odds of {scale.base_odds:g} to 1 for {favoured}; "
        f"{scale.pdo:g} points more double the odds (PDO {scale.pdo:g}).",
        *_direction(card),
        f"Begin with the base points. {HOW}",
        *([WEIGHTS.format(favoured=favoured, against=against)] if card.totals else []),
    ]


def _direction(card: Scorecard) -> list[str]:
    """Say what many points mean, where a name tells which class is the bad outcome."""
    assert isinstance(card.model.target, Target)
    if (bad := bad_side(card.model.target)) is None:
        return []
    low = bad[0] != card.scale.points_for
    turned = bad[0] if low else {"positive": "other", "other": "positive"}[bad[0]]
    return [
        f"High points mean {'low' if low else 'high'} risk: {sides(card)[int(low)]} is a bad "
        f"outcome by its name ({bad[1]!r}); points_for={turned!r} turns the card round."
    ]


def _of_times(card: Scorecard) -> list[str]:
    target, scale = card.model.target, card.scale
    more = "double" if scale.points_for == "positive" else "halve"
    known = f"the values that the bins were made from ({card.origin})"
    doubled = card.bound / scale.pdo
    factor = (
        f"of {2.0**doubled:.3g}" if doubled < MOST_DOUBLED else f"above {2.0**MOST_DOUBLED:.0g}"
    )
    return [
        f"Points for the {target.response_text}",
        f"{scale.pdo:g} points more {more} the hazard. {HOW} The sum is read in the last table: "
        f"a hazard ratio{_survival_told(card)}.",
        f"Rounding to bins and whole points moves the sum by at most {card.bound:.1f} points over "
        f"{known}: a factor {factor} of the hazard.",
    ]


def _survival_told(card: Scorecard) -> str:
    target = card.model.target
    assert isinstance(target, SurvivalTarget)
    said = f", and the probability of {target.none_text} until some {target.time_name}"
    return said if card.horizons else ""


def sides(card: Scorecard) -> tuple[str, str]:
    """Return the class that points make more likely, and the other one."""
    target = card.model.target
    assert isinstance(target, Target)
    named = "" if target.name is None else f"{target.name} = "
    both = f"{named}{target.outcome}", f"{named}{target.other}"
    return both if card.scale.points_for == "positive" else (both[1], both[0])


def meanings(card: Scorecard) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the header and the rows of the table of what sums of points stand for."""
    return _survival_table(card) if is_survival(card) else _odds_table(card)


def _odds_table(card: Scorecard) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    step, base = card.scale.pdo, card.scale.base_score
    first, last = _ends(card)
    steps = np.arange(math.floor((first - base) / step), math.ceil((last - base) / step) + 1)
    points = base + step * steps
    odds = card.scale.base_odds * 2.0**steps
    values = BINOMIAL.response(card.log_odds(points))
    positive = card.model.classes[card.model.positive]
    head = ("points", f"odds for {sides(card)[0]}", f"probability of {positive}")
    told = zip(points, odds, values, strict=True)
    return head, [(f"{p:g}", _odds(o), f"{v:.4f}") for p, o, v in told]


def _ends(card: Scorecard) -> tuple[float, float]:
    """Return the points between which the card can lie, as far as they tell something new."""
    low, high = card.range
    ends = sorted(card.scale.offset + sign * abs(card.scale.factor) * LIKELY for sign in (-1, 1))
    return max(low, ends[0]), min(high, ends[1])


def _odds(odds: float) -> str:
    size = max(odds, 1 / odds)
    text = f"{size:,.0f}" if size >= 100 else f"{size:.3g}"
    return f"{text} to 1" if odds >= 1 else f"1 to {text}"


def _survival_table(card: Scorecard) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return hazard ratio and survival at the horizons, by the sum of points (a nomogram)."""
    target = card.model.target
    assert isinstance(target, SurvivalTarget)
    first, last = _ends(card)
    step = next((s for s in STEPS if (last - first) / s <= MOST_ROWS), STEPS[-1])
    points = step * np.arange(math.floor(first / step), math.ceil(last / step) + 1)
    score = card.log_odds(points)
    head = ["points", "hazard ratio"]
    columns = [[f"{ratio:.3g}" for ratio in target.loss.response(score)]]
    for (time, stratum), values in zip(at_horizons(card), survival(card, score).T, strict=True):
        where = f" ({stratum})" if stratum is not None else ""
        head.append(f"{target.time_name} {number_text(time)}{where}")
        columns.append([f"{value:.3f}" for value in values])
    rows = list(zip([f"{p:g}" for p in points], *columns, strict=True))
    news = [place for place, row in enumerate(rows) if not {*row[2:]} <= {"0.000", "1.000"}]
    return tuple(head), rows[news[0] : news[-1] + 1] if news else rows


def at_horizons(card: Scorecard) -> list[tuple[float, object]]:
    """Return each horizon of a card with each stratum that it tells of; None if there is none."""
    target = card.model.target
    assert isinstance(target, SurvivalTarget)
    every: tuple[object, ...] = target.strata or (None,)
    strata = every if card.stratum is None else (card.stratum,)
    return [(time, stratum) for time in card.horizons for stratum in strata]


def survival(card: Scorecard, score: Floats) -> Floats:
    """Return the probabilities of no event of scores (n,), one column for each of `at_horizons`."""
    target = card.model.target
    assert isinstance(target, SurvivalTarget)
    found = np.empty((len(score), len(at_horizons(card))))
    for place, (time, stratum) in enumerate(at_horizons(card)):
        strata = None if stratum is None else [stratum] * len(score)
        found[:, place] = target.survival_at(score, np.array([time]), strata)[:, 0]
    return found
