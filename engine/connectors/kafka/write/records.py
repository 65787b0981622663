"""Convert rows to Kafka records (key, value, timestamp, headers) as Arrow columns."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.connectors.schema_registry import subject_of
from engine.formats import make_encoder
from engine.formats.debezium.encode import DebeziumEncoder
from engine.formats.timestamps import to_millis

if TYPE_CHECKING:
    from engine.connectors.base import Table
    from engine.connectors.kafka.write.options import KafkaSinkOptions

RECORDS = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("timestamp", pa.int64()),
        ("headers", pa.list_(pa.struct([("name", pa.string()), ("value", pa.binary())]))),
    ]
)
"""One record per row. The timestamp is in milliseconds; 0 means the time of writing."""


class RecordMaker:
    """Makes the records of a table's rows. The last column is the event time unless `timestamp_field` is set."""

    def __init__(self, table: Table, options: KafkaSinkOptions) -> None:
        assert table.format is not None
        self._table = table
        self._options = options
        self._encoder = make_encoder(table.format, table.schema, subject_of(table, options.topic))

    def make(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return the records, in the order of the rows; a replaced row gives one record for both its versions."""
        contents = rows if self._options.timestamp_field else rows.select(list(range(rows.num_columns - 1)))
        if isinstance(self._encoder, DebeziumEncoder):
            values, origin = self._encoder.encode_changes(contents)
            rows = rows.take(origin)
        else:
            values = self._encoder.encode_messages(contents)
        columns = [self._keys(rows), values, self._timestamps(rows), self._headers(rows)]
        return pa.RecordBatch.from_arrays(columns, schema=RECORDS)

    def _keys(self, rows: pa.RecordBatch) -> pa.BinaryArray:
        if self._options.key_field is None:
            return pa.nulls(rows.num_rows, pa.binary())
        return self._column(rows, self._options.key_field).cast(pa.binary())

    def _timestamps(self, rows: pa.RecordBatch) -> pa.Int64Array:
        name = self._options.timestamp_field
        times = self._column(rows, name) if name else rows.column(rows.num_columns - 1)
        return pc.max_element_wise(pc.fill_null(to_millis(times), 0), 0)

    def _headers(self, rows: pa.RecordBatch) -> pa.ListArray:
        if self._options.headers_field is None:
            return pa.nulls(rows.num_rows, RECORDS.field("headers").type)
        column = self._column(rows, self._options.headers_field)
        if pa.types.is_list(column.type):
            return _named_headers(column)
        names = [field.name for field in column.type]
        values = [part.cast(pa.binary()).to_pylist() for part in column.flatten()]
        headers = [
            [{"name": name, "value": value} for name, value in zip(names, row, strict=True) if value is not None]
            for row in zip(*values, strict=True)
        ]
        return pa.array(headers, RECORDS.field("headers").type)

    def _column(self, rows: pa.RecordBatch, name: str) -> pa.Array:
        field = self._table.schema.find(name)
        assert field is not None
        return rows.column(self._table.schema.names.index(field.name))


def _named_headers(column: pa.ListArray) -> pa.ListArray:
    headers = [
        [{"name": name, "value": value} for name, value in map(dict.values, row or ()) if name is not None]
        for row in column.to_pylist()
    ]
    return pa.array(headers, RECORDS.field("headers").type)


def parts_of(keys: pa.BinaryArray, task: int, parts: int) -> npt.NDArray[np.int64]:
    """Assign each record to one of `parts`: equal keys to the same one, records without a key to the task's."""
    if parts == 1 or keys.null_count == len(keys):
        return np.full(len(keys), task % parts, np.int64)
    coded = keys.dictionary_encode()
    hashed = np.array([zlib.crc32(key) % parts for key in coded.dictionary.to_pylist()], np.int64)
    indices = coded.indices.fill_null(-1).to_numpy()
    return np.where(indices < 0, task % parts, hashed[indices])
