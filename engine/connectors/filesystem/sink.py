"""Write the files of a filesystem table."""

from __future__ import annotations

from engine.connectors.base import SinkContext, Table
from engine.connectors.files.partitions import Partitioner
from engine.connectors.files.plan import Layout
from engine.connectors.files.rolling_sink import RollingFilesSink, open_target
from engine.connectors.filesystem.options import FilesystemSinkOptions
from engine.formats.json.options import JsonOptions
from engine.formats.parquet import ParquetOptions


def open_filesystem_sink(table: Table, options: FilesystemSinkOptions, context: SinkContext) -> RollingFilesSink:
    """Return the sink of a table of files."""
    suffix = suffix_of(table) if options.suffix is None else options.suffix
    marks = options.time_pattern is not None and options.complete_marker
    layout = Layout(options.prefix, suffix, options.strategy, options.policy, len(options.fields), marks)
    partitioner = Partitioner(table.schema, options.fields, options.time_pattern)
    target = open_target(options.location, options, context)
    return RollingFilesSink(table, layout, partitioner, target, context, takes_over=options.existing == "take_over")


def suffix_of(table: Table) -> str:
    """Return the suffix of the table's file names."""
    match table.format:
        case ParquetOptions():
            return ".parquet"
        case JsonOptions(compression="gzip"):
            return ".json.gz"
        case JsonOptions():
            return ".json"
    return ".txt"
