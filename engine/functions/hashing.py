"""Digests and hashes, and bytes written as text."""

from __future__ import annotations

from engine.functions.base import Function, Resolve, never, takes, takes_many
from engine.functions.parameters import BYTES, scalar, text_or_bytes
from engine.types import TEXT

DIGESTS = frozenset({"md5", "sha224", "sha256", "sha384", "sha512", "blake2s", "blake2b", "blake3"})
ENCODINGS = frozenset({"base64", "base64pad", "hex"})


def _hash(name: str, usage: str, doc: str, resolve: Resolve) -> Function:
    return Function(name, "hashing", usage, doc, resolve)


def _sha(bits: int) -> Function:
    doc = f"The SHA-{bits} digest as bytes; NULL for NULL."
    return _hash(f"sha{bits}", f"sha{bits}(value)", doc, takes(text_or_bytes, result=BYTES))


HASH_FUNCTIONS = (
    _hash(
        "md5",
        "md5(value)",
        "The MD5 digest in hexadecimal digits; NULL for NULL.",
        takes(text_or_bytes, result=TEXT),
    ),
    _sha(224),
    _sha(256),
    _sha(384),
    _sha(512),
    Function(
        "digest",
        "hashing",
        "digest(value, algorithm)",
        "The digest as bytes; the constant algorithm is md5, sha224 to sha512, blake2s, blake2b or blake3; "
        "NULL for NULL.",
        takes(text_or_bytes, TEXT, result=BYTES),
        choices={1: DIGESTS},
        is_computed=True,
    ),
    Function(
        "multi_hash",
        "hashing",
        "multi_hash(value, ...)",
        "A hash of all values together in 16 bytes, XXH3; equal rows give equal bytes, NULL counts as a value; "
        "never NULL.",
        takes_many(scalar, result=BYTES),
        nullable=never,
        is_computed=True,
    ),
)

BINARY_FUNCTIONS = (
    Function(
        "encode",
        "binary",
        "encode(value, encoding)",
        "Bytes, or text in UTF-8, as base64 without padding, as base64pad with it, or as hex; NULL for NULL.",
        takes(text_or_bytes, TEXT, result=TEXT),
        choices={1: ENCODINGS},
    ),
    Function(
        "decode",
        "binary",
        "decode(text, encoding)",
        "The bytes that base64, base64pad or hex stands for; text that is not well-formed fails the run; NULL "
        "for NULL.",
        takes(text_or_bytes, TEXT, result=BYTES),
        choices={1: ENCODINGS},
        is_computed=True,
    ),
)
