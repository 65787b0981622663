"""Decode raw text into a single text column, and encode such a column."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from engine.formats.base import BadRecord, Decoded
from engine.formats.lines import split_lines

_SCHEMA = pa.schema([("value", pa.string())])


class RawTextDecoder:
    """Decodes records as UTF-8; anything else is a bad record."""

    def decode_lines(self, block: bytes) -> Decoded:
        """Decode newline-delimited records; blank lines are records too."""
        return self.decode_messages(split_lines(block))

    def decode_messages(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode one record per payload; NULL payloads are skipped."""
        try:
            if not payloads.null_count:
                return Decoded(_rows(payloads.cast(pa.string())), None)
        except pa.ArrowInvalid:
            pass  # some payload is not UTF-8: find out which
        texts: list[str] = []
        origin: list[int] = []
        bad: list[BadRecord] = []
        for index, payload in enumerate(payloads.to_pylist()):
            if payload is None:
                continue
            try:
                texts.append(payload.decode())
                origin.append(index)
            except UnicodeDecodeError as error:
                bad.append(BadRecord(index, f"it is not UTF-8: {error.reason} at byte {error.start}", payload))
        return Decoded(_rows(pa.array(texts, pa.string())), pa.array(origin, pa.int64()), bad)


def _rows(values: pa.StringArray) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([values], schema=_SCHEMA)


class RawTextEncoder:
    """Encodes text as UTF-8; NULL is an empty record."""

    def encode_lines(self, rows: pa.RecordBatch) -> bytes:
        """Return one line per row, each ended by a newline."""
        values = pc.fill_null(rows.column(0), "")
        if not len(values):
            return b""
        joined = pc.binary_join(pa.ListArray.from_arrays([0, len(values)], values), "\n")[0].as_py()
        return f"{joined}\n".encode()

    def encode_messages(self, rows: pa.RecordBatch) -> pa.BinaryArray:
        """Return one payload per row."""
        return rows.column(0).cast(pa.binary())
