"""`arroyo explain`: show the plan of a script."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.arguments import (
    add_connections_argument,
    add_into_argument,
    add_udf_argument,
    connections_text,
    read_udf_files,
)
from engine.cli.base import Command, segment
from engine.cli.remote import add_connection, connect, errors_shown
from engine.cli.remote import say as say_remote
from engine.cli.scripts.run import read_set_arguments, without_interval
from engine.cli.terminal import complain, read_script, say
from engine.errors import EngineError, RequestError, ScriptRefused, SettingError
from engine.values.run_settings import read_run_settings
from engine.values.sink_prefix import writing_under

if TYPE_CHECKING:
    from engine.openlineage.datasets import Datasets, InputField


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
        "--cluster", action="store_true", help="Show instead what a run with these settings asks of its Spark cluster"
    )
    parser.add_argument(
        "--set",
        metavar="key=value",
        action="append",
        default=[],
        help="With --cluster: a setting of the run, as `arroyo run` takes it; may be repeated",
    )
    parser.add_argument(
        "--parallelism", metavar="P", type=int, default=1, help="With --cluster: the parallelism (default: 1)"
    )
    parser.add_argument(
        "--format", choices=("text", "json", "dot"), default="text", help="Show the plan in this form (default: text)"
    )


def _run(arguments: Namespace) -> int:
    from engine.compile import compile_script  # noqa: PLC0415 - `--help` must not pay for the parser
    from engine.connectors.redirected import describe_redirected  # noqa: PLC0415
    from engine.plan.explain import explain, explain_state  # noqa: PLC0415
    from engine.plan.state.panes import as_it_begins  # noqa: PLC0415
    from engine.spark.state.panes import is_all_there  # noqa: PLC0415

    if arguments.set and not arguments.cluster:
        raise SettingError("--set belongs to --cluster", hint="add --cluster")
    settings = read_run_settings(without_interval(read_set_arguments(arguments.set)))
    script = writing_under(read_script(arguments.file), arguments.into)
    try:
        program = compile_script(script, udfs=read_udf_files(arguments.udf), connections=connections_text(arguments))
    except ScriptRefused as error:
        complain(error, script)
        return 2
    if arguments.cluster:
        from engine.cli.scripts.explain_cluster import describe_cluster  # noqa: PLC0415

        fused = replace(program, is_fused=settings.fuse)
        print(describe_cluster(settings, fused, arguments.parallelism, os.environ), end="")  # noqa: T201
        return 0
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


def _arguments_check(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="Read the script from this file; - is standard input")
    add_udf_argument(parser)
    add_connections_argument(parser)
    parser.add_argument("--json", action="store_true", help="Print JSON on standard output")


def _run_check(arguments: Namespace) -> int:
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
    """Return an error in the form of the API."""
    place = None if error.at is None else {"line": error.at.line, "column": error.at.column}
    return {"code": error.code, "message": error.message, "hint": error.hint, "at": place}


CHECK = Command(_arguments_check, _run_check)


def _arguments_lineage(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="Read the script from this file; - is standard input")
    parser.add_argument("--pipeline", help="Choose a pipeline by name or id instead of a file")
    add_udf_argument(parser)
    add_connections_argument(parser)
    add_connection(parser)


@errors_shown
def _run_lineage(arguments: Namespace) -> int:
    if (arguments.file is None) == (arguments.pipeline is None):
        raise RequestError("give the file of a script, or --pipeline", hint="arroyo lineage hourly.sql")
    if arguments.pipeline is not None:
        return _show(arguments, _of_pipeline(arguments))
    from engine.compile import compile_script  # noqa: PLC0415 - `--help` must not pay for the parser
    from engine.openlineage.datasets import JobName, datasets_of  # noqa: PLC0415

    script = read_script(arguments.file)
    try:
        program = compile_script(script, udfs=read_udf_files(arguments.udf), connections=connections_text(arguments))
    except ScriptRefused as error:
        complain(error, script)
        return 2
    return _show(arguments, datasets_of(program, JobName("arroyo", Path(arguments.file).stem)))


def _of_pipeline(arguments: Namespace) -> Datasets:
    from engine.openlineage.datasets import Datasets  # noqa: PLC0415

    answer = connect(arguments).get(f"/pipelines/{segment(arguments.pipeline)}/lineage")
    return Datasets.model_validate(answer)


def _show(arguments: Namespace, datasets: Datasets) -> int:
    if arguments.json:
        say_remote(datasets.model_dump_json(by_alias=True, exclude_none=True, indent=2))
        return 0
    for line in _lines(datasets, _tables(datasets)):
        say_remote(line)
    return 0


def _tables(datasets: Datasets) -> Mapping[tuple[str, str, str], str]:
    """Return the script's tables of each column. Several tables may read one location."""
    tables: dict[tuple[str, str, str], list[str]] = {}
    for dataset in datasets.inputs:
        for column in dataset.facets.columns.fields:
            place = (dataset.namespace, dataset.name, column.name)
            tables.setdefault(place, []).append(dataset.facets.arroyo_table.table)
    return {place: "|".join(names) for place, names in tables.items()}


def _lines(datasets: Datasets, names: Mapping[tuple[str, str, str], str]) -> Iterator[str]:
    for dataset in datasets.outputs:
        table = dataset.facets.arroyo_table
        yield f"{table.table}: {table.uri or table.connector}"
        lineage = dataset.facets.column_lineage
        if lineage is None:
            yield "  where its columns come from is not known: it takes what could not be read or written"
            continue
        width = max(map(len, [*lineage.fields, "rows"]))
        for column, origins in lineage.fields.items():
            yield f"  {column.ljust(width)}  {_uses(origins.input_fields, names) or 'no column'}"
        yield f"  {'rows'.ljust(width)}  {_uses(lineage.dataset, names) or 'all'}"


def _uses(inputs: Sequence[InputField], names: Mapping[tuple[str, str, str], str]) -> str:
    """Return the columns, each with the ways in which it is used."""
    return ", ".join(
        f"{names[each.namespace, each.name, each.field]}.{each.field} "
        f"({', '.join(use.subtype.lower() + ', masked' * use.masking for use in each.transformations)})"
        for each in inputs
    )


LINEAGE = Command(_arguments_lineage, _run_lineage)
