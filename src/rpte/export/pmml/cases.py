"""The cases that a PMML document carries: rows with their score and probability.

An engine that reads ``ModelVerification`` checks them whenever it loads the document, so that a
model which it computes in another way is never put to work. The rows are made from the model's
thresholds and levels; nobody's data is in them.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement

from rpte.export.cells import probe_table, read_cells
from rpte.export.evaluate import evaluate
from rpte.export.form import Form
from rpte.export.language import identifiers

CASES = 30
PROBES = 40  # of which the last quarter holds the largest and smallest numbers
PRECISION = "1E-12"


def verification(form: Form, prefix: str) -> Element:
    """Return the element with the cases; `prefix` is that of the output fields."""
    cells = read_cells(form, probe_table(form, PROBES))
    lines = evaluate(form, cells)
    results = ("score", "probability")
    inputs = [given.name for given in form.inputs]
    tags = dict(zip(inputs, identifiers(inputs), strict=True))
    counts = {"recordCount": str(CASES), "fieldCount": str(len(tags) + len(results))}
    element = Element("ModelVerification", counts)
    fields = SubElement(element, "VerificationFields")
    for name, tag in tags.items():
        SubElement(fields, "VerificationField", field=name, column=tag)
    for name in results:
        SubElement(
            fields, "VerificationField", field=prefix + name, column=name, precision=PRECISION
        )
    table = SubElement(element, "InlineTable")
    for place, cases in zip(range(CASES), cells.rows(), strict=False):
        row = SubElement(table, "row")
        shown = {tags[name]: cell for name, cell in cases.items() if cell is not None}
        shown |= {name: float(lines[name][place]) for name in results}
        for tag, cell in shown.items():
            SubElement(row, tag).text = cell if isinstance(cell, str) else repr(cell)
    return element
