"""The verbs of the command line."""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentParser

from engine.cli.verbs import COMMANDS, Verb
from engine.docs.markdown import code, page, section, table


def cli_page() -> str:
    """Every verb and its arguments."""
    return page(
        "Command line",
        "`arroyo COMMAND`, or `python -m engine COMMAND`. Exit codes: 0 done, 2 refused, 3 failed while running, "
        "130 interrupted.",
        map(_command, COMMANDS),
    )


def _command(command: Verb) -> str:
    parser = ArgumentParser(prog=f"arroyo {command.name}", add_help=False)
    command.add_arguments(parser)
    actions = [action for action in parser._actions if action.help != SUPPRESS]  # noqa: SLF001 - argparse names no other way
    text = f"{command.help}."
    rows = [[code(_spelling(action)), action.help or ""] for action in actions]
    return section(f"arroyo {command.name}", text, table(["argument", ""], rows))


def _spelling(action: Action) -> str:
    words = action.metavar if isinstance(action.metavar, str) else None
    if action.choices is not None and words is None:
        words = "|".join(map(str, action.choices))
    if not action.option_strings:
        return words or action.dest
    if action.nargs == 0:
        return ", ".join(action.option_strings)
    return f"{', '.join(action.option_strings)} {words or action.dest.upper()}"
