"""Functions of text and bytes: text, regular expressions, hashes. Positions count characters, from one, and text
compares by bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.functions.base import (
    ANY_CONSTANT,
    BYTES,
    Function,
    Resolve,
    always,
    first,
    first_of,
    never,
    only_whole,
    scalar,
    scalar_as_text,
    takes,
    takes_many,
    text_or_bytes,
)
from engine.functions.parsers.regex import is_regex, to_java, why_refused
from engine.types import BIGINT, BOOLEAN, INT, TEXT, Array


def _text(name: str, usage: str, doc: str, resolve: Resolve, *aliases: str) -> Function:
    return Function(name, "text", usage, doc, resolve, aliases)


_ONE = takes(TEXT, result=TEXT)
_TRIM = takes(TEXT, TEXT, result=TEXT, optional=1)
_PAD = takes(TEXT, BIGINT, TEXT, result=TEXT, optional=1)
_CUT = takes(TEXT, BIGINT, result=TEXT)
_SIZE = takes(text_or_bytes, result=INT)
_FOUND = takes(TEXT, TEXT, result=BOOLEAN)

URL_PARTS = frozenset({"host", "path", "query", "ref", "protocol", "file", "authority", "userinfo"})

TEXT_FUNCTIONS = (
    _text("upper", "upper(text)", "The text in upper case; NULL for NULL.", _ONE),
    _text("lower", "lower(text)", "The text in lower case; NULL for NULL.", _ONE),
    _text(
        "initcap",
        "initcap(text)",
        "Every word with an upper-case first letter and the others in lower case; words are made of letters "
        "and digits; NULL for NULL.",
        _ONE,
    ),
    _text(
        "length",
        "length(text)",
        "The number of characters in the text; NULL for NULL.",
        takes(TEXT, result=INT),
        "char_length",
        "character_length",
    ),
    _text("octet_length", "octet_length(text)", "The number of bytes of the text in UTF-8; NULL for NULL.", _SIZE),
    _text("bit_length", "bit_length(text)", "The number of bits of the text in UTF-8; NULL for NULL.", _SIZE),
    Function(
        "concat",
        "text",
        "concat(value, ...)",
        "All values as text, one after the other; NULLs are skipped, so it is never NULL.",
        takes_many(scalar_as_text, result=TEXT),
        nullable=never,
    ),
    Function(
        "concat_ws",
        "text",
        "concat_ws(separator, value, ...)",
        "All values that are not NULL as text, with the separator between them; NULL when the separator is.",
        takes_many(scalar_as_text, first=(TEXT,), result=TEXT),
        nullable=first,
    ),
    _text(
        "substr",
        "substr(text, start [, length])",
        "The text from a position on; positions before the first count towards the length; NULL when an argument is.",
        takes(TEXT, BIGINT, BIGINT, result=TEXT, optional=1),
        "substring",
    ),
    _text("left", "left(text, n)", "The first `n` characters, or all but the last `-n`; NULL when either is.", _CUT),
    _text("right", "right(text, n)", "The last `n` characters, or all but the first `-n`; NULL when either is.", _CUT),
    _text(
        "btrim",
        "btrim(text [, characters])",
        "The text without spaces, or any of the characters, at both ends; NULL when an argument is.",
        _TRIM,
        "trim",
    ),
    _text(
        "ltrim",
        "ltrim(text [, characters])",
        "The text without spaces, or any of the characters, at its start; NULL when an argument is.",
        _TRIM,
    ),
    _text(
        "rtrim",
        "rtrim(text [, characters])",
        "The text without spaces, or any of the characters, at its end; NULL when an argument is.",
        _TRIM,
    ),
    _text(
        "lpad",
        "lpad(text, length [, fill])",
        "The text filled up on the left with spaces or the fill, or cut to the length; NULL when an argument is.",
        _PAD,
    ),
    _text(
        "rpad",
        "rpad(text, length [, fill])",
        "The text filled up on the right with spaces or the fill, or cut to the length; NULL when an argument is.",
        _PAD,
    ),
    _text(
        "replace",
        "replace(text, old, new)",
        "The text with every `old` replaced by `new`; NULL when an argument is.",
        takes(TEXT, TEXT, TEXT, result=TEXT),
    ),
    _text("reverse", "reverse(text)", "The characters in reverse order; NULL for NULL.", _ONE),
    _text(
        "repeat", "repeat(text, n)", "The text repeated `n` times, empty for `n` below one; NULL when either is.", _CUT
    ),
    _text(
        "split_part",
        "split_part(text, delimiter, n)",
        "The `n`-th part between delimiters, from the end when negative, empty past it; NULL when an argument is.",
        takes(TEXT, TEXT, BIGINT, result=TEXT),
    ),
    _text(
        "starts_with", "starts_with(text, start)", "Whether the text starts with `start`; NULL when either is.", _FOUND
    ),
    _text("ends_with", "ends_with(text, end)", "Whether the text ends with `end`; NULL when either is.", _FOUND),
    _text("contains", "contains(text, part)", "Whether the part is in the text; NULL when either is.", _FOUND),
    _text(
        "strpos",
        "strpos(text, part)",
        "The position of the part in the text, from 1, or 0; NULL when either is.",
        takes(TEXT, TEXT, result=INT),
        "instr",
        "position",
    ),
    _text(
        "ascii",
        "ascii(text)",
        "The Unicode number of the first character, 0 for empty text; NULL for NULL.",
        takes(TEXT, result=INT),
    ),
    _text("chr", "chr(number)", "The character with that Unicode number; NULL for NULL.", takes(BIGINT, result=TEXT)),
    _text(
        "to_hex",
        "to_hex(number)",
        "The number in hexadecimal digits, negative ones in 64 bits; NULL for NULL.",
        takes(BIGINT, result=TEXT),
    ),
    _text(
        "translate",
        "translate(text, characters, others)",
        "The text with each of the characters replaced by its counterpart, or removed; NULL when an argument is.",
        takes(TEXT, TEXT, TEXT, result=TEXT),
    ),
    _text(
        "overlay",
        "overlay(text, new, start [, count])",
        "The text with `count` characters from `start` on, or as many as there are new ones, replaced; "
        "NULL when an argument is.",
        takes(TEXT, TEXT, BIGINT, BIGINT, result=TEXT, optional=1),
    ),
    _text(
        "levenshtein",
        "levenshtein(a, b)",
        "How many characters must be changed, added or removed to turn one into the other; NULL when either is.",
        takes(TEXT, TEXT, result=INT),
    ),
    _text(
        "substr_index",
        "substr_index(text, delimiter, n)",
        "The text before the `n`-th delimiter, or after the `-n`-th from the end; NULL when an argument is.",
        takes(TEXT, TEXT, BIGINT, result=TEXT),
        "substring_index",
    ),
    _text(
        "find_in_set",
        "find_in_set(text, list)",
        "The position of the text in the comma-separated list, from 1, or 0; NULL when either is.",
        takes(TEXT, TEXT, result=INT),
    ),
    _text("soundex", "soundex(text)", "The Soundex code of an English word; NULL for NULL.", _ONE),
    _text(
        "url_encode",
        "url_encode(text)",
        "The text as a part of a URL, in which a space is `+`; NULL for NULL.",
        _ONE,
    ),
    Function(
        "url_decode",
        "text",
        "url_decode(text)",
        "The text that a part of a URL stands for; NULL for NULL and for what is not well-formed.",
        _ONE,
        nullable=always,
    ),
    Function(
        "parse_url",
        "text",
        "parse_url(url, part [, key])",
        "A part of a URL: HOST, PATH, QUERY, REF, PROTOCOL, FILE, AUTHORITY or USERINFO, or one key of the QUERY; NULL "
        "where there is none.",
        takes(TEXT, TEXT, TEXT, result=TEXT, optional=1),
        nullable=always,
        choices={1: URL_PARTS},
    ),
    Function(
        "uuid",
        "text",
        "uuid()",
        "A random UUID of version 4, different for each row and each run; never NULL.",
        takes(result=TEXT),
        nullable=never,
        deterministic=False,
    ),
)


def _are_flags(text: str) -> bool:
    return set(text) <= set("imsxg")


_MATCHING = (
    Function(
        "regexp_like",
        "regex",
        "regexp_like(text, regex [, flags])",
        "Whether the expression matches somewhere in the text; NULL when an argument is.",
        takes(TEXT, TEXT, TEXT, result=BOOLEAN, optional=1),
        choices={2: ANY_CONSTANT},
        checks={1: is_regex, 2: _are_flags},
        advice=why_refused,
    ),
    Function(
        "regexp_replace",
        "regex",
        "regexp_replace(text, regex, replacement [, flags])",
        "The text with its first match replaced, or all with flag g; NULL when an argument is.",
        takes(TEXT, TEXT, TEXT, TEXT, result=TEXT, optional=1),
        choices={3: ANY_CONSTANT},
        checks={1: is_regex, 3: _are_flags},
        advice=why_refused,
    ),
    Function(
        "regexp_match",
        "regex",
        "regexp_match(text, regex [, flags])",
        "The text of each group in the first match, empty for a group without one, or the whole match without "
        "groups; NULL without a match.",
        takes(TEXT, TEXT, TEXT, result=Array(TEXT), optional=1),
        nullable=always,
        choices={1: ANY_CONSTANT, 2: ANY_CONSTANT},
        checks={1: is_regex, 2: _are_flags},
        advice=why_refused,
    ),
)


_PATTERN = {1: is_regex}


def _searching(name: str, usage: str, doc: str, resolve: Resolve) -> Function:
    return Function(name, "regex", usage, doc, resolve, checks=_PATTERN, advice=why_refused)


def _has_no_group(constants: Sequence[object]) -> str | None:
    """Return why a pattern has not the group that is extracted; None if it has, or if either is no constant."""
    match constants:
        case [_, str(pattern), int(group)] if group < 0 or group > to_java(pattern).groups:
            groups = to_java(pattern).groups
            return f"the pattern has {groups or 'no'} group{'' if groups == 1 else 's'}, but group {group} is asked for"
    return None


REGEX_FUNCTIONS = (
    *_MATCHING,
    Function(
        "regexp_extract",
        "regex",
        "regexp_extract(text, regex [, group])",
        "The first match, or a group in it, counted from one; empty without a match; NULL when an argument is.",
        takes(TEXT, TEXT, BIGINT, result=TEXT),
        choices={2: ANY_CONSTANT},
        checks=_PATTERN,
        advice=why_refused,
        refuses=_has_no_group,
    ),
    Function(
        "regexp_extract_all",
        "regex",
        "regexp_extract_all(text, regex [, group])",
        "All matches, or a group in each of them; NULL when an argument is.",
        takes(TEXT, TEXT, BIGINT, result=Array(TEXT)),
        choices={2: ANY_CONSTANT},
        checks=_PATTERN,
        advice=why_refused,
        refuses=_has_no_group,
    ),
    _searching(
        "regexp_count",
        "regexp_count(text, regex)",
        "How often the expression matches; NULL when either is.",
        takes(TEXT, TEXT, result=INT),
    ),
    _searching(
        "regexp_instr",
        "regexp_instr(text, regex)",
        "The position of the first match, from 1, or 0; NULL when either is.",
        takes(TEXT, TEXT, result=INT),
    ),
    Function(
        "regexp_substr",
        "regex",
        "regexp_substr(text, regex)",
        "The first match; NULL without one, and when either is.",
        takes(TEXT, TEXT, result=TEXT),
        nullable=always,
        checks=_PATTERN,
        advice=why_refused,
    ),
)


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
    _hash(
        "sha1",
        "sha1(value)",
        "The SHA-1 digest in hexadecimal digits; NULL for NULL.",
        takes(text_or_bytes, result=TEXT),
    ),
    _hash("crc32", "crc32(value)", "The CRC-32 check sum; NULL for NULL.", takes(text_or_bytes, result=BIGINT)),
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
        "hex",
        "binary",
        "hex(value)",
        "The bytes, the text in UTF-8, or the whole number in upper-case hexadecimal digits; NULL for NULL.",
        first_of(takes(only_whole, result=TEXT), takes(text_or_bytes, result=TEXT)),
    ),
    Function(
        "bin",
        "binary",
        "bin(number)",
        "The whole number in binary digits, negative ones in 64 bits; NULL for NULL.",
        takes(BIGINT, result=TEXT),
    ),
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
