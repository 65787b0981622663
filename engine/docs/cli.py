"""Reference of the command line: an index of all verbs, and a page for each group."""

from __future__ import annotations

from argparse import SUPPRESS, Action, ArgumentParser
from collections.abc import Callable, Sequence
from functools import partial

from engine.cli.verbs import GROUPS, Verb
from engine.docs.markdown import code, page, section, table

_PAGES = {
    "scripts, on this machine": ("cli/scripts", "Commands for scripts"),
    "pipelines of a control plane": ("cli/pipelines", "Commands for pipelines"),
    "savepoints and versions": ("cli/savepoints", "Commands for savepoints and versions"),
    "the control plane": ("cli/control-plane", "Commands for the control plane"),
}
"""Page of each group of the help, and its title."""


def cli_page() -> str:
    """Return the index of all verbs."""
    return page(
        "Command line",
        "`arroyo COMMAND`, or `python -m engine COMMAND`. Exit codes: 0 done, 2 refused, 3 failed while running, "
        "130 interrupted.",
        [section(_PAGES[group][1], _index(_PAGES[group][0], verbs)) for group, verbs in GROUPS],
    )


def cli_pages() -> dict[str, Callable[[], str]]:
    """Return a page for each group of verbs, by its path without the ending."""
    return {_PAGES[group][0]: partial(_group_page, _PAGES[group][1], verbs) for group, verbs in GROUPS}


def _index(path: str, verbs: Sequence[Verb]) -> str:
    rows = [[f"[`arroyo {verb.name}`]({path}.md#arroyo-{verb.name})", f"{verb.help}."] for verb in verbs]
    return table(["command", ""], rows)


def _group_page(title: str, verbs: Sequence[Verb]) -> str:
    return page(title, "[All commands](../cli.md)", map(_command, verbs))


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
