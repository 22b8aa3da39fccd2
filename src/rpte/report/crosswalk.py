"""Which section answers what a rule or guideline asks, and what a person must still supply.

The items are in our own words and no substitute for the texts themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Item:
    """One thing asked for.

    Parameters
    ----------
    number : str
        As the text numbers it.
    asks : str
    sections : tuple of str
        Sections of the report that answer it.
    fields : tuple of str
        Fields of the about file that people must fill for it.
    beyond : str
        What neither the report nor the about file can hold.
    """

    number: str
    asks: str
    sections: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    beyond: str = ""


def _item(number: str, asks: str, sections: str = "", fields: str = "", beyond: str = "") -> Item:
    return Item(number, asks, tuple(sections.split()), tuple(fields.split()), beyond)


TRIPOD = (
    _item("1", "A title that names model, outcome and population", "summary", "model.name"),
    _item("2", "A structured abstract", beyond="written with the paper"),
    _item("3a", "The context of care and why a model is needed", "", "purpose.use purpose.benefit"),
    _item(
        "3b",
        "Who is meant, where, and who is meant to use it",
        "",
        "purpose.population purpose.users",
    ),
    _item("3c", "Known inequalities between groups", "subgroups", "limits.groups"),
    _item("4", "The aim: development, evaluation or both", "summary", "purpose.use"),
    _item("5a", "Sources of data and how representative they are", "data", "data.source"),
    _item("5b", "Dates of collection and follow-up", "", "data.period"),
    _item("6a", "Setting and places", "", "data.source purpose.population"),
    _item("6b", "Who was eligible", "", "data.inclusion"),
    _item("6c", "Treatments given, if they matter", "", "data.inclusion"),
    _item("7", "Preparation and quality checks of the data", "data", "data.preparation"),
    _item("8a", "Definition of the outcome and its horizon", "summary", "outcome.definition"),
    _item("8b", "Who judged the outcome, if it is a judgement", "", "outcome.labelling"),
    _item("8c", "Blinding of the judgement of the outcome", "", "outcome.labelling"),
    _item("9a", "How the first set of predictors was chosen", "data history", "data.preparation"),
    _item("9b", "Definition and measurement of each predictor", "data", "data.preparation"),
    _item("9c", "Who judged a predictor, if it is a judgement", "", "data.preparation"),
    _item("10", "Why the sample is large enough", "data model", "limits.known"),
    _item("11", "Handling of missing values", "data model", "limits.inputs"),
    _item("12a", "How the data were divided and used", "performance history", "data.inclusion"),
    _item("12b", "How predictors were handled (form, scale)", "model"),
    _item("12c", "Type of model, reasons, steps, tuning, internal validation", "history"),
    _item("12d", "Differences between sites or other clusters", "subgroups", "limits.groups"),
    _item("12e", "Measures of performance and why these", "performance"),
    _item("12f", "Updating of a model after evaluation", "ledger", "monitoring.changes"),
    _item("12g", "How predictions are computed in evaluation", "model cases provenance"),
    _item("13", "Handling of class imbalance", "data history"),
    _item("14", "Ways taken to address fairness, and why", "subgroups", "limits.groups"),
    _item("15", "The output of the model and any threshold", "performance", "purpose.use"),
    _item("16", "Differences between training and evaluation data", "data", "data.source"),
    _item("17", "Ethical approval and consent", "", "data.permission"),
    _item("18a, 18b", "Funding and conflicts of interest", "", "governance.funding"),
    _item("18c, 18d", "Protocol and registration", "", "governance.registration"),
    _item("18e, 18f", "Availability of data and code", "provenance", "governance.sharing"),
    _item("19", "Involvement of patients and the public", "", "governance.involvement"),
    _item("20a", "Flow of participants, with and without outcome", "data", "data.inclusion"),
    _item("20b, 20c", "Characteristics overall, and against development", "data"),
    _item("21", "Numbers of participants and events in each analysis", "data performance"),
    _item("22", "The full model, so that others can predict with it", "model provenance"),
    _item("23a", "Performance with intervals, also by key groups", "performance subgroups"),
    _item("23b", "Differences in performance between clusters", "subgroups"),
    _item("24", "Results of updating", "ledger"),
    _item("25", "Interpretation, fairness included", "", "limits.groups limits.known"),
    _item("26", "Limitations", "stability", "limits.known"),
    _item("27a", "What to do with poor or missing input", "model", "limits.inputs"),
    _item(
        "27b",
        "How users meet the model, and the skill they need",
        "",
        "purpose.users oversight.review",
    ),
    _item("27c", "Next steps", "", "monitoring.plan"),
)
ANNEX_IV = (
    _item(
        "1(a)",
        "Purpose, provider, version",
        "summary provenance",
        "model.name model.version model.owner purpose.use",
    ),
    _item(
        "1(b)-(g)",
        "Other systems, software, hardware, interface",
        "provenance",
        "",
        "the technical description of the product around the model",
    ),
    _item(
        "1(h)",
        "Instructions for use",
        "",
        "purpose.users purpose.out_of_scope",
        "the instructions themselves (Article 13)",
    ),
    _item("2(a)", "Methods and steps of development, tools of others", "history provenance"),
    _item(
        "2(b)",
        "Logic, design choices, assumptions, what is optimised",
        "model history",
        "purpose.population",
    ),
    _item(
        "2(c)",
        "Architecture and computing resources",
        "provenance",
        "",
        "the architecture of the product around the model",
    ),
    _item(
        "2(d)",
        "Training data: origin, scope, labelling, cleaning",
        "data",
        "data.source data.inclusion data.preparation outcome.labelling",
    ),
    _item(
        "2(e)",
        "Means of human oversight (Article 14)",
        "cases",
        "oversight.review oversight.override",
    ),
    _item("2(f)", "Changes determined beforehand", "ledger", "monitoring.changes"),
    _item(
        "2(g)",
        "Validation and testing, metrics, discrimination, dated reports",
        "performance subgroups stability guarantees",
        "governance.validation",
    ),
    _item("2(h)", "Cybersecurity", "provenance", "governance.security"),
    _item(
        "3",
        "Capabilities and limits, groups, risks, inputs, oversight",
        "performance subgroups data",
        "limits.known limits.groups limits.harm limits.inputs",
    ),
    _item("4", "Why the metrics suit the system", "performance", "purpose.use"),
    _item(
        "5",
        "Risk management (Article 9)",
        "",
        "limits.harm model.risk_tier",
        "the risk management file",
    ),
    _item("6", "Changes over the life cycle", "ledger", "monitoring.changes"),
    _item("7", "Standards applied", "", "governance.registration"),
    _item("8", "EU declaration of conformity", beyond="the declaration"),
    _item("9", "Monitoring after placing on the market (Article 72)", "", "monitoring.plan"),
)
SR_26_2 = (
    _item(
        "Purpose",
        "Purpose, design and limits of use",
        "summary",
        "purpose.use purpose.out_of_scope",
    ),
    _item(
        "Inventory",
        "An entry in the inventory, with owner and materiality",
        "provenance",
        "model.owner model.risk_tier",
    ),
    _item(
        "Data",
        "Quality and relevance of data",
        "data",
        "data.source data.inclusion data.preparation",
    ),
    _item("Development", "Evidence of development: choices, alternatives, testing", "history"),
    _item(
        "Soundness",
        "Conceptual soundness: drivers with sensible sign and shape",
        "model",
        "governance.validation",
    ),
    _item(
        "Assumptions", "Assumptions and handling of missing values", "data model", "limits.inputs"
    ),
    _item(
        "Recomputing",
        "Documentation from which others can build it again",
        "model history provenance",
    ),
    _item(
        "Outcomes", "Outcomes analysis: discrimination, calibration, back-testing", "performance"
    ),
    _item("Sensitivity", "Sensitivity and stability", "stability subgroups"),
    _item("Benchmarks", "Comparison with other models", "audit history"),
    _item("Limits", "Limitations and how they are lived with", "", "limits.known limits.harm"),
    _item(
        "Use", "Use, overrides and their records", "cases", "oversight.review oversight.override"
    ),
    _item(
        "Challenge",
        "Independent validation with effective challenge",
        "guarantees",
        "governance.validation",
    ),
    _item(
        "Monitoring",
        "Ongoing monitoring with triggers",
        "",
        "monitoring.plan monitoring.next_review",
    ),
    _item("Change", "Change control", "ledger", "monitoring.changes governance.approval"),
    _item("Governance", "Approval and accountability", "", "model.owner governance.approval"),
)
TEXTS: dict[str, tuple[str, tuple[Item, ...]]] = {
    "TRIPOD+AI (2024)": ("Items by number, in our words.", TRIPOD),
    "EU AI Act, Annex IV": ("Points of the technical documentation, in our words.", ANNEX_IV),
    "SR 26-2 / OCC 2026-13": (
        "Themes in our words; the guidance is principles-based and does not number them.",
        SR_26_2,
    ),
}


def crosswalk(filled: Mapping[str, str], present: Mapping[str, bool]) -> list[dict[str, Any]]:
    """Return every item with the sections that answer it and what is still open.

    Parameters
    ----------
    filled : mapping from field of the about file to text
    present : mapping from section to whether it has contents
    """
    found = []
    for name, (note, items) in TEXTS.items():
        rows = [_row(item, filled, present) for item in items]
        closed = sum(not row["open"] for row in rows)
        found.append({"name": name, "note": note, "rows": rows, "closed": closed})
    return found


def _row(item: Item, filled: Mapping[str, str], present: Mapping[str, bool]) -> dict[str, Any]:
    gaps = [field for field in item.fields if field not in filled]
    absent = [section for section in item.sections if not present.get(section, True)]
    return {
        "number": item.number,
        "asks": item.asks,
        "sections": list(item.sections),
        "absent": absent,
        "supplied": [field for field in item.fields if field in filled],
        "gaps": gaps,
        "beyond": item.beyond,
        "open": bool(gaps or absent or item.beyond),
    }
