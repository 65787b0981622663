"""`arroyo explain`: what would be done?"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace

from engine.cli.arguments.connection_file import add_connections_argument, connections_text
from engine.cli.arguments.into import add_into_argument
from engine.cli.arguments.udf_files import add_udf_argument, read_udf_files
from engine.cli.base import Command
from engine.cli.terminal import complain, read_script
from engine.errors import ScriptRefused
from engine.values.sink_prefix import writing_under


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="Read the script from this file; - is standard input")
    add_udf_argument(parser)
    add_connections_argument(parser)
    add_into_argument(parser)
    parser.add_argument(
        "--fuse",
        choices=("on", "off"),
        default="on",
        help="Show the plan for this value of the setting fuse (default: on)",
    )
    parser.add_argument(
        "--by-pane",
        choices=("on", "off"),
        help="Show the plan for this value of the setting by_pane (default: that of a new run)",
    )
    parser.add_argument(
        "--format", choices=("text", "json", "dot"), default="text", help="Show the plan in this form (default: text)"
    )


def _run(arguments: Namespace) -> int:
    from engine.compile import compile_script  # noqa: PLC0415 - `--help` must not pay for the parser
    from engine.connectors.redirected import describe_redirected  # noqa: PLC0415
    from engine.plan.explain import explain, explain_state  # noqa: PLC0415
    from engine.plan.state.panes import as_it_begins  # noqa: PLC0415
    from engine.spark.state.pane_choice import is_all_there  # noqa: PLC0415

    script = writing_under(read_script(arguments.file), arguments.into)
    try:
        program = compile_script(script, udfs=read_udf_files(arguments.udf), connections=connections_text(arguments))
    except ScriptRefused as error:
        complain(error, script)
        return 2
    is_by_pane = is_all_there(program) if arguments.by_pane is None else arguments.by_pane == "on"
    parts = as_it_begins(program.parts, program.operators) if is_by_pane else program.parts
    program = replace(program, parts=parts, is_fused=arguments.fuse == "on")
    ids = [operator.id for operator in program.operators]
    shown = explain(
        program.running_parts,
        arguments.format,
        is_whole=program.whole is not None,
        in_one_task=program.is_for_one_task,
        ids=ids,
    )
    if arguments.format == "text":
        shown += explain_state(program.parts, ids)
        if program.without_prefix != program.declared:
            lines = describe_redirected(program.without_prefix, program.declared)
            shown += "written elsewhere\n" + "".join(f"  {line}\n" for line in lines)
    print(shown, end="")  # noqa: T201 - the command's answer
    return 0


EXPLAIN = Command(_arguments, _run)
