"""Which script takes the place of which: the same arguments wherever two scripts are compared."""

from __future__ import annotations

from argparse import ArgumentParser

from engine.commands.base import path
from engine.commands.connection_file import add_connections_argument
from engine.commands.udf_files import add_udf_argument


def add_compared_arguments(parser: ArgumentParser, pipeline: str) -> None:
    """The arguments; `pipeline` is the help of `--pipeline`."""
    parser.add_argument("file", metavar="FILE", help="Read the new script from this file; - is standard input")
    running = parser.add_mutually_exclusive_group(required=True)
    running.add_argument(
        "--state-dir", metavar="DIR", type=path, help="Compare with the script whose state this directory holds"
    )
    running.add_argument(
        "--savepoint", metavar="DIR", type=path, help="Compare with the script whose savepoint is in this directory"
    )
    running.add_argument("--pipeline", metavar="NAME", help=pipeline)
    add_udf_argument(parser)
    parser.add_argument(
        "--old-udf",
        metavar="FILE.py",
        action="append",
        default=[],
        help="Take this as a file of functions of the old script; may be repeated (default: those of --udf)",
    )
    add_connections_argument(parser)
    parser.add_argument(
        "--keep-state",
        metavar="OPERATOR",
        action="append",
        default=[],
        help="Let this operator keep its state though other rows come to it now; may be repeated",
    )
    parser.add_argument(
        "--reset",
        metavar="NAME",
        action="append",
        default=[],
        help="Give up what this operator, source or sink has kept; may be repeated",
    )
    parser.add_argument(
        "--hold-back",
        metavar="OPERATOR",
        action="append",
        default=[],
        help="Let this operator, to which an aggregate is added, give out no windows that are open, instead of with "
        "NULL; may be repeated",
    )
    parser.add_argument(
        "--start-from",
        metavar="TABLE=POSITION",
        action="append",
        default=[],
        help="Let this table begin there, of which the state has no place yet, as in arroyo run; may be repeated",
    )
