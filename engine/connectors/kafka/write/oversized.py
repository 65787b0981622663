"""Detect records that are too large for the client before they are sent, since one refused record fails its whole
transaction. With `bad_data = 'fail'` there is no check, and the client's error stops the job."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from engine.connectors.base import DeadLetter, Epoch, Table
from engine.connectors.kafka.client import ClientConfig
from engine.connectors.refused_rows import keep_refused

LOG = logging.getLogger(__name__)
_USUAL = 1_000_000
"""The client's default limit, which is a little below a broker's."""
_AROUND = 128
_AROUND_HEADER = 16
"""Upper bound of the bytes that the client adds to a record, and to a header."""


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """Largest size of the records of a table."""

    table: Table
    limit: int

    def split(self, records: pa.RecordBatch) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """Return the records within the limit, and those above it."""
        is_large = pc.greater(_sizes(records), self.limit)
        return records.filter(pc.invert(is_large)), records.filter(is_large)

    def keep_oversized(self, directory: Path, epoch: Epoch, batches: Iterable[pa.RecordBatch]) -> None:
        """Save the oversized records of an epoch as the table declares, and return how many there are."""
        dead_letters = [dead_letter for records in batches for dead_letter in self._dead_letters(records)]
        keep_refused(self.table, directory, epoch, dead_letters)
        if dead_letters:
            LOG.warning("%d rows of %s are too large for Kafka and were left out", len(dead_letters), self.table.name)

    def _dead_letters(self, records: pa.RecordBatch) -> Iterator[DeadLetter]:
        keys, values = (records.column(name).to_pylist() for name in ("key", "value"))
        for key, value, size in zip(keys, values, _sizes(records).to_pylist(), strict=True):
            origin = "a row" if key is None else f"a row with the key {key.decode(errors='replace')!r}"
            yield DeadLetter(origin, f"{size} bytes are more than 'message.max.bytes', {self.limit}", value or b"")


def size_limit_of(table: Table, client: ClientConfig) -> SizeLimit | None:
    """Return the largest record size of a table; None if an oversized record stops the job."""
    limit = client.get("message.max.bytes", _USUAL)
    return None if table.bad_data == "fail" else SizeLimit(table, int(str(limit)))


def _sizes(records: pa.RecordBatch) -> pa.Int64Array:
    sizes = pc.add(_length(records.column("key")), _length(records.column("value")))
    headers = records.column("headers")
    if headers.null_count < len(headers):
        header_sizes = [
            sum(len(header["name"].encode()) + len(header["value"] or b"") + _AROUND_HEADER for header in record or ())
            for record in headers.to_pylist()
        ]
        sizes = pc.add(sizes, pa.array(header_sizes, pa.int64()))
    return pc.add(sizes, _AROUND)


def _length(column: pa.BinaryArray) -> pa.Int64Array:
    return pc.fill_null(pc.binary_length(column), 0).cast(pa.int64())
