"""`arroyo check`: is this a script that could run?"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from engine.commands.base import Command
from engine.commands.connection_file import add_connections_argument, connections_text
from engine.commands.terminal import complain, read_script, say
from engine.commands.udf_files import add_udf_argument, read_udf_files
from engine.errors import ScriptRefused


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="Read the script from this file; - is standard input")
    add_udf_argument(parser)
    add_connections_argument(parser)


def _run(arguments: Namespace) -> int:
    from engine.compile import compile_script  # noqa: PLC0415 - `--help` must not pay for the parser
    from engine.udf.requirements import check_requirements  # noqa: PLC0415 - nor for this

    script, udfs = read_script(arguments.file), read_udf_files(arguments.udf)
    try:
        check_requirements(udfs)
        program = compile_script(script, udfs=udfs, connections=connections_text(arguments))
    except ScriptRefused as error:
        complain(error, script)
        count = len(error.complaints)
        say(f"{count} error{'s' * (count != 1)}")
        return 2
    sources, sinks = len(program.scans), len({*(write.table for write in program.writes), *program.dead_letter_tables})
    say(f"ok: {sources} source{'s' * (sources != 1)}, {sinks} sink{'s' * (sinks != 1)}")
    return 0


CHECK = Command("check", "Report everything that is wrong with a script, without running it", _arguments, _run)
