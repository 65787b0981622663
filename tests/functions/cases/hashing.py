"""Digests, hashes and encodings; the digests are those that the standards print."""

from datetime import date

from xxhash import xxh3_128_digest

from engine import types
from tests.functions.cases.values import at, decimal, small, typed


def _xxh3(row: str) -> bytes:
    return xxh3_128_digest(bytes.fromhex(row))


_SHA256 = bytes.fromhex("2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")

HASHING = (
    ("md5", ("hello",), "5d41402abc4b2a76b9719d911017c592"),
    ("md5", (b"hello",), "5d41402abc4b2a76b9719d911017c592"),
    ("md5", ("",), "d41d8cd98f00b204e9800998ecf8427e"),
    ("md5", (None,), None),
    ("sha224", ("hello",), bytes.fromhex("ea09ae9cc6768c50fcee903ed054556e5bfc8347907f12598aa24193")),
    ("sha224", (None,), None),
    ("sha256", ("hello",), _SHA256),
    ("sha256", (b"hello",), _SHA256),
    ("sha256", (None,), None),
    (
        "sha384",
        ("hello",),
        bytes.fromhex(
            "59e1748777448c69de6b800d7a33bbfb9ff1b463e44354c3553bcdb9c666fa90125a3c79f90397bdf5f6a13de828684f"
        ),
    ),
    ("sha384", (None,), None),
    (
        "sha512",
        ("hello",),
        bytes.fromhex(
            "9b71d224bd62f3785d96d46ad3ea3d73319bfbc2890caadae2dff72519673ca72323c3d99ba5c11d7c7acc6e14b8c5da"
            "0c4663475c2e5c3adef46f73bcdec043"
        ),
    ),
    ("sha512", (None,), None),
    ("digest", ("hello", "sha256"), _SHA256),
    ("digest", (b"hello", "SHA256"), _SHA256),
    ("digest", ("hello", "md5"), bytes.fromhex("5d41402abc4b2a76b9719d911017c592")),
    (
        "digest",
        ("abc", "blake2s"),
        bytes.fromhex("508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982"),
    ),
    (
        "digest",
        ("abc", "blake2b"),
        bytes.fromhex(
            "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
            "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923"
        ),
    ),
    (
        "digest",
        ("", "blake3"),
        bytes.fromhex("af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"),
    ),
    ("digest", (None, "sha256"), None),
    ("multi_hash", (1, "a"), _xxh3("01 8000000000000001 02 6100000000000000 01")),
    ("multi_hash", (None, small(-1)), _xxh3("00 01 7fffffff")),
    ("multi_hash", ("",), _xxh3("01")),
    ("multi_hash", ("x" * 33,), _xxh3("02" + "7878787878787878ff" * 4 + "78" + "00" * 31 + "01")),
    ("multi_hash", ("x" * 32,), _xxh3("02" + "7878787878787878ff" * 3 + "7878787878787878" + "08")),
    ("multi_hash", (b"\x00", True, False), _xxh3("02 0000000000000000 01 0101 0100")),
    ("multi_hash", (1.5, -1.5), _xxh3("01 bff8000000000000 01 4007ffffffffffff")),
    ("multi_hash", (typed(None, types.DOUBLE), typed(None, types.BOOLEAN)), _xxh3("000000000000000000 0000")),
    ("multi_hash", (at("1970-01-01T00:00:00.000001"),), _xxh3("01 80000000000003e8")),
    ("multi_hash", (date(1970, 1, 2),), _xxh3("01 80000001")),
    ("multi_hash", (decimal("-0.01", 5, 2),), _xxh3("01 7fffffffffffffffffffffffffffffff")),
    ("encode", ("tommy", "base64"), "dG9tbXk"),
    ("encode", ("tommy", "base64pad"), "dG9tbXk="),
    ("encode", ("tom", "base64"), "dG9t"),
    ("encode", (bytes.fromhex("8f50d3f60eae370ddbf85c86219c55108a350165"), "base64"), "j1DT9g6uNw3b+FyGIZxVEIo1AWU"),
    ("encode", (b"x" * 99, "base64pad"), "eHh4" * 33),
    ("encode", ("Andrew", "hex"), "416e64726577"),
    ("encode", (b"\xff\x00", "HEX"), "ff00"),
    ("encode", (None, "hex"), None),
    ("decode", ("dG9tbXk", "base64"), b"tommy"),
    ("decode", ("dG9tbXk=", "base64"), b"tommy"),
    ("decode", ("dG9tbXk=", "base64pad"), b"tommy"),
    ("decode", ("FF00", "hex"), b"\xff\x00"),
    ("decode", (b"616263", "hex"), b"abc"),
    ("decode", ("", "base64"), b""),
    ("decode", (None, "hex"), None),
    ("sha1", ("tommy",), "5aeebab117b892fa42002146e4c62be676bc4621"),
    ("sha1", (None,), None),
    ("crc32", ("123456789",), 3421780262),
    ("crc32", (b"",), 0),
    ("crc32", (None,), None),
    ("hex", (255,), "FF"),
    ("hex", ("abc",), "616263"),
    ("hex", (b"\xff\x00",), "FF00"),
    ("hex", (None,), None),
    ("bin", (5,), "101"),
    ("bin", (None,), None),
)
