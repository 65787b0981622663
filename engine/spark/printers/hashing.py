"""Digests and encodings in Spark SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engine.plan.expressions.expr import Call, Literal
from engine.spark.printers import Form
from engine.spark.printers.literals import text_to_sql


def _encode(call: Call, arguments: Sequence[str]) -> str:
    value = f"CAST({arguments[0]} AS BINARY)"
    # Spark breaks base64 into lines
    padded = f"translate(base64({value}), {text_to_sql(chr(13) + chr(10))}, '')"
    match call.arguments[1]:
        case Literal(str(encoding)) if encoding.lower() == "hex":
            return f"lower(hex({value}))"
        case Literal(str(encoding)) if encoding.lower() == "base64pad":
            return padded
    return f"trim(TRAILING '=' FROM {padded})"


HASHING: Mapping[str, Form] = {
    "md5": "md5(CAST({0} AS BINARY))",
    **{f"sha{bits}": f"unhex(sha2(CAST({{0}} AS BINARY), {bits}))" for bits in (224, 256, 384, 512)},
    "sha1": "sha1(CAST({0} AS BINARY))",
    "crc32": "crc32(CAST({0} AS BINARY))",
    "encode": _encode,
}
