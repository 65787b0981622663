"""One file of lines, read or written exactly once; for tests and experiments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine import types
from engine.connectors.base import Options, SinkContext, Table
from engine.connectors.files.beside import beside
from engine.connectors.kinds import Connector, SinkKind, SourceKind
from engine.connectors.single_file.options import SingleFileOptions, SingleFileSinkOptions
from engine.delivery.target_names import file_name
from engine.formats.base import RecordKind
from engine.schema import Field

if TYPE_CHECKING:
    from engine.connectors.single_file.sink import SingleFileSink
    from engine.connectors.single_file.source import SingleFileSource


def _open_source(table: Table) -> SingleFileSource:
    from engine.connectors.single_file.source import SingleFileSource  # noqa: PLC0415 - checks must not pay for Arrow

    assert isinstance(table.options, SingleFileOptions)
    return SingleFileSource(table, table.options.path)


def _open_sink(table: Table, context: SinkContext) -> SingleFileSink:
    from engine.connectors.single_file.sink import SingleFileSink  # noqa: PLC0415 - see `_open_source`

    assert isinstance(table.options, SingleFileSinkOptions)
    return SingleFileSink(table, table.options, context)


def _target_names(options: Options) -> Sequence[str]:
    assert isinstance(options, SingleFileSinkOptions)
    return (file_name(options.path),)


def _place(options: Options) -> str:
    assert isinstance(options, SingleFileOptions | SingleFileSinkOptions)
    return file_name(options.path)


def _reads(options: Options) -> Sequence[Path]:
    assert isinstance(options, SingleFileOptions)
    return (options.path,)


def _redirect(options: Options, prefix: str) -> Options:
    if not isinstance(options, SingleFileSinkOptions):
        return options
    return options.model_copy(update={"path": beside(options.path, prefix)})


SINGLE_FILE = Connector(
    name="single_file",
    summary="Reads or writes a single file of lines. After a crash the sink cuts the file back to what was committed.",
    source=SourceKind(
        options=SingleFileOptions,
        open=_open_source,
        place=_place,
        reads=_reads,
        is_all_there=lambda options: True,
    ),
    sink=SinkKind(
        options=SingleFileSinkOptions,
        open=_open_sink,
        place=_place,
        redirect=_redirect,
        target_names=_target_names,
        records_stand_alone=True,
        guarantee="exactly-once",
        limits=("Readers may see a part of an epoch while it is written; after a crash that part is cut off again.",),
    ),
    carries=frozenset({RecordKind.JSON, RecordKind.TEXT}),
    metadata={
        "filename": Field("filename", types.TEXT, nullable=False),
        "line": Field("line", types.BIGINT, nullable=False),
    },
)
