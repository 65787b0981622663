"""Read values from bytes one after the other, with a short description of any fault."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


class NotAsWrittenError(ValueError):
    """The bytes are damaged. Its text continues a sentence that begins with the file."""


class BytesReader:
    """A position in some bytes that advances with each read; a premature end counts as damage."""

    def __init__(self, content: bytes, at: int = 0) -> None:
        self.content, self.at = content, at

    @property
    def is_at_end(self) -> bool:
        """Whether nothing is left."""
        return self.at >= len(self.content)

    def take(self, count: int) -> bytes:
        """Return the next so many bytes."""
        end = self.at + count
        if count < 0 or end > len(self.content):
            raise NotAsWrittenError("ends too early")
        self.at, taken = end, self.content[self.at : end]
        return taken

    def number(self, count: int, *, is_signed: bool = False) -> int:
        """Return a number whose highest byte comes first, as Java writes it."""
        return int.from_bytes(self.take(count), "big", signed=is_signed)

    def varint(self) -> int:
        """Return a number of seven bits a byte, as RocksDB writes it."""
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            if (shift := shift + 7) > 63:
                raise NotAsWrittenError("has a number that is too long")


def unpack_lz4(packed: bytes, length: int) -> bytes:
    """Decompress an LZ4 block to `length` bytes."""
    if length == 0:
        return b""
    if length > 255 * len(packed) + 64:  # no block compresses that well: do not allocate memory for it
        raise NotAsWrittenError("has a block that does not unpack")
    try:
        unpacked: bytes = _codec().decompress(packed, length).to_pybytes()
    except (OSError, ValueError) as error:
        raise NotAsWrittenError("has a block that does not unpack") from error
    return unpacked


@cache
def _codec() -> pa.Codec:
    import pyarrow as pa  # noqa: PLC0415 - most of what is inspected needs none

    return pa.Codec("lz4_raw")
