"""`python -m airflow_provider_arroyo`: the commands of `airflow arroyo`, for an Airflow that does not load commands of
providers."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from typing import Any

from airflow.cli.cli_config import CLICommand, GroupCommand

from airflow_provider_arroyo.cli import get_commands


def build_parser() -> ArgumentParser:
    """Build a parser of the commands that Airflow gets from `cli.get_commands`, without the group `arroyo`."""
    parser = ArgumentParser(prog="python -m airflow_provider_arroyo", description="Commands of `airflow arroyo`")
    verbs = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in get_commands():
        for verb in command.subcommands if isinstance(command, GroupCommand) else (command,):
            _add(verbs, verb)
    return parser


def _add(verbs: Any, command: CLICommand) -> None:
    """Add one command with its arguments."""
    parser = verbs.add_parser(command.name, help=command.help, description=command.help, epilog=command.epilog)
    for argument in command.args:  # type: ignore[union-attr]  # groups of groups are not used
        argument.add_to_parser(parser)
    parser.set_defaults(func=command.func)  # type: ignore[union-attr]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; findings and refusals exit with a code."""
    parsed: Namespace = build_parser().parse_args(arguments)
    parsed.func(parsed)


if __name__ == "__main__":
    main(sys.argv[1:])
