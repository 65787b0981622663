"""Literals: numbers, texts, bytes, true, false and NULL as they are written.

7          BIGINT, or refused when it does not fit
7.0, 7e0   DOUBLE; 1e999 is refused instead of becoming infinity
x'0aff'    BYTEA
-7         one literal, so that the smallest BIGINT can be written
"""

from __future__ import annotations

import math
from decimal import Decimal, InvalidOperation

from sqlglot import exp

from engine import types
from engine.errors import TypeMismatchError
from engine.plan.expressions.expr import Expr, Literal
from engine.sql.scalar.calls import clipped


def translate_literal(node: exp.Expr) -> Expr | None:
    """The value of a literal; None for every other expression."""
    match node:
        case exp.Null():
            return Literal(None, types.Null())
        case exp.Boolean():
            return Literal(bool(node.this), types.BOOLEAN)
        case exp.HexString():
            return Literal(_bytes(node.name), types.Bytes())
        case exp.ByteString():
            return Literal(node.name, types.TEXT)
        case exp.Literal():
            return Literal(node.name, types.TEXT) if node.is_string else _number(node.name)
        case exp.Neg(this=exp.Literal(is_string=False) as number):
            return _number("-" + number.name)
    return None


def _bytes(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits)
    except ValueError:
        raise TypeMismatchError(
            f"x'{clipped(digits)}' is not a valid BYTEA literal", hint="write two hexadecimal digits per byte"
        ) from None


def _number(text: str) -> Expr:
    try:
        if not any(mark in text for mark in ".eE"):
            return _integer(int(text))
        value = float(Decimal(text))
    except (ValueError, InvalidOperation):
        value = math.inf
    if math.isinf(value):
        raise TypeMismatchError(f"{clipped(text)} is out of range for numbers")
    return Literal(value, types.DOUBLE)


def _integer(value: int) -> Expr:
    if not types.BIGINT.holds(value):
        raise TypeMismatchError(
            f"{clipped(str(value))} is out of range for BIGINT", hint="write it with a decimal point"
        )
    return Literal(value, types.BIGINT)
