"""Marks for the width of numbers in the texts of a plan: `clicks.n.'⟦i32⟧'`. See `engine.plan.state.widths`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from engine.types import Decimal, Float, Integer, Type

Former: TypeAlias = tuple[Type, ...]
"""Former types of a value, narrowest first."""
Formers: TypeAlias = tuple[tuple[Former, ...], ...]
"""Those of all values that an operator hashes, in the groups of `engine.plan.state.forms.hashed_in`."""
FormersText: TypeAlias = tuple[tuple[tuple[str, ...], ...], ...]
"""Serialised form of `Formers`."""


def to_text(kind: Type) -> str:
    """Return a type of numbers in a word."""
    mark = mark_of(kind)
    assert mark is not None, kind
    return mark.strip("⟦⟧")


def formers_of(texts: FormersText) -> Formers:
    """Parse the former types that were stored; raise ValueError for anything else."""
    return tuple(tuple(tuple(map(kind_of_mark, former)) for former in group) for group in texts)


def group(formers: Formers, place: int, size: int) -> Sequence[Former]:
    """Return the former types of one group of `size` values; none if no type was widened."""
    return formers[place] if formers else ((),) * size


_RUN = re.compile(r"((?:\.'⟦\w+⟧')+)")
_MARK = re.compile(r"⟦([iufd])(\d+)(?:_(\d+))?⟧")


def is_wider(old: Type, new: Type) -> bool:
    """Whether every value of a numeric type is exactly one of another type, which may be the same."""
    match old, new:
        case Integer(), Integer():
            return new.holds(old.least) and new.holds(old.largest)
        case Float(), Float():
            return new.bits >= old.bits
        case Decimal(), Decimal():
            return new.scale == old.scale and new.precision >= old.precision
    return False


def mark_of(kind: Type) -> str | None:
    """Return the text that marks a number of this type; None for a type that is no number."""
    match kind:
        case Integer(bits, signed):
            return f"⟦{'i' if signed else 'u'}{bits}⟧"
        case Float(bits):
            return f"⟦f{bits}⟧"
        case Decimal(precision, scale):
            return f"⟦d{precision}_{scale}⟧"
    return None


def apart(text: str) -> tuple[str, Sequence[str]]:
    """Split a text into the text without its marks, and the marks; adjacent marks belong to one number."""
    return _RUN.sub("", text), _RUN.findall(text)


@dataclass(frozen=True, slots=True)
class Marked:
    """A text split into its text without marks, and the narrowest type at each place with marks."""

    text: str
    widths: tuple[Type, ...]

    def becomes(self, other: Marked, *, exactly: bool = False) -> bool:
        """Whether the other text is equal over numbers that are as wide or wider; `exactly` excludes FLOAT and DOUBLE,
        since the same digits are two different numbers there."""
        pairs = list(zip(self.widths, other.widths, strict=False))
        return (
            (self.text, len(self.widths)) == (other.text, len(other.widths))
            and all(is_wider(old, new) for old, new in pairs)
            and not (exactly and any(isinstance(old, Float) and old != new for old, new in pairs))
        )


def marked(text: str) -> Marked:
    """Return a text of a plan without widths, and its marks."""
    left, runs = apart(text)
    return Marked(left, tuple(map(_narrowest, runs)))


def _narrowest(run: str) -> Type:
    narrowest, *others = _types_in(run)
    for kind in others:
        narrowest = kind if is_wider(kind, narrowest) else narrowest
    return narrowest


def kind_of_mark(text: str) -> Type:
    """Return the type of a mark without its brackets; raise ValueError if there is none."""
    kinds = list(_types_in(f"⟦{text}⟧"))
    if len(kinds) != 1:
        raise ValueError(text)
    return kinds[0]


def _types_in(run: str) -> Iterator[Type]:
    for tag, size, scale in _MARK.findall(run):
        match tag:
            case "d":
                yield Decimal(int(size), int(scale))
            case "f":
                yield Float(int(size))
            case _:
                yield Integer(int(size), signed=tag == "i")
