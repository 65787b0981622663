"""`arroyo package`: make an archive of this Python for the executors of a Spark cluster."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path

from engine.cli.base import Command, path
from engine.cli.terminal import complain
from engine.errors import EngineError

FAILED = 1


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--output",
        type=path,
        default=Path("env.tar.gz"),
        metavar="FILE",
        help="Write the archive to this file; env.tar.gz by default",
    )


def _run(arguments: Namespace) -> int:
    from engine.spark.jvm.python_archive import package_python  # noqa: PLC0415 - `--help` must not pay for it

    try:
        made = package_python(arguments.output)
    except EngineError as error:
        complain(error)
        return FAILED
    print(  # noqa: T201 - the command's answer
        f"{made.path}: Python {made.python} for {made.platform} with {made.packages} packages, "
        f"{made.bytes / 1_000_000:.0f} MB; use it with --set executor_archive={made.path}"
    )
    return 0


PACKAGE = Command(_arguments, _run)
