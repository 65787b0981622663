"""`arroyo completion`, `arroyo jars` and `arroyo package`: additions to an installation.

Decision: docs/decisions/shell-completion-is-written-by-shtab.md.
"""

from __future__ import annotations

import os
import shlex
from argparse import ArgumentParser, Namespace, _SubParsersAction
from pathlib import Path

from engine.cli.base import Command, path
from engine.cli.terminal import complain
from engine.errors import EngineError


def _completion_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh"), help="Print the script for this shell")


def _run_completion(arguments: Namespace) -> int:
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


COMPLETION = Command(_completion_arguments, _run_completion)


FAILED = 1


def _jars_arguments(parser: ArgumentParser) -> None:
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--from", dest="source", type=path, metavar="FOLDER", help="Copy the archives from this folder")
    where.add_argument("--ivy-settings", type=path, metavar="FILE", help="Use these settings of Ivy, for a mirror")


def _run_jars(arguments: Namespace) -> int:
    from engine.spark.jvm.s3_jars import fetch_s3_jars  # noqa: PLC0415 - `--help` must not pay for it
    from engine.spark.jvm.start import spark_home  # noqa: PLC0415 - nor for this

    try:
        folder = fetch_s3_jars(os.environ, spark_home(), source=arguments.source, settings=arguments.ivy_settings)
    except EngineError as error:
        complain(error)
        return FAILED
    print(folder)  # noqa: T201 - the command's answer
    return 0


JARS = Command(_jars_arguments, _run_jars)


def _package_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--output",
        type=path,
        default=Path("env.tar.gz"),
        metavar="FILE",
        help="Write the archive to this file; env.tar.gz by default",
    )


def _run_package(arguments: Namespace) -> int:
    from engine.spark.jvm.executor_archives import package_python  # noqa: PLC0415 - `--help` must not pay for it

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


PACKAGE = Command(_package_arguments, _run_package)
