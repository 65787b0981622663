"""`arroyo completion`: generate a shell completion script.

Decision: docs/decisions/shell-completion-is-written-by-shtab.md.
"""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace, _SubParsersAction

from engine.cli.base import Command


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh"), help="Print the script for this shell")


def _run(arguments: Namespace) -> int:
    print(completion_script(arguments.make_parser(), arguments.shell))  # noqa: T201 - the command's answer
    return 0


def completion_script(parser: ArgumentParser, shell: str) -> str:
    """Return the shell script that completes verbs, options and choices; every other value may be a file name."""
    import shtab  # noqa: PLC0415 - no other verb needs it

    verbs = next(action for action in parser._actions if isinstance(action, _SubParsersAction))  # noqa: SLF001
    for verb in verbs.choices.values():
        for action in verb._actions:  # noqa: SLF001
            if action.choices is None and action.nargs != 0:
                action.complete = shtab.FILE
    script = str(shtab.complete(parser, shell))
    # what zsh reads with `source` it would take for a file on its search path, and call at once
    return f"eval {shlex.quote(script)}" if shell == "zsh" else script


COMPLETION = Command(_arguments, _run)
