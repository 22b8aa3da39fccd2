"""The help of commands: what fits a screen with `--help`, everything with `--help-all`.

A command whose whole help fits a screen shows it; of a longer one, `--help` shows what it does, an
example and the options of `FIRST_SCREEN`. What a command does and its examples are the paragraphs
of its docstring.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterable, Iterator
from textwrap import wrap
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

SCREEN = 36  # lines: a screen of 40 shows the call and the next prompt, too
NARROW, WIDE = 60, 100  # columns
INDENT = "  "
LONGEST_LABEL = 22  # beyond it the help of an option begins on the next line
OPTIONS = "Options"
ALL = "--help-all"
A_CALL = re.compile(r"[A-Z][^:.]{,40}: rpte ")  # how a paragraph with an example begins
START = (
    "Usage:   rpte COMMAND [OPTIONS]; rpte COMMAND --help says more",
    "Example: rpte fit loans.csv --target bad -o model.json",
)

FIRST_SCREEN = {
    "fit": "output target task positive time event exposure special id-column group-column "
    "max-inspection-units monotone exclude folds",
    "score": "output id-column class threshold contributions interval exposure horizon",
    "explain": "row id id-column mean class against exposure horizon svg json",
    "reasons": "row template output catalogue adverse most threshold against id-column horizon "
    "json",
    "counterfactual": "row id id-column to to-class side keep increase decrease allow at-most "
    "answers horizon json",
    "uncertainty": "target time event row id resamples level groups json",
    "verify": "target time event exposure weight-column key-file json",
    "edit": "output by reason drop-term drop-source merge refit table target force",
    "decide": "output id-column threshold catalogue adverse most replace horizon",
    "report": "output target time event by about template threshold horizon peers stability cases "
    "json",
    "export": "output to check dialect table-name contributions reasons horizon option",
}
# What stands for the value of an option.
VALUES = {
    "FILE": "about actions catalogue check key-file model output refit svg table template",
    "FOLDER": "cache-dir",
    "COLUMN": "by entry event exposure group-column groups id-column offset strata target time "
    "weight-column",
    "NAME": "decrease drop-source exclude increase keep linear-only may-change table-name",
    "NAME=...": "allow cost monotone option penalty set special step",
    "NAMES": "together",
    "TERM": "drop-term",
    "TERMS": "merge",
    "CLASS": "adverse against class positive to-class",
    "N": "answers at-most folds jobs max-component-sources max-inspection-units most reasons "
    "resamples seed stability",
    "NUMBER": "audit-price interval least level max-fit-seconds power threshold",
    "TIME": "horizon when",
    "ROW": "row",
    "ADDRESS": "scheduler",
    "TEXT": "dialect event-value order form head id l1 loss missing ownership profile reason "
    "reference side task",
}
VALUE_OF = {name: value for value, names in VALUES.items() for name in names.split()}
SPECIAL_VALUES = {  # where a name means something else in one command
    ("counterfactual", "to"): "NUMBER",
    ("edit", "by"): "TEXT",
    ("export", "to"): "TARGET",
    ("report", "against"): "COLUMN",
    ("report", "peers"): "FILE",
}


class HelpCommand(TyperCommand):
    """A command that shows a screen of help with `--help`, and all of it with `--help-all`."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help that fits a screen; as typer's own, past the formatter."""
        typer.echo("\n".join(first_screen(self)))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments, unless all of the help is asked for."""
        if ALL in args:
            typer.echo("\n".join(whole_help(self)))
            ctx.exit()
        return super().parse_args(ctx, args)


class HelpGroup(TyperGroup):
    """All commands, by what they are for."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print one line for each command, below a head for each group of them."""
        typer.echo("\n".join(overview(self)))


def overview(group: TyperGroup) -> list[str]:
    """Return the lines about all commands."""
    lines = [*_text(group.help or ""), "", *START]
    groups: dict[str, list[tuple[str, str]]] = {}
    for name, command in group.commands.items():
        entry = name, paragraphs(command)[0]
        groups.setdefault(str(getattr(command, "rich_help_panel", "")), []).append(entry)
    for head, entries in groups.items():
        lines += ["", _bold(head), *_entries(entries, 2 + max(map(len, group.commands)))]
    return lines


def first_screen(command: TyperCommand) -> list[str]:
    """Return the whole help of a command if it fits a screen, else the most useful part."""
    lines = whole_help(command)
    if len(lines) <= SCREEN or command.name not in FIRST_SCREEN:
        return lines
    text = paragraphs(command)
    shown = [text[0], next(p for p in text if A_CALL.match(p))]
    first = FIRST_SCREEN[command.name].split()
    parameters = [p for p in command.params if is_argument(p) or option_name(p) in first]
    more = sum(not is_argument(p) for p in command.params) - len(first)
    end = f"{more} more options and what else there is to know: rpte {command.name} {ALL}"
    return [*_lines(command, shown, parameters, brief=True), "", *_text(end)]


def whole_help(command: TyperCommand) -> list[str]:
    """Return everything about a command."""
    return _lines(command, paragraphs(command), command.params)


def paragraphs(command: Any) -> list[str]:
    """Return the paragraphs of a command's docstring, each on one line."""
    return [" ".join(part.split()) for part in (command.help or "").split("\n\n")]


def examples(command: Any) -> list[list[str]]:
    """Return the calls that a command's help shows, as a shell reads them."""
    calls = [p.split(": ", 1)[1] for p in paragraphs(command) if A_CALL.match(p)]
    return [shlex.split(call) for call in calls]


def is_argument(parameter: Any) -> bool:
    """Tell whether a parameter is given by its place."""
    return bool(parameter.param_type_name == "argument")


def option_name(parameter: Any) -> str:
    """Return the long name of an option, without its dashes."""
    return str(max(parameter.opts, key=len)).removeprefix("--")


def _lines(
    command: TyperCommand, text: list[str], parameters: Iterable[Any], brief: bool = False
) -> list[str]:
    """Return usage, text, arguments and options; of these the first sentence where `brief`."""
    lines = _usage(command)
    for paragraph in text:
        lines += ["", *(_call(paragraph) if A_CALL.match(paragraph) else _text(paragraph))]
    panels: dict[str, list[tuple[str, str]]] = {OPTIONS: []}
    for parameter in parameters:
        head = OPTIONS if is_argument(parameter) else parameter.rich_help_panel or OPTIONS
        label = _label(str(command.name), parameter)
        panels.setdefault(head, []).append((label, _said(parameter, brief)))
    width = max((len(label) for entries in panels.values() for label, _ in entries), default=0)
    for head, entries in panels.items():
        if entries:
            lines += ["", _bold(head), *_entries(entries, min(width, LONGEST_LABEL) + 2)]
    return lines


def _usage(command: TyperCommand) -> list[str]:
    words = []
    for parameter in command.params:
        if is_argument(parameter):
            name = _label("", parameter)
            words.append(name if parameter.required else f"[{name}]")
        elif parameter.required:
            words.append(_label(str(command.name), parameter, short=True))
    return _text(" ".join(["Usage: rpte", str(command.name), *words, "[OPTIONS]"]))


def _label(command: str, parameter: Any, short: bool = False) -> str:
    """Return a parameter as it is written, such as ``-o, --output FILE``."""
    if is_argument(parameter):
        return str(parameter.name).upper() + ("..." if parameter.nargs == -1 else "")
    names = sorted(parameter.opts, key=len)
    text = names[0] if short else ", ".join(names)
    if parameter.secondary_opts:
        text += f"/{parameter.secondary_opts[0]}"
    return text if parameter.is_flag else f"{text} {value_word(command, parameter)}"


def value_word(command: str, parameter: Any) -> str:
    """Return what stands for the value of an option in the help of a command."""
    name = option_name(parameter)
    return SPECIAL_VALUES.get((command, name)) or VALUE_OF[name]


def _said(parameter: Any, brief: bool) -> str:
    """Return the help of a parameter, with its default where there is one to know."""
    text, default = parameter.help or "", parameter.default
    if brief:
        text = text.split(". ")[0].rstrip(".") + "."
    if parameter.required and not is_argument(parameter):
        return f"{text} Required."
    known = isinstance(default, str | int | float) and not isinstance(default, bool)
    return f"{text} Default: {default}." if known and default != "" else text


def _width() -> int:
    return min(max(shutil.get_terminal_size((80, SCREEN)).columns, NARROW), WIDE)


def _text(text: str) -> list[str]:
    return wrap(text, _width(), break_on_hyphens=False)


def _call(paragraph: str) -> list[str]:
    """Return an example; one that is longer than a line goes on as a shell reads it."""
    head, call = paragraph.split(": ", 1)
    kept = re.sub(" (?!-)", "\xa0", call)  # an option stays beside its value
    lines = [line.replace("\xa0", " ") for line in wrap(kept, _width() - 4, break_on_hyphens=False)]
    lines[1:] = [INDENT + line for line in lines[1:]]
    return [f"{_bold(head)}:", *(INDENT + line + " \\" for line in lines[:-1]), INDENT + lines[-1]]


def _entries(entries: Iterable[tuple[str, str]], column: int) -> Iterator[str]:
    """Yield labels with what is said of them beside."""
    for label, said in entries:
        room = _width() - len(INDENT) - column
        first, *others = wrap(said, room, break_on_hyphens=False) or [""]
        if len(label) > column - 2:
            yield INDENT + label
            label = ""
        yield f"{INDENT}{label:<{column}}{first}".rstrip()
        yield from (" " * (len(INDENT) + column) + line for line in others)


def _bold(text: str) -> str:
    return typer.style(text, bold=True)
