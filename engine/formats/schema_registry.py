"""Wire format of Confluent's schema registry.

    00 00 00 00 2A ...   a zero byte, the schema's number (42) in four bytes, and the record

The registry assigns the number. A sink gets it when it registers its schema under its subject; a source requests the
schema by number.
"""

from __future__ import annotations

import struct
from typing import Literal, Protocol

HEADER_BYTES = 5
SchemaKind = Literal["AVRO", "JSON", "PROTOBUF"]


class Registry(Protocol):
    """Provides schemas by number."""

    def schema_of(self, number: int) -> str:
        """Return the text of a schema. Raise an EngineError if there is none."""

    def register(self, subject: str, kind: SchemaKind, schema: str) -> int:
        """Return the number of a schema of a subject, which becomes its newest version unless it is a version
        already."""


class Subject(Protocol):
    """A registry, and the subject of a table's records."""

    @property
    def registry(self) -> Registry:
        """The registry."""

    @property
    def name(self) -> str:
        """The name."""


def header(number: int) -> bytes:
    """Return the bytes before a record of that schema."""
    return struct.pack(">bI", 0, number)


def read_header(payload: bytes) -> int:
    """Return the number of a record's schema. Raise ValueError if the record does not begin with a registry's
    header."""
    if len(payload) < HEADER_BYTES or payload[0] != 0:
        raise ValueError("it does not begin with the five bytes of a schema registry")
    return int.from_bytes(payload[1:HEADER_BYTES], "big")
