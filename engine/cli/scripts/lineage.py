"""`arroyo lineage`: where does each column come from?"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.arguments.connection_file import add_connections_argument, connections_text
from engine.cli.arguments.udf_files import add_udf_argument, read_udf_files
from engine.cli.base import Command
from engine.cli.client import segment
from engine.cli.remote import add_connection, connect, errors_shown, say
from engine.cli.terminal import complain, read_script
from engine.errors import RequestError, ScriptRefused

if TYPE_CHECKING:
    from engine.openlineage.datasets import Datasets, InputField


def _arguments(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="Read the script from this file; - is standard input")
    parser.add_argument("--pipeline", help="Choose a pipeline by name or id instead of a file")
    add_udf_argument(parser)
    add_connections_argument(parser)
    add_connection(parser)


@errors_shown
def _run(arguments: Namespace) -> int:
    if (arguments.file is None) == (arguments.pipeline is None):
        raise RequestError("give the file of a script, or --pipeline", hint="arroyo lineage hourly.sql")
    if arguments.pipeline is not None:
        return _show(arguments, _of_pipeline(arguments))
    from engine.compile import compile_script  # noqa: PLC0415 - `--help` must not pay for the parser
    from engine.openlineage.datasets import datasets_of  # noqa: PLC0415
    from engine.openlineage.names import JobName  # noqa: PLC0415

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
        say(datasets.model_dump_json(by_alias=True, exclude_none=True, indent=2))
        return 0
    for line in _lines(datasets, _tables(datasets)):
        say(line)
    return 0


def _tables(datasets: Datasets) -> Mapping[tuple[str, str, str], str]:
    """Return the script's tables of each column. Several tables may read one place."""
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
    """The columns, each with the ways in which it is used."""
    return ", ".join(
        f"{names[each.namespace, each.name, each.field]}.{each.field} "
        f"({', '.join(use.subtype.lower() + ', masked' * use.masking for use in each.transformations)})"
        for each in inputs
    )


LINEAGE = Command(_arguments, _run)
