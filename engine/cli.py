"""The `arroyo` command. Exit codes: 0 done, 2 refused, 3 failed while running, 130 interrupted."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence

from engine import __version__
from engine.commands import REMOTE
from engine.commands.backup import BACKUP, RESTORE_BACKUP
from engine.commands.base import Command
from engine.commands.check import CHECK
from engine.commands.complete import COMPLETION
from engine.commands.explain import EXPLAIN
from engine.commands.lineage import LINEAGE
from engine.commands.plan import PLAN
from engine.commands.rehearse import REHEARSE, UPGRADE
from engine.commands.run import RUN
from engine.commands.state import STATE
from engine.commands.terminal import (
    EmptyArgumentError,
    UnreadableArgumentError,
    UnusableFileError,
    complain,
    is_text,
)
from engine.commands.warm import WARM
from engine.errors import EngineError, RunError, StateError

REFUSED = 2
FAILED = 3
INTERRUPTED = 130

COMMANDS: tuple[Command, ...] = (
    *(RUN, WARM, CHECK, EXPLAIN, LINEAGE, PLAN, REHEARSE, UPGRADE, STATE),
    *REMOTE,
    *(BACKUP, RESTORE_BACKUP, COMPLETION),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. What a user can get wrong ends in a sentence, never in a traceback."""
    try:
        try:
            return _answer(arguments)
        finally:
            # what is still in the buffer meets a closed pipe here, and not when the interpreter ends
            sys.stdout.flush()
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        return FAILED


def _answer(arguments: Sequence[str] | None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    # the arguments of all others take 20 ms to declare
    named = tuple(command for command in COMMANDS if given[:1] == [command.name])
    parsed = make_parser(named or COMMANDS).parse_args(given)

    def work() -> int:
        _refuse_unusable(parsed)
        code: int = parsed.run(parsed)
        return code

    return answer_errors(work)


def answer_errors(work: Callable[[], int]) -> int:
    """The exit code of some work; what it fails with is a sentence."""
    try:
        return work()
    except EngineError as error:
        complain(error)
        return FAILED if isinstance(error, RunError) else exit_code(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        unusable = UnusableFileError(f"{error.filename} cannot be used: {reason}" if error.filename else reason)
        complain(unusable)
        return exit_code(unusable)
    except KeyboardInterrupt:
        return INTERRUPTED


def _refuse_unusable(parsed: Namespace) -> None:
    """Nobody means what a verb does without an argument by an empty one: a gate would open, another control plane be
    called. Texts for people may be empty, and names of files any bytes."""
    for name, value in vars(parsed).items():
        argument = f"the argument {name.replace('_', '-')}"
        if value == "" and name not in ("label", "reason"):
            raise EmptyArgumentError(
                f"{argument} is empty", hint="leave it out, or see that the variable is set that it comes from"
            )
        if isinstance(value, str) and name != "file" and not is_text(value):
            raise UnreadableArgumentError(f"{argument} is not UTF-8 text", hint="write it in UTF-8")


def exit_code(error: EngineError) -> int:
    """2 when a command was refused and nothing has run, 3 when a run failed."""
    family = error.code.split(".")[0]
    refused = family in ("sql", "option", "setting", "cli", "auth", "pipeline", "savepoint", "duration")
    return REFUSED if refused or isinstance(error, StateError) else FAILED


def make_parser(commands: Sequence[Command] = COMMANDS) -> ArgumentParser:
    """The parser of these commands."""
    parser = ArgumentParser(
        prog="arroyo",
        description="Run streaming SQL as long-running jobs on Spark.",
        epilog="exit codes: 0 done, 2 refused, 3 failed while running, 130 interrupted",
        formatter_class=RawDescriptionHelpFormatter,
        add_help=False,
    )
    parser.add_argument("-h", "--help", action="help", help="Show this help and exit")
    parser.add_argument(
        "--version", action="version", version=f"arroyo {__version__}", help="Show the version and exit"
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in commands:
        verb = verbs.add_parser(command.name, help=command.help, description=command.help, add_help=False)
        verb.add_argument("-h", "--help", action="help", help="Show this help and exit")
        command.add_arguments(verb)
        verb.set_defaults(run=command.run, make_parser=make_parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
