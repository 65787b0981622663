"""Check columns that no query reads: whether a record is valid depends on all columns of its table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.formats.base import Decoded, Decoder

if TYPE_CHECKING:
    import pyarrow as pa


class CheckingDecoder:
    """Decodes every declared column with `decoder`, and drops those in `unread`."""

    def __init__(self, decoder: Decoder, unread: Sequence[str]) -> None:
        self._decoder = decoder
        self._unread = frozenset(unread)

    def decode_lines(self, block: bytes) -> Decoded:
        """Decode newline-delimited records; the block ends with a newline or with the input."""
        return self._read(self._decoder.decode_lines(block))

    def decode_messages(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode one record per payload; NULL payloads are skipped."""
        return self._read(self._decoder.decode_messages(payloads))

    def _read(self, decoded: Decoded) -> Decoded:
        return select(decoded, [name for name in decoded.rows.schema.names if name not in self._unread])


def select(decoded: Decoded, names: Sequence[str]) -> Decoded:
    """Return the records with these columns only."""
    rows = decoded.rows
    return decoded if rows.schema.names == list(names) else replace(decoded, rows=rows.select(list(names)))
