"""Numeric functions. Where DOUBLE has no result they return NaN or an infinity, as in Arroyo."""

from __future__ import annotations

from collections.abc import Sequence

from engine.functions.base import (
    ANY_CONSTANT,
    Function,
    Resolve,
    Signature,
    always,
    first_of,
    fraction,
    fraction_or_decimal,
    never,
    number,
    only_whole,
    takes,
    whole,
)
from engine.functions.coercion import common_type
from engine.types import BIGINT, BOOLEAN, DOUBLE, INT, TEXT, Decimal, Type


def _first(arguments: tuple[Type, ...]) -> Type:
    return arguments[0]


def _whole_part(arguments: tuple[Type, ...]) -> Type:
    match arguments[0]:
        case Decimal(precision, scale) if scale:
            return Decimal(precision - scale + 1, 0)
        case kind:
            return kind


def _one_more_digit(arguments: tuple[Type, ...]) -> Type:
    match arguments[0]:
        case Decimal(precision, scale):
            return Decimal(min(38, precision + 1), scale)
        case kind:
            return kind


def _same_fraction(arguments: Sequence[Type]) -> Signature | None:
    """Return FLOAT if both arguments are, else DOUBLE."""
    signature = takes(fraction, fraction, result=DOUBLE)(arguments)
    shared = None if signature is None else common_type(*signature.arguments)
    return None if shared is None else Signature((shared, shared), shared)


def _math(name: str, usage: str, doc: str, resolve: Resolve, *aliases: str) -> Function:
    return Function(name, "math", usage, doc, resolve, aliases)


def _real(name: str, doc: str, *aliases: str) -> Function:
    return _math(name, f"{name}(number)", f"{doc}; NULL for NULL.", takes(DOUBLE, result=DOUBLE), *aliases)


def _try(name: str, word: str) -> Function:
    doc = f"The {word} of both numbers; NULL where it does not fit, and when either is."
    resolve = first_of(takes(only_whole, only_whole, result=BIGINT), takes(DOUBLE, DOUBLE, result=DOUBLE))
    return Function(f"try_{name}", "math", f"try_{name}(a, b)", doc, resolve, nullable=always)


MATH_FUNCTIONS = (
    _math(
        "abs",
        "abs(number)",
        "The number without its sign, in its own type; NULL for NULL.",
        takes(number, result=_first),
    ),
    _math(
        "ceil",
        "ceil(number)",
        "The least whole number not less than the number; DOUBLE for whole numbers; NULL for NULL.",
        takes(fraction_or_decimal, result=_whole_part),
        "ceiling",
    ),
    _math(
        "floor",
        "floor(number)",
        "The greatest whole number not greater than the number; DOUBLE for whole numbers; NULL for NULL.",
        takes(fraction_or_decimal, result=_whole_part),
    ),
    Function(
        "round",
        "math",
        "round(number [, places])",
        "The number to a constant number of decimal places, halves away from zero; NULL for NULL.",
        takes(fraction_or_decimal, BIGINT, result=_one_more_digit, optional=1),
        choices={1: ANY_CONSTANT},
    ),
    Function(
        "trunc",
        "math",
        "trunc(number [, places])",
        "The number cut to a constant number of decimal places; NULL for NULL.",
        takes(fraction, BIGINT, result=_first, optional=1),
        choices={1: ANY_CONSTANT},
    ),
    _real("sqrt", "The square root; NaN below zero"),
    _real("cbrt", "The cube root"),
    _real("exp", "e to the power of the number"),
    _real("ln", "The logarithm to base e; NaN below zero"),
    _real("log10", "The logarithm to base 10; NaN below zero"),
    _real("log2", "The logarithm to base 2; NaN below zero"),
    _math(
        "log",
        "log([base,] number)",
        "The logarithm to the base, 10 by default; NaN below zero; NULL when an argument is.",
        takes(DOUBLE, DOUBLE, result=DOUBLE, optional=1),
    ),
    Function(
        "power",
        "math",
        "power(base, exponent)",
        "The base to the power of the exponent; a BIGINT for whole numbers, where overflow and negative exponents "
        "fail the run; NULL when either is.",
        first_of(takes(only_whole, only_whole, result=BIGINT), takes(DOUBLE, DOUBLE, result=DOUBLE)),
        ("pow",),
        is_computed=True,
    ),
    _real("sign", "-1, 0 or 1 for a number below, at or above zero", "signum"),
    _real("radians", "The angle, given in degrees, in radians"),
    _real("degrees", "The angle, given in radians, in degrees"),
    _real("sin", "The sine"),
    _real("cos", "The cosine"),
    _real("tan", "The tangent"),
    _real("cot", "One divided by the tangent"),
    _real("sinh", "The hyperbolic sine"),
    _real("cosh", "The hyperbolic cosine"),
    _real("tanh", "The hyperbolic tangent"),
    _real("asinh", "The number with that hyperbolic sine"),
    _real("acosh", "The number with that hyperbolic cosine; NaN below 1"),
    _real("atanh", "The number with that hyperbolic tangent; NaN outside -1 to 1"),
    _real("asin", "The angle with that sine; NaN outside -1 to 1"),
    _real("acos", "The angle with that cosine; NaN outside -1 to 1"),
    _real("atan", "The angle with that tangent"),
    _math(
        "atan2",
        "atan2(y, x)",
        "The angle of the point (x, y); NULL when either is.",
        takes(DOUBLE, DOUBLE, result=DOUBLE),
    ),
    _real("expm1", "e to the power of the number, less one"),
    _real("log1p", "The logarithm to base e of the number plus one; NaN below -1"),
    _real("rint", "The nearest whole number, and the even one of two"),
    _math(
        "width_bucket",
        "width_bucket(number, low, high, count)",
        "The number of the bucket from 1 to `count`, of equal width between low and high; 0 below, one more above; "
        "NULL when an argument is.",
        takes(DOUBLE, DOUBLE, DOUBLE, BIGINT, result=BIGINT),
    ),
    _math("bit_count", "bit_count(number)", "How many bits are set; NULL for NULL.", takes(whole, result=INT)),
    _math(
        "conv",
        "conv(text, base, other)",
        "The whole number, written in one base, in another one, 2 to 36; NULL when an argument is.",
        takes(TEXT, BIGINT, BIGINT, result=TEXT),
    ),
    *(_try(name, word) for name, word in (("add", "sum"), ("subtract", "difference"), ("multiply", "product"))),
    _math(
        "factorial",
        "factorial(number)",
        "The product of the whole numbers up to it, 1 for those below two; more than 20 fails the run; NULL for NULL.",
        takes(whole, result=BIGINT),
    ),
    Function(
        "gcd",
        "math",
        "gcd(a, b)",
        "The greatest number that divides both; overflow fails the run; NULL when either is.",
        takes(whole, whole, result=BIGINT),
        is_computed=True,
    ),
    Function(
        "lcm",
        "math",
        "lcm(a, b)",
        "The least number that both divide; overflow fails the run; NULL when either is.",
        takes(whole, whole, result=BIGINT),
        is_computed=True,
    ),
    _math(
        "nanvl",
        "nanvl(number, otherwise)",
        "The number, or `otherwise` where it is NaN; NULL when either is.",
        _same_fraction,
    ),
    _math("iszero", "iszero(number)", "Whether the number is zero; NULL for NULL.", takes(number, result=BOOLEAN)),
    Function(
        "random",
        "math",
        "random()",
        "A number from 0 up to but not 1, different for each row and each run; never NULL.",
        takes(result=DOUBLE),
        ("rand",),
        nullable=never,
        deterministic=False,
    ),
    Function("pi", "math", "pi()", "The number pi; never NULL.", takes(result=DOUBLE), nullable=never),
    Function(
        "isnan",
        "math",
        "isnan(number)",
        "Whether the number is NaN; NULL for NULL.",
        takes(fraction, result=BOOLEAN),
    ),
)
