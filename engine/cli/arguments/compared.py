"""Which script takes the place of which: the same arguments wherever two scripts are compared."""

from __future__ import annotations

from argparse import ArgumentParser

from engine.cli.arguments.connection_file import add_connections_argument
from engine.cli.arguments.udf_files import add_udf_argument
from engine.cli.base import path


def add_compared_arguments(parser: ArgumentParser, pipeline: str) -> None:
    """The arguments; `pipeline` is the help of `--pipeline`."""
    parser.add_argument("file", metavar="FILE", help="Read the new script from this file; - is standard input")
    running = parser.add_mutually_exclusive_group(required=True)
    running.add_argument(
        "--state-dir", metavar="DIR", type=path, help="Compare with the script of the state in this directory"
    )
    running.add_argument(
        "--savepoint", metavar="DIR", type=path, help="Compare with the script of the savepoint in this directory"
    )
    running.add_argument("--pipeline", metavar="NAME", help=pipeline)
    add_udf_argument(parser)
    parser.add_argument(
        "--old-udf",
        metavar="FILE.py",
        action="append",
        default=[],
        help="Use the Python functions of this file for the old script; may be repeated (default: those of --udf)",
    )
    add_connections_argument(parser)
    parser.add_argument(
        "--keep-state",
        metavar="OPERATOR",
        action="append",
        default=[],
        help="Keep the state of this operator although its input has changed; may be repeated",
    )
    parser.add_argument(
        "--reset",
        metavar="NAME",
        action="append",
        default=[],
        help="Discard the state of this operator, or the position of this source or sink; may be repeated",
    )
    parser.add_argument(
        "--hold-back",
        metavar="OPERATOR",
        action="append",
        default=[],
        help="Suppress windows of this operator that were open during the upgrade, instead of emitting NULL for the "
        "new aggregate; may be repeated",
    )
    parser.add_argument(
        "--start-from",
        metavar="TABLE=POSITION",
        action="append",
        default=[],
        help="Set where a table that is new to the state starts, as in `arroyo run`; may be repeated",
    )
