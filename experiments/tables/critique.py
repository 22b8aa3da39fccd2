"""Table 15 (appendix A): overlaps with opposite signs, nested families, and how much is active."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

from experiments.data import NAMES, SMALL
from experiments.markdown import table
from experiments.models import MODELS
from experiments.results import Results
from experiments.tables.alternatives import bits
from experiments.tables.section import Section

SHOWN = ("rulefit", "figs_100", "figs", "sirus", "rpte_paper", "rpte")
OVERLAPS = (0.25, 0.5, 0.9)


def issues(rules: pd.DataFrame, train: np.ndarray, test: np.ndarray) -> dict[str, float]:
    """Count what makes a collection of rules hard to read.

    conflicts : pairs of rules on the same variables, opposite in sign, whose training covers
        overlap by a Jaccard index of at least 0.25, 0.5, 0.9
    nested : pairs on the same variables, one cover strictly inside the other
    active : rules that cover a held-out row, mean and most; slopes count in every row
    """
    slopes = int((rules["kind"] == "slope").sum())
    rules = rules[rules["cover"].notna()].reset_index(drop=True)
    covers = np.array([bits(text)[: len(train)] for text in rules["cover"]], bool)
    covers = covers.reshape(len(rules), len(train))
    found = {"nested": 0.0, **{f"conflicts {b}": 0.0 for b in OVERLAPS}}
    sources, coefficients = rules["sources"].tolist(), rules["coefficient"].tolist()
    for a, b in combinations(range(len(rules)), 2):
        if sources[a] != sources[b]:
            continue
        x, y = covers[a, train], covers[b, train]
        both, union = int((x & y).sum()), int((x | y).sum())
        smaller = min(int(x.sum()), int(y.sum()))
        if both and both == smaller and both < union:
            found["nested"] += 1
        if coefficients[a] * coefficients[b] < 0 and union:
            for bound in OVERLAPS:
                found[f"conflicts {bound}"] += both / union >= bound
    active = covers[:, test].sum(axis=0) + slopes if len(test) else np.zeros(1)
    return {
        **found,
        "rules": len(rules) + slopes,
        "mean": float(active.mean()),
        "most": float(active.max()),
    }


def critique(results: Results) -> Section:
    """Measure RuleFit, FIGS, SIRUS and ours on split 0 of the small sets."""
    rows = []
    for model in SHOWN:
        measured = _measured(results, model)
        if measured.empty:
            continue
        worst = measured["most"].idxmax()
        rows.append(
            [
                MODELS[model].title,
                str(len(measured)),
                f"{measured['rules'].mean():.1f}",
                " / ".join(f"{measured[f'conflicts {b}'].sum():.0f}" for b in OVERLAPS),
                f"{measured['nested'].sum():.0f}",
                f"{measured['mean'].min():.1f} to {measured['mean'].max():.1f}",
                f"{measured['most'].max():.0f} ({NAMES[str(worst)]})",
            ]
        )
    head = ["model", "sets", "terms", "conflicts at J >= 0.25 / 0.5 / 0.9", "nested pairs"]
    return Section(
        "Critique of additive rule models (table 15, appendix A)",
        (
            "Split 0 (seed 42, fold 0) of the small sets, one measure for every model, ours too. A "
            "conflict is a pair of rules on the same variables with opposite signs whose training "
            "covers overlap; a nested pair has the same variables and one cover strictly inside "
            "the other; active terms are those that say something about a held-out row. Leaves of "
            "one tree never overlap, so conflicts and nested pairs of tree models come from "
            "different trees or from direct terms. All ten rules of SIRUS contribute, from inside "
            "or from outside; counted are those that a row satisfies.",
            table([*head, "active terms, mean over sets from-to", "most"], rows),
            "Published, five sets: RuleFit 6.7 to 19.2 active rules on average, at most 35 "
            "(crabs); FIGS 1 to 18 trees; SIRUS 2.27 to 3.83 true rules on average, at most 6 to "
            "9; conflicts and nested pairs as examples, not as counts.",
        ),
    )


def _measured(results: Results, model: str) -> pd.DataFrame:
    rows = {}
    done = results.done[(results.done["what"] == "performance") & (results.done["split"] == 0)]
    have = set(done.loc[done["model"] == model, "table"])
    for name in SMALL:
        if name in have:
            rules = results.rules_of(name, model)
            train, test = _rows(results, name, model)
            rows[name] = issues(rules[rules["split"] == 0], train, test)
    return pd.DataFrame.from_dict(rows, orient="index")


def _rows(results: Results, name: str, model: str) -> tuple[np.ndarray, np.ndarray]:
    """Return a mask of the training rows of split 0, and the numbers of the held-out rows."""
    scores = results.scores_of(name, model)
    test = scores.loc[(scores["split"] == 0) & scores["held_out"], "row"].to_numpy()
    done = results.done[(results.done["table"] == name) & (results.done["split"] == 0)]
    train = np.ones(int((done["n_train"] + done["n_test"]).max()), bool)
    train[test] = False
    return train, test
