r"""Translate regular expressions that are no constants over Arrow; Spark evaluates the result.

^[[:digit:]]+$     =^[0-9]+\z
a(?=b)             !look-around is not supported; match what stands around, too
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from engine.arrow.functions.kernel import Kernel
from engine.errors import message_of
from engine.functions.parsers.regex import JAVA_REGEX, RegexError, to_java


def _translated(patterns: pa.Array, flags: pa.Array) -> pa.Array:
    """Return each pattern in Java's syntax behind `=`, or why it is refused behind `!`; NULL for NULL. All `flags` are
    the same text."""
    if len(patterns) == 0:
        return pa.array([], pa.string())
    constant = flags[0].as_py()
    distinct = patterns.dictionary_encode()
    known = pa.array([_translate(pattern, constant) for pattern in distinct.dictionary.to_pylist()], pa.string())
    return known.take(distinct.indices)


def _translate(pattern: str, flags: str) -> str:
    try:
        return f"={to_java(pattern, flags).pattern}"
    except RegexError as error:
        return f"!{message_of(error)}"


REGEX_KERNELS: Mapping[str, Kernel] = {JAVA_REGEX: _translated}
