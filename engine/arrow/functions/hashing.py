"""Digests and encodings over Arrow.

Encode rows as bytes like Arrow's row format, which Arroyo hashes.

("ab", 1 as BIGINT, NULL as BIGINT)
02 61 62 00 00 00 00 00 00 02    a text: its block of 8 bytes, and its length
01 80 00 00 00 00 00 00 01       a number, shifted so that the smallest is 00...
00 00 00 00 00 00 00 00 00       NULL
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal

import pyarrow as pa

from engine.arrow.functions.kernel import Kernel, by_row

_SMALL, _LARGE = 8, 32
"""Block sizes of Arrow's format: small blocks first, so that short text takes little space."""
_CONTINUES = b"\xff"
"""Byte after a block that is not the last one."""
_EXACT = Context(prec=80)
"""Precision above the 76 digits of an Arrow decimal, so that nothing is rounded."""


def row_bytes(columns: Sequence[pa.Array]) -> list[bytes]:
    """Return the bytes of each row: those of its values, one column after the other. There are no structs and
    arrays."""
    parts = [[_value_bytes(value, column.type) for value in _plain(column)] for column in columns]
    return list(map(b"".join, zip(*parts, strict=True)))


def _plain(column: pa.Array) -> list[object]:
    """Return the values; times as counts, of nanoseconds as there."""
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return [None if count is None else count * 1000 for count in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_date32(kind):
        return list(column.cast(pa.int32()).to_pylist())
    return list(column.to_pylist())


def _value_bytes(value: object, kind: pa.DataType) -> bytes:
    match value:
        case None:
            return bytes(1 if pa.types.is_string(kind) or pa.types.is_binary(kind) else 1 + -(-kind.bit_width // 8))
        case bool():
            return b"\1\1" if value else b"\1\0"
        case int():
            return _whole(value, kind.bit_width)
        case float():
            return _fraction(value, kind.bit_width)
        case Decimal():
            return _whole(int(value.scaleb(kind.scale, _EXACT)), kind.bit_width)
        case str():
            return _variable(value.encode())
        case bytes():
            return _variable(value)
    raise AssertionError(kind)


def _whole(value: int, bits: int) -> bytes:
    """Encode a whole number in bytes that sort like the numbers."""
    return b"\1" + (value + (1 << bits - 1)).to_bytes(bits // 8, "big")


def _fraction(value: float, bits: int) -> bytes:
    """Encode a fraction in bytes that sort like the numbers; the bits of negative ones are inverted."""
    raw = int.from_bytes(struct.pack(">d" if bits == 64 else ">f", value), "big")
    sign = 1 << bits - 1
    turned = raw ^ (sign * 2 - 1) if raw & sign else raw | sign
    return b"\1" + turned.to_bytes(bits // 8, "big")


def _variable(value: bytes) -> bytes:
    """Encode bytes of any length: empty is 1; otherwise 2, then blocks, the first four of them small."""
    if not value:
        return b"\1"
    head, tail = value[: 4 * _SMALL], value[4 * _SMALL :]
    if not tail:
        return b"\2" + _blocks(head, _SMALL)
    return b"\2" + _blocks(head, _SMALL)[:-1] + _CONTINUES + _blocks(tail, _LARGE)


def _blocks(value: bytes, size: int) -> bytes:
    """Encode blocks padded with zeros, with a mark between them and the length of the last one at the end."""
    parts = [value[at : at + size] for at in range(0, len(value), size)]
    return _CONTINUES.join(part.ljust(size, b"\0") for part in parts) + bytes([len(parts[-1])])


def _blake3(value: bytes) -> bytes:
    from blake3 import blake3  # noqa: PLC0415 - few scripts ask for it

    return blake3(value).digest()


def _digest_of(algorithm: str) -> Callable[[bytes], bytes]:
    return lambda value: hashlib.new(algorithm, value, usedforsecurity=False).digest()


_DIGESTS: Mapping[str, Callable[[bytes], bytes]] = {
    **{name: _digest_of(name) for name in ("md5", "sha224", "sha256", "sha384", "sha512", "blake2s", "blake2b")},
    "blake3": _blake3,
}


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value


def _digest(value: str | bytes, algorithm: str) -> bytes:
    return _DIGESTS[algorithm.lower()](_bytes(value))


def _decode(value: str | bytes, encoding: str) -> bytes:
    """Decode a value; raise ValueError if it is malformed."""
    text = _bytes(value)
    match encoding.lower():
        case "hex":
            return binascii.unhexlify(text)
        case "base64":
            text = text.rstrip(b"=")
            text += b"=" * (-len(text) % 4)
    decoded = base64.b64decode(text, validate=True)
    if base64.b64encode(decoded) != text:
        raise ValueError("bits are left over")
    return decoded


def _multi_hash(*columns: pa.Array) -> pa.Array:
    from xxhash import xxh3_128_digest  # noqa: PLC0415 - few scripts ask for it

    return pa.array(map(xxh3_128_digest, row_bytes(columns)), pa.binary())


HASH_KERNELS: Mapping[str, Kernel] = {
    "digest": by_row(_digest, pa.binary()),
    "decode": by_row(_decode, pa.binary()),
    "multi_hash": _multi_hash,
}
