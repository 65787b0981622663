"""What a format is: its options, and its two directions.

A decoder turns raw records into Arrow batches of a schema; an encoder does the reverse. Both are plain objects
made from a table, without any knowledge of where the bytes come from.
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
    """What a format makes of rows, as far as it matters to what carries them. Files are told apart by their layout,
    since whoever reads or writes whole files knows each layout by itself."""

    JSON = auto()
    """A JSON object, which has no newline inside."""
    TEXT = auto()
    """Text without a newline."""
    BYTES = auto()
    """Bytes of any kind, so only what knows their length can carry them."""
    PARQUET_FILE = auto()
    """A whole Parquet file."""
    CSV_FILE = auto()
    """A whole CSV file."""


class FormatOptions(BaseModel):
    """The `<format>.*` options of one format. Unknown ones are refused; each has a description."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    added: ClassVar[frozenset[str]] = frozenset()
    """The options that came after pipelines had state: as long as they have their default, fingerprints lack them."""

    format: str

    def with_files(self) -> FormatOptions:
        """Return the options with the content of the files that they name, for tasks that see another disk."""
        return self


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A record that could not be decoded: which one it was in its batch (from zero) and what is wrong."""

    index: int
    reason: str
    raw: bytes


@dataclass(frozen=True, slots=True)
class Decoded:
    """The rows that could be decoded, which input record each came from, and the rest."""

    rows: pa.RecordBatch
    origin: pa.Int64Array | None
    """Index of the input record of each row; None means row i is record i."""
    bad: Sequence[BadRecord] = ()


class Decoder(Protocol):
    """Raw records to rows. One record gives at most one row unless framing says otherwise."""

    def decode_lines(self, block: bytes) -> Decoded:
        """Decode newline-delimited records; the block ends with a newline or with the input."""

    def decode_messages(self, payloads: pa.BinaryArray) -> Decoded:
        """Decode one record per payload; NULL payloads are skipped."""


class Encoder(Protocol):
    """Rows to raw records."""

    def encode_lines(self, rows: pa.RecordBatch) -> bytes:
        """One line per row, each ended by a newline."""

    def encode_messages(self, rows: pa.RecordBatch) -> pa.BinaryArray:
        """One payload per row."""


@dataclass(frozen=True, slots=True)
class Format:
    """A way to write a record as bytes. `check` says in words why a schema or a use does not fit, or None."""

    name: str
    summary: str
    """One sentence for the reference page."""
    prefix: str
    """What its options' names start with, before the dot."""
    options: type[FormatOptions]
    records: RecordKind
    """Which connectors can carry it follows from this; see `Connector.carries`."""
    decoder: Callable[[FormatOptions, Schema, Subject | None], Decoder] | None = None
    encoder: Callable[[FormatOptions, Schema, Subject | None], Encoder] | None = None
    check: Callable[[FormatOptions, Schema, Literal["source", "sink", "lookup"], str], str | None] = (
        lambda options, schema, direction, connector: None
    )
    """Called with the options, the decoded columns, the direction and the connector's name of a table."""
    checking_decoder: Callable[[FormatOptions, Schema, Schema], Decoder] | None = None
    """Makes a decoder that checks the columns of its last argument faster than it decodes them."""
    carries_changes: bool = False
    """Whether a record says what is done to a row, so that rows can be taken back."""
