"""The files of functions that a command names."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.terminal import read_script

if TYPE_CHECKING:
    from engine.udf.declared import UdfFile


def add_udf_argument(parser: ArgumentParser) -> None:
    """The option that names them."""
    parser.add_argument(
        "--udf",
        metavar="FILE.py",
        action="append",
        default=[],
        help="Use the Python functions of this file; may be repeated",
    )


def read_udf_files(paths: Sequence[str]) -> tuple[UdfFile, ...]:
    """Their texts."""
    from engine.udf.declared import UdfFile  # noqa: PLC0415 - `--help` must not pay for it

    return tuple(UdfFile(Path(path).name, read_script(path)) for path in paths)
