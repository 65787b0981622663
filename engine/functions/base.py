"""Declaration of SQL functions, and of the arguments they accept.

Parameter types beyond one plain type: each maps an argument's type to the type it is cast to, or refuses it.

State of a group's values in an aggregate, while rows may be added or retracted.

    retention   added values     state                   after a retraction of 4
    TOTAL       3, 4, 4          total 11, 3 values      total 7, 2 values
    GREATEST    3, 4, 4          4                       unknown: smaller values are gone
    VALUES      3, 4, 4          3 once, 4 twice         3 once, 4 once

So a maximum needs all values if rows may be retracted, and so does every DISTINCT aggregate for which multiplicity
matters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Literal, TypeAlias

from engine.functions.coercion import can_cast, can_coerce, common_type_of
from engine.types import (
    BIGINT,
    DOUBLE,
    TEXT,
    TIMESTAMP,
    Boolean,
    Bytes,
    Date,
    Decimal,
    Float,
    Integer,
    Interval,
    Json,
    Null,
    Struct,
    Text,
    Timestamp,
    Type,
    is_number,
)
from engine.types import Array as ArrayType

BYTES = Bytes()


def anything(kind: Type) -> Type:
    """Return every type as it is."""
    return kind


def scalar(kind: Type) -> Type | None:
    """Return a value without parts, as it is."""
    return None if isinstance(kind, Struct | ArrayType) else TEXT if isinstance(kind, Null) else kind


def anything_known(kind: Type) -> Type:
    """Return every type as it is, and a bare NULL as TEXT."""
    return TEXT if isinstance(kind, Null) else kind


def scalar_as_text(kind: Type) -> Type | None:
    """Return TEXT for a type that can be formatted as text, else None."""
    return None if isinstance(kind, Struct | ArrayType) or not can_cast(kind, TEXT) else TEXT


def instant(kind: Type) -> Type | None:
    """Return a timestamp, or a day as its midnight."""
    return TIMESTAMP if isinstance(kind, Timestamp | Date | Null) else None


def known_instant(kind: Type) -> Type | None:
    """Return a timestamp, or a day as its midnight, but no bare NULL, which might as well be an interval."""
    return None if isinstance(kind, Null) else instant(kind)


def whole(kind: Type) -> Type | None:
    """Return a whole number of any width, as BIGINT."""
    return BIGINT if isinstance(kind, Integer | Null) else None


def only_whole(kind: Type) -> Type | None:
    """Return a whole number of any width, as BIGINT, but no bare NULL."""
    return BIGINT if isinstance(kind, Integer) else None


def number(kind: Type) -> Type | None:
    """Return a number of any type, as it is."""
    return BIGINT if isinstance(kind, Null) else kind if is_number(kind) else None


def signed_number(kind: Type) -> Type | None:
    """Return a number whose type also holds its negative."""
    match kind:
        case Integer(bits, signed=False):
            return Integer(min(64, bits * 2))
        case Integer() | Float() | Decimal():
            return kind
        case Null():
            return BIGINT
    return None


def only_number(kind: Type) -> Type | None:
    """Return a number of any type, as DOUBLE."""
    return DOUBLE if is_number(kind) else None


def only_number_or_null(kind: Type) -> Type | None:
    """Return a number of any type, or a bare NULL, as DOUBLE."""
    return DOUBLE if isinstance(kind, Null) else only_number(kind)


def fraction(kind: Type) -> Type | None:
    """Return a FLOAT as it is, and every other number as DOUBLE."""
    match kind:
        case Float():
            return kind
        case Integer() | Decimal() | Null():
            return DOUBLE
    return None


def fraction_or_decimal(kind: Type) -> Type | None:
    """Return a FLOAT or DECIMAL as it is, and every other number as DOUBLE."""
    return kind if isinstance(kind, Decimal) else fraction(kind)


def text_or_bytes(kind: Type) -> Type | None:
    """Return text and raw bytes as they are."""
    return kind if isinstance(kind, Text | Bytes) else TEXT if isinstance(kind, Null) else None


def comparable(kind: Type) -> Type | None:
    """Return a value that has an order, as it is."""
    ranked = Boolean | Integer | Float | Decimal | Text | Json | Bytes | Timestamp | Date | Interval | Null
    return kind if isinstance(kind, ranked) else None


def sortable(kind: Type) -> Type | None:
    """Return a value that has an order, as it is, and a bare NULL as BIGINT."""
    return BIGINT if isinstance(kind, Null) else comparable(kind)


class Retention(Enum):
    """Kind of state of a group's values. `engine.updating.accumulators` has the columns of each."""

    COUNT = auto()
    TOTAL = auto()
    MEAN = auto()
    EVERY_TRUE = auto()
    ANY_TRUE = auto()
    PARITY = auto()
    LEAST = auto()
    GREATEST = auto()
    MOMENTS = auto()
    VALUES = auto()

    @property
    def is_invertible(self) -> bool:
        """Whether a value that is taken back can be taken off again exactly. The squares of moments cannot: about
        another centre they have lost digits."""
        return self not in (Retention.LEAST, Retention.GREATEST, Retention.MOMENTS, Retention.VALUES)


@dataclass(frozen=True, slots=True)
class Signature:
    """Types to which the arguments of one call are cast, and the type of its result."""

    arguments: tuple[Type, ...]
    result: Type


Resolve: TypeAlias = Callable[[Sequence[Type]], Signature | None]
Parameter: TypeAlias = Type | Callable[[Type], Type | None]
Result: TypeAlias = Type | Callable[[tuple[Type, ...]], Type]
Takes: TypeAlias = Literal["all", "forward", "both"]
"""How a user-defined aggregate gets the rows of a group: all at once, one by one, or one by one with retractions."""


ANY_CONSTANT: frozenset[str] = frozenset()


def never(_: Iterable[bool]) -> bool:
    """Return False: the result is never NULL."""
    return False


def always(_: Iterable[bool]) -> bool:
    """Return True: the result may be NULL."""
    return True


def first(arguments: Iterable[bool]) -> bool:
    """Whether the result may be NULL, because the first argument may be; the others do not count."""
    return next(iter(arguments))


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function or operator that scripts may call.

    `resolve` returns None if the argument types do not fit; a bare NULL has the type `Null`. `nullable` derives the
    nullability of the result: `any` if a NULL argument gives NULL, `all` if the first non-NULL value counts. `choices`
    has the arguments (by index) that must be constants, with the allowed lower-case words, or an empty set for any
    constant; `checks` validates constant texts, with `advice` as the hint, and `refuses` returns why constants do not
    fit together, given None for every other argument. `variants` redirects a call whose first
    argument is such a constant to another function with the remaining arguments. `is_computed`: it has a kernel of that
    name in `engine.arrow.functions`, for calls that Spark cannot express. `gives_rows`: it returns an array, which a
    SELECT list unnests. `by_user`: it is user-defined. `cannot_fail`: it may be evaluated for rows for which the script
    would not evaluate it.
    """

    name: str
    family: str
    usage: str
    doc: str
    resolve: Resolve
    aliases: tuple[str, ...] = ()
    nullable: Callable[[Iterable[bool]], bool] = any
    choices: Mapping[int, frozenset[str]] = field(default_factory=dict, hash=False)
    checks: Mapping[int, Callable[[str], bool]] = field(default_factory=dict, hash=False)
    advice: Callable[[str], str | None] | None = field(default=None, hash=False)
    refuses: Callable[[Sequence[object]], str | None] | None = field(default=None, hash=False)
    variants: Mapping[str, str] = field(default_factory=dict, hash=False)
    deterministic: bool = True
    is_computed: bool = False
    gives_rows: bool = False
    by_user: bool = False
    cannot_fail: bool = False


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """An aggregate function; `takes_star` if it accepts `*`, which counts as no argument.

    `nullable` says whether a group of at least one row without NULLs may give NULL, or an empty group does. `constants`
    has the arguments (by index) that must be constants, each with a validator. `is_ordered`: the order of the rows
    matters, so it accepts ORDER BY after its arguments, and IGNORE NULLS. `within_group`: its first argument may be
    written as WITHIN GROUP (ORDER BY). `by_user`: it is user-defined, and `takes` says how it gets rows.

    The other fields define its state: `retention` is the state of its values without a window; `collects_in_window` if
    Spark stores all values of a window. `takes_nulls`: NULL is a value like others. `ignores_repeats`: it is the same
    with and without DISTINCT. `combined_by` names the aggregate that combines partial results; with `distinct_by_set`,
    Spark's streams can compute its DISTINCT from a set of values.
    """

    name: str
    usage: str
    doc: str
    resolve: Resolve
    aliases: tuple[str, ...] = ()
    takes_star: bool = False
    nullable: bool = True
    constants: Mapping[int, Callable[[object], bool]] = field(default_factory=dict, hash=False)
    is_ordered: bool = False
    within_group: bool = False
    by_user: bool = False
    takes: Takes = "all"
    retention: Retention = Retention.VALUES
    collects_in_window: bool = False
    takes_nulls: bool = False
    ignores_repeats: bool = False
    combined_by: str | None = None
    distinct_by_set: bool = False

    def retains_values(self, *, distinct: bool, only_appends: bool) -> bool:
        """Whether the values of a group must be kept where there is no window; else something of a fixed size does."""
        if distinct and not self.ignores_repeats:
            return True
        if only_appends:
            return self.retention is Retention.VALUES
        return not self.retention.is_invertible


def takes(*parameters: Parameter, result: Result, optional: int = 0) -> Resolve:
    """Accept arguments by position. The last `optional` ones may be missing."""

    def resolve(arguments: Sequence[Type]) -> Signature | None:
        if not len(parameters) - optional <= len(arguments) <= len(parameters):
            return None
        targets = tuple(map(_target, parameters, arguments))
        return _signature(targets, result)

    return resolve


def takes_many(parameter: Parameter, *, result: Result, first: Sequence[Parameter] = (), least: int = 1) -> Resolve:
    """Accept arguments by position for `first`, then at least `least` arguments that all fit one parameter."""

    def resolve(arguments: Sequence[Type]) -> Signature | None:
        if len(arguments) < len(first) + least:
            return None
        parameters = [*first, *[parameter] * (len(arguments) - len(first))]
        return _signature(tuple(map(_target, parameters, arguments)), result)

    return resolve


def takes_alike(*, result: Type | None = None, least: int = 1, most: int | None = None) -> Resolve:
    """Accept arguments that have a common type; the result has that type unless another is named."""

    def resolve(arguments: Sequence[Type]) -> Signature | None:
        if len(arguments) < least or (most is not None and len(arguments) > most):
            return None
        shared = common_type_of(arguments)
        if shared is None:
            return None
        return Signature((shared,) * len(arguments), shared if result is None else result)

    return resolve


def first_of(*choices: Resolve) -> Resolve:
    """Return the first way of taking arguments that fits."""

    def resolve(arguments: Sequence[Type]) -> Signature | None:
        return next((signature for choice in choices if (signature := choice(arguments))), None)

    return resolve


def _target(parameter: Parameter, argument: Type) -> Type | None:
    if isinstance(parameter, Type):
        return parameter if can_coerce(argument, parameter) else None
    return parameter(argument)


def _signature(targets: tuple[Type | None, ...], result: Result) -> Signature | None:
    arguments = tuple(target for target in targets if target is not None)
    if len(arguments) < len(targets):
        return None
    return Signature(arguments, result if isinstance(result, Type) else result(arguments))
