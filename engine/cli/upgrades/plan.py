"""`arroyo plan`: preview the effect of a new script on the state."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace

from engine.cli.arguments import add_compared_arguments, connections_text, read_udf_files
from engine.cli.base import Command, Json, segment
from engine.cli.remote import add_connection, connect, errors_shown
from engine.cli.terminal import complain, read_script
from engine.errors import ScriptRefused
from engine.values.start_positions import read_starts


def _arguments(parser: ArgumentParser) -> None:
    add_compared_arguments(parser, "Compare with the current query of this pipeline")
    parser.add_argument(
        "--format",
        choices=("text", "json", "markdown"),
        default="text",
        help="Show the plan in this form (default: text)",
    )
    add_connection(parser)


@errors_shown
def _run(arguments: Namespace) -> int:
    if arguments.pipeline is not None:
        return _of_pipeline(arguments)
    return _of_state(arguments)


def _of_pipeline(arguments: Namespace) -> int:
    """Let the control plane, which has the state, plan the upgrade."""
    body: dict[str, Json] = {
        "query": read_script(arguments.file),
        "keep_state": arguments.keep_state,
        "reset": arguments.reset,
        "hold_back": arguments.hold_back,
    }
    if arguments.udf:
        body["udfs"] = [file.text for file in read_udf_files(arguments.udf)]
    if arguments.start_from:
        read_starts(arguments.start_from, "--start-from")
        body["settings"] = {"start_from": "; ".join(arguments.start_from)}
    answer = connect(arguments).send("POST", f"/pipelines/{segment(arguments.pipeline)}/plan", body)
    shown = answer if isinstance(answer, dict) else {}
    as_json = json.dumps(shown["plan"], indent=2) + "\n"
    print({**shown, "json": as_json}[arguments.format], end="")  # noqa: T201 - the command's answer
    return 2 if shown["is_refused"] else 0


def _of_state(arguments: Namespace) -> int:
    from engine.changes.compare import compare  # noqa: PLC0415 - `--help` must not pay for the parser
    from engine.changes.show import show, with_expected  # noqa: PLC0415
    from engine.changes.verdict import WITHOUT_A_CONTROL_PLANE  # noqa: PLC0415
    from engine.checkpoints.running_query import (  # noqa: PLC0415
        compile_running,
        query_of_savepoint,
        query_of_state,
    )
    from engine.compile import compile_script  # noqa: PLC0415
    from engine.inspection.summary import operator_figures  # noqa: PLC0415
    from engine.spark.read.starts import begun_for, counting_starts  # noqa: PLC0415

    starts = read_starts(arguments.start_from, "--start-from")
    script, udfs, connections = read_script(arguments.file), read_udf_files(arguments.udf), connections_text(arguments)
    old_udfs = read_udf_files(arguments.old_udf) or udfs
    try:
        after = compile_script(script, udfs=udfs, connections=connections)
    except ScriptRefused as error:
        complain(error, script)
        return 2
    query = query_of_savepoint(arguments.savepoint) if arguments.savepoint else query_of_state(arguments.state_dir)
    before = compile_running(query, udfs=old_udfs, connections=connections)
    plan = compare(before, after, keep_state=arguments.keep_state, reset=arguments.reset, hold_back=arguments.hold_back)
    if starts:
        counting_starts(after, starts, begun_for(query.place, after, arguments.reset, old_udfs, connections))
    plan = plan.with_starts(starts).with_figures(operator_figures(query.place, before))
    shown = show(plan, arguments.format)
    if not (plan.is_refused or plan.is_same):
        shown = with_expected(shown, WITHOUT_A_CONTROL_PLANE, arguments.format)
    print(shown, end="")  # noqa: T201 - the command's answer
    return 2 if plan.is_refused else 0


PLAN = Command(_arguments, _run)
