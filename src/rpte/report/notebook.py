"""Models, explanations and pictures as a notebook shows them: plain HTML and SVG, no script."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from rpte.audit.grid import profile_of
from rpte.errors import InputError, did_you_mean
from rpte.model.classes import ClassesModel
from rpte.model.effect import background, own_parts, shared_parts
from rpte.model.model import Model
from rpte.model.summary import counted, figures, figures_text
from rpte.model.survival import SurvivalTarget
from rpte.report.cards import explanation_contents, tree_card
from rpte.report.charts import explanation_chart
from rpte.report.class_cards import class_shape
from rpte.report.class_charts import class_effect_drawing, class_tree_panels, tiled
from rpte.report.curves import shape
from rpte.report.draw import draw_model, tree_drawing
from rpte.report.effect_charts import effect_drawing
from rpte.report.evidence import checked_weights
from rpte.report.frontier import frontier_drawing, read_frontier
from rpte.report.html import fill
from rpte.report.numbers import signed
from rpte.report.survival_cards import baseline_curve, case_over_time, survival_identity
from rpte.report.survival_charts import baseline_chart, case_chart
from rpte.report.svg import Drawing, document, shortened
from rpte.utils.output import write_text

if TYPE_CHECKING:
    from rpte.model.classes import ClassExplanation
    from rpte.model.explain import Explanation

MOST_PARTS = 12


@dataclass(frozen=True, slots=True)
class Picture:
    """An SVG picture; a notebook draws it.

    Parameters
    ----------
    svg : str
        The whole document.
    label : str
        The picture in words.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rpte import RPTEClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = RPTEClassifier(l1="4/n", vocabulary="original").fit(X[50:], y[50:])
    >>> clf.plot_tree(1).label.split(":")[0]
    'Tree T1 over x1, x3'
    """

    svg: str
    label: str

    def __repr__(self) -> str:
        return f"Picture({shortened(self.label, 70)!r})"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        code = base64.b64encode(self.svg.encode("utf-8", "replace")).decode()
        source = f"data:image/svg+xml;base64,{code}"
        return f'<img style="max-width:100%" src="{source}" alt="{escape(self.label)}">'

    def save(self, path: str | Path) -> None:
        """Write the picture to an SVG file."""
        write_text(self.svg, Path(path))


def _picture(drawing: Drawing) -> Picture:
    return Picture(document(*drawing), drawing[2])


def plot_tree(model: Model | ClassesModel, tree: int | str = 1) -> Picture:
    """Return the picture of a tree, by its number from 1 or its name."""
    known = {part.name: part for component in model.components for part in component.trees}
    name = tree if isinstance(tree, str) else f"T{tree}"
    if name not in known:
        has = f"its trees are {', '.join(known)}" if known else "the model has none"
        raise InputError(f"there is no tree {name}; {has}")
    if isinstance(model, Model):
        return _picture(tree_drawing(tree_card(model, known[name])))
    own = [(each, t) for each in model.models for t in each.trees if t.name == name]
    card = {"name": name, "classes": [tree_card(*pair) for pair in own]}
    return _picture(tiled(class_tree_panels(card, list(map(str, model.classes))), 1))


def plot_effect(
    model: Model | ClassesModel, source: str, X: Any = None, sample_weight: Any = None
) -> Picture:
    """Return the picture of what a variable does to the score; see `RPTEClassifier.plot_effect`."""
    outline = model if isinstance(model, Model) else model.outline
    home = next((c for c in model.components if source in c.sources), None)
    if home is None:
        hint = did_you_mean(source, model.sources)
        reads = ", ".join(model.sources) or "nothing"
        raise InputError(f"the model does not read {source!r}{hint}; it reads {reads}")
    rows = None
    if X is not None:
        inputs = model.read(X)
        weight = checked_weights(sample_weight, inputs.n_rows)
        rows = background(inputs, model.sources, weight)
    if rows is None and not own_parts(home, source):
        raise InputError(
            f"{source!r} has no terms of its own, and what it does together with others can be "
            f"averaged over rows only; give a table: plot_effect({source!r}, X)"
        )
    box = profile_of(outline, source).get("quantiles")
    if isinstance(model, Model):
        return _picture(effect_drawing(shape(model, home, source, rows), box))
    place = model.components.index(home)
    each = [shape(own, own.components[place], source, rows) for own in model.models]
    names = [str(label) for label in model.classes]
    return _picture(class_effect_drawing(class_shape(each), names, box))


def plot_frontier(model: Model | ClassesModel) -> Picture:
    """Return the picture of what fewer conditions cost, as found in training."""
    return _picture(frontier_drawing(read_frontier(model)))


def model_html(model: Model) -> str:
    """Return a model as a compact card; the whole of it opens below."""
    load, components, record = model.audit(), model.components, figures(model)
    return fill(
        "notebook.html.j2",
        model=model,
        other=getattr(model.target, "other", None),
        size=f"{counted(load.mu, 'term')}, {counted(load.miu, 'condition')}",
        cases=f"{model.training['rows']:,.6g}",
        figures=None if record is None else figures_text(record, model.loss),
        components=[
            (c.name, ", ".join(c.sources), len(c.trees), len(c.direct))
            for c in components[:MOST_PARTS]
        ],
        more=len(components) - MOST_PARTS,
        picture=Markup(Picture(draw_model(model), "the whole model")._repr_html_()),
        shared=[source for c in components for source in c.sources if shared_parts(c, source)],
        **_baseline(model),
    )


def _baseline(model: Model) -> dict[str, Any]:
    """Return the curve of a case of average score, of a time until an event."""
    if not isinstance(model.target, SurvivalTarget):
        return {"events": None}
    identity = survival_identity(model, model.target.horizons)
    told = [(each["name"], *(f"{s:.3f}" for s in each["at"])) for each in identity["baselines"]]
    return {
        "events": f"{model.target.total:,.6g}",
        "horizons": ["case of average score", *(f"at {h['text']}" for h in identity["horizons"])],
        "survival": told[:MOST_PARTS],
        "curve": Markup(_picture(baseline_chart(identity))._repr_html_()),
    }


def classes_html(model: ClassesModel) -> str:
    """Return a model of several classes as a card: its classes, and below every coefficient."""
    load, components, record = model.audit(), model.components, figures(model)
    total = sum(model.target.totals)
    shares = zip(model.classes, model.target.totals, strict=True)
    intercepts = ("intercept", "", *(signed(each) for each in model.intercepts))
    return fill(
        "notebook.html.j2",
        classes=[(str(label), f"{weight / total:.1%}") for label, weight in shares],
        size=f"{counted(load.mu, 'term')}, {counted(load.miu, 'condition')}",
        bound=model.bound,
        ownership=model.ownership,
        cases=f"{model.training['rows']:,.6g}",
        figures=None if record is None else figures_text(record, model.loss),
        components=[
            (c.name, ", ".join(c.sources), sum(r.component == c.name for r in model.rules()))
            for c in components[:MOST_PARTS]
        ],
        more=len(components) - MOST_PARTS,
        names=[str(label) for label in model.classes],
        terms=[
            intercepts,
            *((r.term, r.conditions, *(signed(c) for c in r.coefficients)) for r in model.rules()),
        ],
        shared=[source for c in components for source in c.sources if shared_parts(c, source)],
    )


def class_explanation_html(explanation: ClassExplanation) -> str:
    """Return why a row is given a class and not another, with the probabilities of all."""
    ranked = sorted(explanation.probabilities.items(), key=lambda pair: -pair[1])
    return fill(
        "notebook.html.j2",
        why=(str(explanation.chosen), str(explanation.against)),
        probabilities=[(str(label), f"{p:.2%}") for label, p in ranked],
        **_explained(explanation.difference),
    )


def explanation_html(explanation: Explanation) -> str:
    """Return one prediction as a chart of contributions, with what they rest on."""
    return fill("notebook.html.j2", **_explained(explanation))


def _explained(explanation: Explanation) -> dict[str, Any]:
    picture = _picture(explanation_chart(explanation_contents(explanation)))
    contributions = [
        (contribution.term, contribution.text, signed(contribution.value))
        for component in explanation.components
        for contribution in component.contributions
    ]
    flags = (*explanation.said_for, *explanation.flags)
    shown = Markup(picture._repr_html_())
    found = {"picture": shown, "contributions": contributions, "flags": flags}
    return {**found, **_over_time(explanation)}


def _over_time(explanation: Explanation) -> dict[str, Any]:
    """Return the curve of a case beside the baseline; a model of strata has several of these."""
    target = explanation.target
    if not isinstance(target, SurvivalTarget) or target.strata:
        return {}
    case = case_over_time(target, explanation.score, target.horizons, baseline_curve(target, 0))
    drawing = case_chart(case, target.time_name, "case of average score")
    told = [f"at {at['text']}: {at['value']:.2f}" for at in case["survival"]]
    return {"curve": Markup(_picture(drawing)._repr_html_()), "told": ", ".join(told)}
