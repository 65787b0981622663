"""The `arroyo` command. Exit codes: 0 success, 2 refused, 3 failed while running, 130 interrupted."""

from __future__ import annotations

import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from typing import NoReturn

from engine import __version__
from engine.cli.terminal import EmptyArgumentError, UnreadableArgumentError, UnusableFileError, complain, is_text
from engine.cli.verbs import COMMANDS, GROUPS, Verb
from engine.errors import EngineError, RunError, StateError, message_of
from engine.values.near_names import did_you_mean

REFUSED = 2
FAILED = 3
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code. User errors end in a sentence, never in a traceback."""
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
    if not given:
        sys.stdout.write(make_overview().format_help())
        return 0
    # a verb is imported when it is used, and declares its arguments then
    named = tuple(command for command in COMMANDS if given[0] == command.name)
    parsed = (make_parser(named) if named else make_overview()).parse_args(given)

    def work() -> int:
        _refuse_unusable(parsed)
        code: int = parsed.run(parsed)
        return code

    return answer_errors(work)


def answer_errors(work: Callable[[], int]) -> int:
    """Return the exit code of some work; a failure is printed as a sentence."""
    try:
        return work()
    except EngineError as error:
        complain(error)
        return FAILED if isinstance(error, RunError) else exit_code(error)
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or message_of(error)
        unusable = UnusableFileError(f"{error.filename} cannot be used: {reason}" if error.filename else reason)
        complain(unusable)
        return exit_code(unusable)
    except KeyboardInterrupt:
        return INTERRUPTED


def _refuse_unusable(parsed: Namespace) -> None:
    """Raise for an empty argument: it would mean the same as a missing one, so a gate would open, or another control
    plane be used. Texts for people may be empty, and file names may be any bytes."""
    for name, value in vars(parsed).items():
        argument = f"the argument {name.replace('_', '-')}"
        if value == "" and name not in ("label", "reason"):
            raise EmptyArgumentError(
                f"{argument} is empty", hint="leave it out, or see that the variable is set that it comes from"
            )
        if isinstance(value, str) and name != "file" and not is_text(value):
            raise UnreadableArgumentError(f"{argument} is not UTF-8 text", hint="write it in UTF-8")


def exit_code(error: EngineError) -> int:
    """Return 2 if a command was refused and nothing has run, 3 if a run failed."""
    family = error.code.split(".")[0]
    refused = family in ("sql", "option", "setting", "cli", "auth", "pipeline", "savepoint", "duration")
    return REFUSED if refused or isinstance(error, StateError) else FAILED


_UNKNOWN_VERB = re.compile(r"argument COMMAND: invalid choice: '([^']*)'")


class _Overview(ArgumentParser):
    """Parser whose help shows the verbs in groups."""

    def error(self, message: str) -> NoReturn:
        """Exit with code 2. For an unknown verb, propose the nearest one."""
        unknown = _UNKNOWN_VERB.search(message)
        if unknown is None:
            super().error(message)
        hint = did_you_mean(unknown[1], [command.name for command in COMMANDS]) or "see `arroyo --help`"
        super().error(f"there is no command {unknown[1]!r}; {hint}")

    def format_help(self) -> str:
        """Return usage, verbs by group, options and exit codes, within 80 columns."""
        lines = [self.format_usage().rstrip(), "", self.description or ""]
        for title, verbs in GROUPS:
            lines += ["", f"{title}:", *(f"  {verb.name:<15} {verb.help}" for verb in verbs)]
        options = [(", ".join(action.option_strings), action.help) for action in self._actions if action.option_strings]
        lines += ["", "options:", *(f"  {names:<15} {text}" for names, text in options)]
        lines += ["", "`arroyo COMMAND --help` shows the arguments of a command.", self.epilog or ""]
        return "\n".join(lines) + "\n"


def make_overview() -> ArgumentParser:
    """Return the parser that knows every verb by name, without their arguments."""
    return _make_parser(COMMANDS, with_arguments=False)


def make_parser(commands: Sequence[Verb] = COMMANDS) -> ArgumentParser:
    """Return the parser of these commands."""
    return _make_parser(commands, with_arguments=True)


def _make_parser(commands: Sequence[Verb], *, with_arguments: bool) -> ArgumentParser:
    parser = _Overview(
        prog="arroyo",
        description="Run streaming SQL as long-running jobs on Spark.",
        epilog="exit codes: 0 done, 2 refused, 3 failed while running, 130 interrupted",
        add_help=False,
    )
    parser.add_argument("-h", "--help", action="help", help="Show this help and exit")
    parser.add_argument(
        "--version", action="version", version=f"arroyo {__version__}", help="Show the version and exit"
    )
    verbs = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=ArgumentParser)
    for command in commands:
        verb = verbs.add_parser(command.name, help=command.help, description=command.help, add_help=False)
        verb.add_argument("-h", "--help", action="help", help="Show this help and exit")
        if with_arguments:
            command.add_arguments(verb)
        verb.set_defaults(run=command.run, make_parser=make_parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
