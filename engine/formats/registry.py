"""The wire format of Confluent's schema registry: a zero byte, the schema's number in four bytes, the record."""

from __future__ import annotations

import struct
from typing import Literal, Protocol

HEADER_BYTES = 5
SchemaKind = Literal["AVRO", "JSON", "PROTOBUF"]


class Registry(Protocol):
    """Knows schemas by number."""

    def schema_of(self, number: int) -> str:
        """The text of a schema. Raises an error of ours when there is none."""

    def register(self, subject: str, kind: SchemaKind, schema: str) -> int:
        """The number of a schema of a subject, which becomes its newest version unless it is one already."""


class Subject(Protocol):
    """A registry, and under which name in it a table's records are described."""

    @property
    def registry(self) -> Registry:
        """The registry."""

    @property
    def name(self) -> str:
        """The name."""


def header(number: int) -> bytes:
    """What stands before a record of that schema."""
    return struct.pack(">bI", 0, number)


def read_header(payload: bytes) -> int:
    """The number of a record's schema. Raises ValueError when it does not begin with a registry's header."""
    if len(payload) < HEADER_BYTES or payload[0] != 0:
        raise ValueError("it does not begin with a schema registry's five bytes")
    return int.from_bytes(payload[1:HEADER_BYTES], "big")
