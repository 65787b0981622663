"""`arroyo jars`: fetch the Java archives that Spark needs for S3."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace

from engine.cli.base import Command, path
from engine.cli.terminal import complain
from engine.errors import EngineError

FAILED = 1


def _arguments(parser: ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--from", dest="source", type=path, metavar="FOLDER", help="Copy the archives from this folder")
    where.add_argument("--ivy-settings", type=path, metavar="FILE", help="Use these settings of Ivy, for a mirror")


def _run(arguments: Namespace) -> int:
    from engine.spark.jvm.s3_jars import fetch_s3_jars  # noqa: PLC0415 - `--help` must not pay for it
    from engine.spark.jvm.start import spark_home  # noqa: PLC0415 - nor for this

    try:
        folder = fetch_s3_jars(os.environ, spark_home(), source=arguments.source, settings=arguments.ivy_settings)
    except EngineError as error:
        complain(error)
        return FAILED
    print(folder)  # noqa: T201 - the command's answer
    return 0


JARS = Command(_arguments, _run)
