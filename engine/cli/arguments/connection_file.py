"""The file of connections that a command may be given."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from pathlib import Path

from engine.cli.base import path

_VARIABLE = "ARROYO__CONNECTIONS"


def add_connections_argument(parser: ArgumentParser) -> None:
    """The option that names it."""
    text = f"Load the CREATE CONNECTION statements of this file (default: the file that {_VARIABLE} names)"
    parser.add_argument("--connections", metavar="FILE.sql", type=path, help=text)


def connections_text(arguments: Namespace) -> str:
    """Its text."""
    from engine.settings import read_connections_file  # noqa: PLC0415 - `--help` must not pay for it

    named = arguments.connections or os.environ.get(_VARIABLE) or None
    return read_connections_file(None if named is None else Path(named))
