"""Which shapes queries have: chains of steps, each of which takes a relation further."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from tests.fuzz import event_time, updating, windows
from tests.fuzz.laterals import looking, looking_in_windows
from tests.fuzz.lookups import looked_up
from tests.fuzz.members import asked, asked_in_windows, compared
from tests.fuzz.queries import Builder, Relation

Step: TypeAlias = Callable[[Relation], Relation]
Shape: TypeAlias = Callable[[Builder], Relation]


_MANY = 12
"""Where nothing but expressions is tried, many cost no more than one."""


def plain(builder: Builder) -> Relation:
    """One row at a time."""
    steps: list[Step] = [builder.projected, builder.united, builder.unnested, partial(looked_up, builder)]
    return _some(builder, builder.base(computed=_MANY), steps)


def windowed(builder: Builder) -> Relation:
    """Time windows, and what can be done within them."""
    return _within(builder, builder.windowed(_rows(builder)))


def joining(builder: Builder) -> Relation:
    """A join of windows, and what can be done within them."""
    relation = builder.random.choice([windows.joined, windows.joined, looking_in_windows, asked_in_windows])(builder)
    return _within(builder, relation) if relation.window else relation


def grouped(builder: Builder) -> Relation:
    """Aggregates that change with every row, one over the other."""
    relation = updating.grouped(builder, _rows(builder))
    steps: list[Step] = [builder.projected, partial(updating.grouped, builder), partial(updating.distinct, builder)]
    return _some(builder, relation, steps)


def distinct(builder: Builder) -> Relation:
    """Distinct rows, and what is made of them."""
    relation = updating.distinct(builder, _rows(builder))
    return _some(builder, relation, [builder.projected, partial(updating.grouped, builder)])


def meeting(builder: Builder) -> Relation:
    """A join of everything that ever came, of rows or of what is made of them."""
    relation = _met(builder, _side(builder), _side(builder))
    return _some(builder, relation, [builder.projected, partial(updating.grouped, builder)])


def changing(builder: Builder) -> Relation:
    """Rows that change already where they come from, and what is made of them."""
    steps: list[Step] = [builder.projected, partial(updating.grouped, builder), partial(updating.distinct, builder)]

    def met(source: Relation) -> Relation:
        return _met(builder, source, _side(builder))

    return _some(builder, builder.changes(), [*steps, *steps, met])


def by_event_time(builder: Builder) -> Relation:
    """Functions of earlier rows, and what is made of them."""
    rows, others = _in_time(builder), _in_time(builder)
    if builder.random.random() < 0.4:
        relation = event_time.versions(builder, rows, others)
    else:
        relation = event_time.over(builder, rows)
    steps: list[Step] = [builder.projected, partial(updating.grouped, builder), partial(updating.distinct, builder)]
    return _some(builder, relation, steps)


SHAPES: tuple[Shape, ...] = (
    plain, windowed, windowed, windowed, joining, grouped, distinct, meeting, changing, by_event_time
)  # fmt: skip


def _in_time(builder: Builder) -> Relation:
    rows = builder.base()
    while not event_time.with_time(rows):
        rows = builder.base()
    return rows


def _met(builder: Builder, left: Relation, right: Relation) -> Relation:
    ways = [updating.joined, updating.joined, looking, updating.measured, asked, compared]
    return builder.random.choice(ways)(builder, left, right)


def _rows(builder: Builder) -> Relation:
    return _some(builder, builder.base(), [builder.projected, builder.united, partial(looked_up, builder)])


def _side(builder: Builder) -> Relation:
    rows = builder.changes() if builder.random.random() < 0.2 else _rows(builder)
    return updating.grouped(builder, rows) if builder.random.random() < 0.3 else rows


def _within(builder: Builder, source: Relation) -> Relation:
    ranked, over, top = (partial(step, builder) for step in (windows.ranked, windows.over, windows.top))
    steps: list[Step] = [builder.projected, builder.unnested, builder.united, over, ranked, top, builder.nested]
    steps.append(partial(looked_up, builder))
    return _some(builder, source, steps)


def _some(builder: Builder, source: Relation, steps: Sequence[Step]) -> Relation:
    relation = source
    for _ in range(builder.random.choice([0, 0, 1, 1, 2])):
        relation = builder.random.choice(steps)(relation)
    return relation
