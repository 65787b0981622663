"""Operators, declared like every other function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.functions.base import (
    Function,
    Resolve,
    Signature,
    anything,
    first_of,
    known_instant,
    never,
    only_number,
    scalar_as_text,
    signed_number,
    takes,
    takes_alike,
    takes_many,
    whole,
)
from engine.functions.coercion import as_decimal, bounded_decimal, common_type
from engine.functions.parsers.regex import is_regex, why_refused
from engine.types import (
    BIGINT,
    BOOLEAN,
    TEXT,
    TIMESTAMP,
    Date,
    Decimal,
    Float,
    Integer,
    Interval,
    Null,
    Type,
)

INTERVAL = Interval()


def _numbers(operator: str) -> Resolve:
    def resolve(arguments: Sequence[Type]) -> Signature | None:
        if len(arguments) != 2:
            return None
        shared = common_type(*arguments)
        match shared:
            case Null():
                return Signature((BIGINT, BIGINT), BIGINT)
            case Integer(signed=False):
                # The operands keep 63 bits, so that a sum cannot leave the range of its type unseen.
                wide = Integer(64, signed=operator == "-")
                return Signature((wide, wide), wide)
            case Integer() | Float():
                return Signature((shared, shared), shared)
            case Decimal():
                left, right = (as_decimal(shared if isinstance(kind, Null) else kind) for kind in arguments)
                return Signature((left, right), _decimal_result(operator, left, right))
        return None

    return resolve


def _decimal_result(operator: str, a: Decimal, b: Decimal) -> Decimal:
    scale = max(a.scale, b.scale)
    match operator:
        case "*":
            return bounded_decimal(a.precision + b.precision + 1, a.scale + b.scale)
        case "/":
            return bounded_decimal(a.precision + b.scale + 4, a.scale + 4)
        case "%":
            return bounded_decimal(min(a.precision - a.scale, b.precision - b.scale) + scale, scale)
    return bounded_decimal(max(a.precision - a.scale, b.precision - b.scale) + scale + 1, scale)


def _bits(arguments: Sequence[Type]) -> Signature | None:
    shared = common_type(*arguments) if len(arguments) == 2 else None
    match shared:
        case Null():
            return Signature((BIGINT, BIGINT), BIGINT)
        case Integer():
            return Signature((shared, shared), shared)
    return None


def _shift(arguments: Sequence[Type]) -> Signature | None:
    """Return the type of the shifted value; unsigned numbers become BIGINT, so that no result is out of range."""
    signature = takes(whole, whole, result=BIGINT)(arguments)
    match arguments:
        case [Integer(signed=True) as kind, _] if signature is not None:
            return Signature((kind, BIGINT), kind)
    return signature


def _length(kind: Type) -> Type | None:
    return INTERVAL if isinstance(kind, Interval | Null) else None


def _only_length(kind: Type) -> Type | None:
    return INTERVAL if isinstance(kind, Interval) else None


def _days(sign: str) -> tuple[Resolve, ...]:
    """Return a day and a whole number of days give a day."""
    day = Date()
    after = takes(lambda kind: kind if isinstance(kind, Date) else None, _only_whole, result=day)
    return (after,) if sign == "-" else (after, takes(_only_whole, _only_day, result=day))


def _only_whole(kind: Type) -> Type | None:
    return BIGINT if isinstance(kind, Integer) else None


def _only_day(kind: Type) -> Type | None:
    return kind if isinstance(kind, Date) else None


_COMPARISONS = takes_alike(result=BOOLEAN, least=2, most=2)
_TRUTH = takes(BOOLEAN, result=BOOLEAN)
_MATCHES = takes(TEXT, TEXT, result=BOOLEAN)


def _operator(name: str, usage: str, doc: str, resolve: Resolve, *aliases: str) -> Function:
    return Function(name, "operators", usage, doc, resolve, aliases)


def _predicate(name: str, usage: str, doc: str, resolve: Resolve, *aliases: str) -> Function:
    return replace(_operator(name, usage, doc, resolve, *aliases), cannot_fail=True)


def _regex(name: str, usage: str, doc: str) -> Function:
    return replace(_operator(name, usage, doc, _MATCHES), checks={1: is_regex}, advice=why_refused)


def _total(name: str, usage: str, doc: str, resolve: Resolve) -> Function:
    return replace(_predicate(name, usage, doc, resolve), nullable=never)


OPERATORS = (
    _operator(
        "+",
        "a + b",
        "The sum of two numbers, or a time plus an interval; overflow fails the run; NULL when either is.",
        first_of(
            _numbers("+"),
            takes(known_instant, _length, result=TIMESTAMP),
            takes(_only_length, known_instant, result=TIMESTAMP),
            takes(_only_length, _length, result=INTERVAL),
            *_days("+"),
        ),
    ),
    _operator(
        "-",
        "a - b",
        "The difference of numbers or times, or a time minus an interval; unsigned numbers give BIGINT; NULL "
        "when either is.",
        first_of(
            _numbers("-"),
            takes(known_instant, known_instant, result=INTERVAL),
            takes(known_instant, _length, result=TIMESTAMP),
            takes(_only_length, _length, result=INTERVAL),
            *_days("-"),
        ),
    ),
    _operator(
        "*",
        "a * b",
        "The product of two numbers, or an interval multiplied by a number; NULL when either is.",
        first_of(
            _numbers("*"),
            takes(_only_length, whole, result=INTERVAL),
            takes(whole, _only_length, result=INTERVAL),
            takes(_only_length, only_number, result=INTERVAL),
            takes(only_number, _only_length, result=INTERVAL),
        ),
    ),
    _operator(
        "/",
        "a / b",
        "The quotient, cut towards zero for whole numbers and behind four more places for DECIMAL, or a part of an "
        "interval; division by zero fails the run; NULL when either is.",
        first_of(
            _numbers("/"),
            takes(_only_length, whole, result=INTERVAL),
            takes(_only_length, only_number, result=INTERVAL),
        ),
    ),
    _operator(
        "%",
        "a % b",
        "The remainder of the division, with the sign of `a`; zero for `b` fails the run; NULL when either is.",
        _numbers("%"),
        "mod",
    ),
    _operator("&", "a & b", "The bits that both whole numbers have; NULL when either is.", _bits),
    _operator("|", "a | b", "The bits that at least one of the whole numbers has; NULL when either is.", _bits),
    _operator("#", "a # b", "The bits that only one of the whole numbers has; NULL when either is.", _bits),
    _operator(
        "<<",
        "a << n",
        "The bits shifted left, within the width of the number; `n` counts modulo that width; NULL when either is.",
        _shift,
    ),
    _operator(
        ">>",
        "a >> n",
        "The bits shifted right, keeping the sign; `n` counts modulo the width of the number; NULL when either is.",
        _shift,
    ),
    _operator(
        "negate",
        "- a",
        "The number or interval with the opposite sign; NULL for NULL.",
        first_of(
            takes(signed_number, result=lambda arguments: arguments[0]),
            takes(_only_length, result=INTERVAL),
        ),
    ),
    _predicate("=", "a = b", "Whether they are equal; NaN equals NaN; NULL when either is.", _COMPARISONS),
    _predicate("<>", "a <> b", "Whether they differ; NULL when either is.", _COMPARISONS, "!="),
    _predicate(
        "<",
        "a < b",
        "Whether `a` is less; text compares by bytes, NaN is the greatest; NULL when either is.",
        _COMPARISONS,
    ),
    _predicate("<=", "a <= b", "Whether `a` is not greater; NULL when either is.", _COMPARISONS),
    _predicate(">", "a > b", "Whether `a` is greater; NULL when either is.", _COMPARISONS),
    _predicate(">=", "a >= b", "Whether `a` is not less; NULL when either is.", _COMPARISONS),
    _total(
        "is_distinct_from",
        "a IS DISTINCT FROM b",
        "Whether they differ, where NULL counts as a value; never NULL.",
        _COMPARISONS,
    ),
    _total(
        "is_not_distinct_from",
        "a IS NOT DISTINCT FROM b",
        "Whether they are equal, where NULL counts as a value; never NULL.",
        _COMPARISONS,
    ),
    _predicate(
        "between",
        "a BETWEEN low AND high",
        "Whether `a` is neither below `low` nor above `high`; NULL where that is unknown.",
        takes_alike(result=BOOLEAN, least=3, most=3),
    ),
    _predicate(
        "in",
        "a IN (b, ...)",
        "Whether `a` equals one of the others; NULL when `a` is, or when none is equal and one is NULL.",
        takes_alike(result=BOOLEAN, least=2),
    ),
    _predicate(
        "and",
        "a AND b",
        "False when one is false, else NULL when one is NULL, else true.",
        takes_many(BOOLEAN, result=BOOLEAN, least=2),
    ),
    _predicate(
        "or",
        "a OR b",
        "True when one is true, else NULL when one is NULL, else false.",
        takes_many(BOOLEAN, result=BOOLEAN, least=2),
    ),
    _predicate("not", "NOT a", "The opposite; NULL for NULL.", _TRUTH),
    _total("is_null", "a IS NULL", "Whether the value is NULL; never NULL.", takes(anything, result=BOOLEAN)),
    _total(
        "is_not_null", "a IS NOT NULL", "Whether the value is not NULL; never NULL.", takes(anything, result=BOOLEAN)
    ),
    _total("is_true", "a IS TRUE", "Whether the value is true; false for NULL.", _TRUTH),
    _total("is_not_true", "a IS NOT TRUE", "Whether the value is false or NULL.", _TRUTH),
    _total("is_false", "a IS FALSE", "Whether the value is false; false for NULL.", _TRUTH),
    _total("is_not_false", "a IS NOT FALSE", "Whether the value is true or NULL.", _TRUTH),
    _operator(
        "||",
        "a || b",
        "Both values as text, one after the other; NULL when either is.",
        takes_many(scalar_as_text, result=TEXT, least=2),
    ),
    _predicate(
        "like",
        "text LIKE pattern",
        "Whether the text matches; % stands for any text, _ for any character, a backslash escapes the next; "
        "NULL when either is.",
        _MATCHES,
    ),
    _operator("not_like", "text NOT LIKE pattern", "The opposite of LIKE; NULL when either is.", _MATCHES),
    _predicate("ilike", "text ILIKE pattern", "LIKE, ignoring case; NULL when either is.", _MATCHES),
    _operator("not_ilike", "text NOT ILIKE pattern", "The opposite of ILIKE; NULL when either is.", _MATCHES),
    _regex(
        "~",
        "text ~ regex",
        "Whether the regular expression matches somewhere in the text; "
        "NULL when either is. It has the syntax of Rust's regex crate; in a column, one that is refused ends the run.",
    ),
    _regex("~*", "text ~* regex", "The same as ~, ignoring case; NULL when either is."),
    _regex("!~", "text !~ regex", "The opposite of ~; NULL when either is."),
    _regex("!~*", "text !~* regex", "The opposite of ~*; NULL when either is."),
)
