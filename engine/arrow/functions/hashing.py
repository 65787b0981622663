"""Digests and encodings over Arrow."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Mapping

import pyarrow as pa

from engine.arrow.functions.kernel import Kernel, by_row
from engine.arrow.functions.row_bytes import row_bytes


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
