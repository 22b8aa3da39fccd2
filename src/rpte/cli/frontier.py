"""`rpte frontier`: what fewer conditions cost, as found in training."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from rich.console import Group
from rich.table import Table
from rich.text import Text

from rpte.cli.options import AsJson, MaybePath, ModelFile, option
from rpte.cli.terminal import console, print_json, table_of
from rpte.model.file import load
from rpte.report.frontier import Frontier, read_frontier
from rpte.report.frontier_svg import draw_frontier
from rpte.report.frontier_text import ASCII, CHOSEN, plot_frontier
from rpte.utils.output import check_output, write_text
from rpte.report.frontier import (ASCII, CHOSEN, Frontier, draw_frontier, plot_frontier, read_frontier, )

WIDEST = 100


def frontier(
    model: ModelFile,
    svg: Annotated[MaybePath, option("Write the plot to this SVG file too.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the trade-off between conditions and validated deviance that a model file holds.

    Example: rpte frontier model.json --svg frontier.svg
    """
    check_output(svg, reads=[model])
    found = read_frontier(load(model))
    if svg is not None:
        write_text(draw_frontier(found), svg)
    if as_json:
        print_json(asdict(found))
        return
    out = console()
    out.print(frontier_view(found, min(out.width, WIDEST), out.options.ascii_only))
    if svg is not None:
        out.print(f"Wrote {svg}", soft_wrap=True)


def frontier_view(found: Frontier, width: int, ascii_only: bool = False) -> Group:
    """Return the table, the plot and how to read them."""
    plot = plot_frontier(found, width)
    chosen = f"{CHOSEN} chosen"
    if ascii_only:
        plot, chosen = plot.translate(ASCII), chosen.translate(ASCII)
    return Group(_table(found, chosen), "", Text(plot, no_wrap=True), "", *_notes(found))


def _table(found: Frontier, chosen: str) -> Table:
    names = (">conditions", ">components", ">validated deviance", ">error", ">explained", "")
    table = table_of(names)
    for p in found.points:
        numbers = (f"{p.deviance:.4f}", f"{p.error:.4f}", f"{found.share(p.deviance):.1%}")
        mark, style = (chosen, "bold") if p.chosen else ("", "")
        table.add_row(str(p.miu), str(p.components), *numbers, mark, style=style)
    return table


def _notes(found: Frontier) -> list[str]:
    best = found.null_deviance - found.explainable
    notes = [
        f"Explained: share of the deviance between the base rate ({found.null_deviance:.4f}) and "
        f"the best model found ({best:.4f}).",
        f"Price: one more condition had to explain {100 * found.price:.2g}% of it, a deviance of "
        f"{found.price * found.explainable:.4f}.",
        "The deviance was used to choose, so that of the chosen model is a little optimistic.",
    ]
    if not any(p.chosen for p in found.points):
        notes.append(
            "The model of this file is not listed: one with no more conditions validated better."
        )
    return notes
