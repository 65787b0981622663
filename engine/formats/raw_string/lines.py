"""Raw text to rows and back."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from engine.formats.base import BadRecord, Decoded
from engine.formats.lines import split_lines

_SCHEMA = pa.schema([("value", pa.string())])


class RawTextDecoder:
    """A record's bytes are its text; what is not UTF-8 is a bad record."""

    def decode_lines(self, block: bytes) -> Decoded:
        """Decode newline-delimited records; blank lines are records too."""
        return self.decode_messages(split_lines(block))

    def decode_messages(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode one record per payload; NULL payloads are skipped."""
        try:
            if not payloads.null_count:
                return Decoded(_rows(payloads.cast(pa.string())), None)
        except pa.ArrowInvalid:
            pass  # one of them is not UTF-8: find out which
        texts: list[str] = []
        origin: list[int] = []
        bad: list[BadRecord] = []
        for index, payload in enumerate(payloads.to_pylist()):
            if payload is None:
                continue
            try:
                texts.append(payload.decode())
                origin.append(index)
            except UnicodeDecodeError as wrong:
                bad.append(BadRecord(index, f"it is not UTF-8: {wrong.reason} at byte {wrong.start}", payload))
        return Decoded(_rows(pa.array(texts, pa.string())), pa.array(origin, pa.int64()), bad)


class RawTextEncoder:
    """A row's text is its bytes; NULL is written as nothing."""

    def encode_lines(self, rows: pa.RecordBatch) -> bytes:
        """One line per row, each ended by a newline."""
        values = pc.fill_null(rows.column(0), "")
        if not len(values):
            return b""
        joined = pc.binary_join(pa.ListArray.from_arrays([0, len(values)], values), "\n")[0].as_py()
        return f"{joined}\n".encode()

    def encode_messages(self, rows: pa.RecordBatch) -> pa.BinaryArray:
        """One payload per row."""
        return rows.column(0).cast(pa.binary())


def _rows(values: pa.StringArray) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([values], schema=_SCHEMA)
