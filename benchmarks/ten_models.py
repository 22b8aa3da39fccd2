"""Ten models of panel tables, printed as a person gets them, beside the length of free shapes.

Each table is fitted whole, with the default and with `shapes="free"`; validated figures are those
of each model's own inner validation. The page has a remark on each model, kept in `REMARKS`, which
is written by hand and looked at again whenever the page is made.

Run: python benchmarks/ten_models.py [--tables mroz_labor,concrete] [--out docs/ten_models.md]
"""

from __future__ import annotations

import argparse
import os
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import pandas as pd

from data import read
from rpte import RPTEClassifier, RPTERegressor, RPTESurvival, RPTEWarning

PAGE = Path(__file__).parents[1] / "docs" / "ten_models.md"
REMARKS = {
    "mroz_labor": (
        "The wage (`lwg`) matters differently for women who went to college, and children "
        "under five keep women at home: the economist signs both. `lwg` is imputed for women "
        "who do not work, which an effect that rises up to 0.858 and falls from 1.151 on gives "
        'away; he would ask for the wage to be left out. (Target 1 is "does not work".)'
    ),
    "heart_c_uci": (
        "A cardiologist reads the risk factors of the textbook with the signs of the "
        'textbook. He would merge the three steps of `ca` into "any vessel coloured", and '
        "drop `fbs`, as `at(miu=12)` does."
    ),
    "pima_diabetes": (
        "Glucose, body mass, age and pedigree, each rising. That the risk stays the same "
        "between 31.5 and 38.5 years, and falls above 46.5, is more than she would believe: she "
        "would paste the hint, `monotone={'age': 'increasing'}`."
    ),
    "credit_scoring_spain": (
        "Every line goes the way a credit officer expects, and only that of `Price` needs a "
        "thought: at the same amount, a dearer purchase means a larger down payment. Marital "
        "status may not be allowed; `Limits(exclude=['Marital'])` leaves it out."
    ),
    "stroke": (
        "Age explains nearly all. That `bmi is missing` is a risk is an artefact of how the "
        "data were collected, and the first thing a physician would strike out; being one "
        "term, it can be."
    ),
    "abalone": (
        "A tree over sex and two weights beside the shapes of the weights: a biologist reads "
        "that infants are younger at the same weight. That meat counts against age where the "
        "whole weight is given, and shell for it, is what she would expect. The flat stretch of "
        "`shucked_weight` between 0.5867 and 0.6198 she would smooth out."
    ),
    "diabetes_reg": (
        "Blood fat (`s5`), body mass and blood pressure, as in the papers on this table. The "
        "dip of `s6` between 89.5 and 93.5 is noise to a clinician, who would ask for a line: "
        "`Limits(linear_only=['s6'])`."
    ),
    "count_swmotorcycle": (
        "A tariff: one factor for each of age of owner, age of vehicle, zone, class, sex and "
        "bonus. An actuary would file it as it is, and ask why the class above 25 is with the "
        "low ones: it has few claims."
    ),
    "penguins": (
        "Long bills for Chinstrap, deep ones for Adelie, islands as on the map. `year` is "
        "noise, and should have been left out."
    ),
    "surv_gbsg2": (
        "Nodes, receptor, age and hormone therapy: the known prognostic factors of this trial, "
        "and that the youngest do worse is known as well. The grade counts for less than an "
        "oncologist would expect, because the receptor and the nodes speak for it. `estrec` "
        "says next to nothing."
    ),
}
HEAD = """# Ten models

What the default makes of ten tables of the panel, each fitted whole; made by
`benchmarks/ten_models.py`. The deviance explained is that of the folds of the fit itself. "Free
shapes" is `shapes="free"`, the search of version 0.1, on the same table. Under each model stands
what a person who knows the field may say to it.
"""


def fit(name: str, shapes: str) -> RPTEClassifier | RPTERegressor | RPTESurvival:
    """Fit a table of the panel."""
    X, y = read(f"panel/{name}")
    extra = {}
    if name.startswith("surv_"):
        y = pd.DataFrame({"time": X.pop("time"), "event": y == 1})
        est = RPTESurvival(shapes=shapes)
    elif name.startswith("count_"):
        extra["exposure"] = "exposure"
        est = RPTERegressor(loss="poisson", shapes=shapes)
    else:
        est = (RPTERegressor if y.nunique() > 20 else RPTEClassifier)(shapes=shapes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RPTEWarning)
        return est.fit(X, y, **extra)


def explained(est: RPTEClassifier | RPTERegressor | RPTESurvival) -> float:
    """Return the part of the deviance that a model explained of the rows held out."""
    selection = est.model_.training["selection"]
    load = est.model_.audit().miu
    chosen = min(selection["frontier"], key=lambda point: abs(point["miu"] - load))
    return 1.0 - chosen["deviance"] / selection["null_deviance"]


def section(name: str) -> str:
    """Return what the page says of a table."""
    X, _ = read(f"panel/{name}")
    one, free = fit(name, "one"), fit(name, "free")
    sizes = [f"{est.model_.audit().miu} conditions, {explained(est):.1%}" for est in (one, free)]
    return (
        f"## {name}\n\n{len(X):,} rows, {X.shape[1]} columns. Default: {sizes[0]} of the deviance "
        f"explained. Free shapes: {sizes[1]}.\n\n```text\n{one.model_.summary()}\n```\n\n"
        f"{REMARKS[name]}\n"
    )


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default=",".join(REMARKS))
    parser.add_argument("--out", type=Path, default=PAGE)
    given = parser.parse_args()
    parts = [section(name) for name in given.tables.split(",")]
    given.out.write_text("\n".join([HEAD, *parts]), encoding="utf-8")


if __name__ == "__main__":
    main()
