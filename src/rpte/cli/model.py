"""`rpte show` and `schema`: a whole model, and the form of every model file."""

import json
from typing import Annotated

import typer
from rich.text import Text

from rpte.cli.classes import classes_record, classes_view
from rpte.cli.options import AsJson, MaybePath, ModelFile, option
from rpte.cli.show import QUIET, model_record, model_view
from rpte.cli.terminal import console, print_json
from rpte.model.causes import CausesModel, one_event
from rpte.model.classes import ClassesModel, one_score
from rpte.model.file import load
from rpte.model.summary import head_lines
from rpte.report.draw import draw_model
from rpte.utils.output import check_output, write_text


def show(
    model: ModelFile,
    svg: Annotated[MaybePath, option("Write the model as a picture to this SVG file too.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the whole model: every term, nothing left out.

    Example: rpte show model.json
    """
    check_output(svg, reads=[model])
    loaded = load(model)
    if isinstance(loaded, CausesModel):
        _show_causes(loaded, svg, as_json)
        return
    if svg is not None:
        write_text(draw_model(one_score(loaded, "rpte show --svg")), svg)
    out = console()
    if isinstance(loaded, ClassesModel):
        record, view = classes_record(loaded), classes_view(loaded, out.width)
    else:
        record, view = model_record(loaded), model_view(loaded)
    if as_json:
        print_json(record)
        return
    out.print(Text("\n".join(head_lines(loaded)[1:]), QUIET), view)
    if svg is not None:
        out.print(f"Wrote {svg}", soft_wrap=True)


def _show_causes(model: CausesModel, svg: MaybePath, as_json: bool) -> None:
    """Show a model of several causes: hazard ratios, a column for each."""
    if svg is not None:
        one_event(model, "rpte show --svg")
    if not as_json:
        typer.echo(model.summary(every=True))
        return
    load, rules = model.audit(), [rule._asdict() for rule in model.rules()]
    told = {"causes": list(model.causes), "ownership": model.ownership, "terms": load.mu}
    print_json({**told, "conditions": load.miu, "bound": load.bound, "rules": rules})


def schema() -> None:
    """Print the JSON Schema that every model file obeys.

    A file of competing risks holds a file of this form for each cause.

    Example: rpte schema > rpte-model.schema.json
    """
    from rpte.model.format import SCHEMA

    typer.echo(json.dumps(SCHEMA, indent=1))
