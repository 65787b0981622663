"""Interfaces of formats: options, decoder and encoder.

A decoder converts raw records to Arrow batches of a schema, an encoder the reverse. Both are created from a table, and
do not know the connector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from engine.formats.schema_registry import Subject
    from engine.schema import Schema


class RecordKind(Enum):
    """Kind of a format's records, for connectors that carry them. Each file format is a kind of its own, because code
    for whole files depends on the format."""

    JSON = auto()
    """A JSON object without a newline inside."""
    TEXT = auto()
    """Text without a newline."""
    BYTES = auto()
    """Arbitrary bytes, which need a connector that stores their length."""
    PARQUET_FILE = auto()
    """A whole Parquet file."""
    CSV_FILE = auto()
    """A whole CSV file."""


class FormatOptions(BaseModel):
    """The `<format>.*` options of a format. Unknown options are refused; each has a description."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    added: ClassVar[frozenset[str]] = frozenset()
    """Options that were added later. While they have their default, fingerprints omit them."""

    format: str

    def with_files(self) -> FormatOptions:
        """Return the options with the content of the files that they name, for tasks that see another disk."""
        return self


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that could not be decoded: its index in the batch (from zero), and the error."""

    index: int
    reason: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class Decoded:
    """Decoded rows, the index of the input record of each, and the bad records."""

    rows: pa.RecordBatch
    origin: pa.Int64Array | None
    """Index of the input record of each row; None means row i is record i."""
    bad: Sequence[BadRecord] = ()


class Decoder(Protocol):
    """Decodes raw records. A record gives at most one row unless framing says otherwise."""

    def decode_lines(self, block: bytes) -> Decoded:
        """Decode newline-delimited records; the block ends with a newline or with the input."""

    def decode_messages(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode one record per payload; NULL payloads are skipped."""


class Encoder(Protocol):
    """Encodes rows as raw records."""

    def encode_lines(self, rows: pa.RecordBatch) -> bytes:
        """Return one line per row, each ended by a newline."""

    def encode_messages(self, rows: pa.RecordBatch) -> pa.BinaryArray:
        """Return one payload per row."""


@dataclass(frozen=True, slots=True)
class Format:
    """Declaration of a record format. `check` returns an error for a schema or use that does not fit, or None."""

    name: str
    summary: str
    """One sentence for the reference page."""
    prefix: str
    """Prefix of its options' names, before the dot."""
    options: type[FormatOptions]
    records: RecordKind
    """Kind of its records, which determines the connectors that can carry it; see `Connector.carries`."""
    decoder: Callable[[FormatOptions, Schema, Subject | None], Decoder] | None = None
    encoder: Callable[[FormatOptions, Schema, Subject | None], Encoder] | None = None
    check: Callable[[FormatOptions, Schema, Literal["source", "sink", "lookup"], str], str | None] = (
        lambda options, schema, direction, connector: None
    )
    """Called with the options, the decoded columns, the direction and the connector's name of a table."""
    checking_decoder: Callable[[FormatOptions, Schema, Schema], Decoder] | None = None
    """Creates a decoder that checks the columns of its last argument faster than it would decode them."""
    carries_changes: bool = False
    """Whether records can express retractions."""
