"""`arroyo check`: is this a script that could run?"""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from engine.cli.arguments.connection_file import add_connections_argument, connections_text
from engine.cli.arguments.udf_files import add_udf_argument, read_udf_files
from engine.cli.base import Command
from engine.cli.terminal import complain, read_script, say
from engine.errors import EngineError, ScriptRefused


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="Read the script from this file; - is standard input")
    add_udf_argument(parser)
    add_connections_argument(parser)
    parser.add_argument("--json", action="store_true", help="Print JSON on standard output")


def _run(arguments: Namespace) -> int:
    from engine.compile import compile_script, warnings_about  # noqa: PLC0415 - `--help` must not pay for the parser
    from engine.udf.requirements import check_requirements  # noqa: PLC0415 - nor for this

    script, udfs = read_script(arguments.file), read_udf_files(arguments.udf)
    try:
        check_requirements(udfs)
        program = compile_script(script, udfs=udfs, connections=connections_text(arguments))
    except ScriptRefused as error:
        if arguments.json:
            print(json.dumps({"ok": False, "errors": [_plain(each) for each in error.complaints]}, indent=2))  # noqa: T201
            return 2
        complain(error, script)
        count = len(error.complaints)
        say(f"{count} error{'s' * (count != 1)}")
        return 2
    written = {*(write.table for write in program.writes), *program.dead_letter_tables}
    if arguments.json:
        warnings = [_plain(warning) for warning in warnings_about(script)]
        found = {
            "ok": True,
            "errors": [],
            "warnings": warnings,
            "sources": sorted(program.scans),
            "sinks": sorted(written),
        }
        print(json.dumps(found, indent=2))  # noqa: T201 - the command's answer
        return 0
    for warning in warnings_about(script):
        complain(warning, script, is_warning=True)
    sources, sinks = len(program.scans), len(written)
    say(f"ok: {sources} source{'s' * (sources != 1)}, {sinks} sink{'s' * (sinks != 1)}")
    return 0


def _plain(error: EngineError) -> dict[str, object]:
    """Return an error in the form that the API answers with."""
    place = None if error.at is None else {"line": error.at.line, "column": error.at.column}
    return {"code": error.code, "message": error.message, "hint": error.hint, "at": place}


CHECK = Command(_arguments, _run)
