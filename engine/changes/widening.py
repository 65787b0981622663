"""Match operators whose numeric types have become wider, or whose comparisons have swapped sides.

    old      tumble-3f0c   sum(CAST(n AS BIGINT)), min(n) of n INT      number > 5
    new      tumble-3f0c   sum(n), min(n) of n BIGINT                   number > 5, a BIGINT
    result   tumble-3f0c   sum(n), min(n) as in the new script, each with its former type

The canonical texts (`plan/identity/meaning.py`) are then equal. Whether the state can be used is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial

from engine.compile import Program
from engine.plan.identity.meaning import digest
from engine.plan.state.operators import Operator, Part, operators_of
from engine.plan.state.width_marks import Marked, marked
from engine.plan.state.widths import without_widths

MOVED = ("tumble", "hop", "updating-aggregate", "updating-join", "updating-top")
"""Kinds of state that can be converted to wider types."""
_OF_ROWS = ("updating-join", "updating-top")
"""Kinds of state that identify rows by hashes of all their columns."""
_NARROWER = "of narrower numbers"
"""Functions whose result depends on the width of a number, such as `arrow_typeof(n)`."""


@dataclass(frozen=True, slots=True)
class _Side:
    """An operator, and its form without widths."""

    operator: Operator
    loose: Operator

    @property
    def identity(self) -> Marked:
        return marked(self.loose.identity)

    @property
    def rows(self) -> Marked:
        return marked(self.loose.rows)

    @property
    def columns(self) -> Sequence[Marked]:
        return [marked(part.meaning) for part in self.loose.columns]


def as_the_new_has_them(before: Program, after: Program) -> tuple[Operator, ...]:
    """The operators of the old script, each by the texts of that of the new one that is the same of wider numbers."""
    new_sides = list(_sides(after))
    names = {operator.pin for operator in before.operators} & {operator.pin for operator in after.operators} - {None}
    return tuple(_aligned(old, new_sides, names) for old in _sides(before))


def _sides(program: Program) -> Iterator[_Side]:
    loose = operators_of(without_widths(program.parts), program.codes, turns=True)
    yield from (_Side(*pair) for pair in zip(program.operators, loose, strict=True))


def _aligned(old: _Side, candidates: Sequence[_Side], names: Set[str | None]) -> Operator:
    alike = [new for new in candidates if old.identity.becomes(new.identity, exactly=True)]
    if not alike:
        return _told_apart(old.operator, candidates)
    new = max(alike, key=partial(_fit, old, names))
    operator = old.operator
    if operator.kind in MOVED:
        operator = replace(operator, identity=new.operator.identity, columns=tuple(_columns(old, new, alike)))
    else:
        operator = replace(operator, columns=tuple(_as_they_are(old, new)))
    if old.rows.becomes(new.rows, exactly=True):
        return replace(operator, rows=new.operator.rows, conditions=new.operator.conditions)
    looking = [other for other in alike if operator.rows == other.operator.rows]
    if looking and not any(old.rows.becomes(other.rows) for other in looking):
        conditions = tuple(map(_of_other_numbers, operator.conditions))
        return replace(operator, rows=digest(operator.rows, _NARROWER), conditions=conditions)
    return operator


def _fit(old: _Side, names: Set[str | None], new: _Side) -> tuple[bool, bool, bool, bool, int]:
    """Score how well a new operator fits an old one of the same canonical form; the highest is the pair that `pairs_of`
    makes. `names` are the pinned names that both scripts have."""
    counterparts = _counterparts(old, new)
    return (
        old.operator.pin == new.operator.pin or names.isdisjoint({old.operator.pin, new.operator.pin}),
        old.rows.becomes(new.rows, exactly=True),
        len(counterparts) == len(old.columns) == len(new.columns),
        old.operator.sinks == new.operator.sinks,
        len(counterparts),
    )


def _told_apart(old: Operator, candidates: Sequence[_Side]) -> Operator:
    """An operator whose keys say something else of wider numbers: its texts may be those of a new one all the same."""
    looks = old.identity, [part.meaning for part in old.columns]
    if any(looks == (new.operator.identity, [part.meaning for part in new.operator.columns]) for new in candidates):
        return replace(old, columns=tuple(map(_of_other_numbers, old.columns)))
    return old


def _of_other_numbers(part: Part) -> Part:
    """Return a part with the same text in both scripts and another canonical form over narrower numbers."""
    return replace(part, meaning=digest(part.meaning, _NARROWER))


def _counterparts(old: _Side, new: _Side) -> dict[int, int]:
    """For the place of an old column that of the new one that is the same of numbers as wide or wider."""
    columns, exactly = new.columns, old.operator.kind in _OF_ROWS
    places = {
        place: next((other for other, part in enumerate(columns) if column.becomes(part, exactly=exactly)), None)
        for place, column in enumerate(old.columns)
    }
    return {place: other for place, other in places.items() if other is not None}


def _columns(old: _Side, new: _Side, alike: Sequence[_Side]) -> Iterator[Part]:
    """Yield the columns of an old operator as the new one has them, or as another one of the same canonical form has
    them, which may start from a copy of the state."""
    counterparts = {
        place: (side, other) for side in (*reversed(alike), new) for place, other in _counterparts(old, side).items()
    }
    old_marks, texts = old.columns, {part.meaning for part in new.operator.columns}
    for place, part in enumerate(old.operator.columns):
        if place not in counterparts:
            yield _of_other_numbers(part) if part.meaning in texts else part
            continue
        side, other = counterparts[place]
        counterpart = side.operator.columns[other]
        is_same = (part.meaning, old_marks[place]) == (counterpart.meaning, side.columns[other])
        yield part if is_same else replace(part, meaning=counterpart.meaning, was=part.meaning)


def _as_they_are(old: _Side, new: _Side) -> Iterator[Part]:
    """The columns of an operator that cannot be moved: those that only look the same, of wider numbers, are marked."""
    counterparts, old_marks, new_marks = _counterparts(old, new), old.columns, new.columns
    texts = {part.meaning for part in new.operator.columns}
    for place, part in enumerate(old.operator.columns):
        other = counterparts.get(place)
        if other is None and part.meaning in texts:
            yield _of_other_numbers(part)
            continue
        looks_the_same = other is not None and part.meaning == new.operator.columns[other].meaning
        is_wider = old.identity != new.identity or (other is not None and old_marks[place] != new_marks[other])
        yield replace(part, was=part.meaning) if looks_the_same and is_wider else part
