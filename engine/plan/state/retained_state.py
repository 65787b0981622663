"""Describe the state of a plan: what is stored between epochs, and for how long.

    count(*), median(n) by tumble(1 minute)   a row and every value for median(...) of each window and key, for 1 minute
                                              and until late rows are refused
    max(n) by key, append-only rows           a row of each key, for 6 hours after its last change
    max(n) by key, with retractions           a row and every value for max(...) of each key, ...

The declared retention of an aggregate says whether it needs all values (`functions/base.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from engine.functions import AGGREGATES
from engine.plan.nodes import (
    Aggregate,
    ByPane,
    Calendar,
    Carried,
    Cumulate,
    EventTimeOver,
    Hop,
    NamedAggregate,
    Session,
    Tumble,
    UpdatingAggregate,
    UpdatingJoin,
    UpdatingTop,
    Window,
    WindowAggregate,
    is_updating,
)
from engine.plan.placement.split import Parts
from engine.plan.tree import Node, walk


def retained_states(parts: Parts) -> list[tuple[int, Node, str]]:
    """Return every stateful operator: its branch, the node, and how long it stores what."""
    nodes = [(index, node) for index, branch in enumerate(parts.branches) for node in walk(branch)]
    return [(index, node, state) for index, node in nodes if (state := state_of(node)) is not None]


def state_of(node: Node) -> str | None:
    """Describe the state that a node keeps between epochs and for how long; None for a stateless node."""
    match node:
        case WindowAggregate(window=Hop() as window, by_pane=ByPane()):
            return (
                f"a row of each pane of {spell(window.pane)} and key, for {spell(window.width)} and until late rows are"
                f" refused; each row is in {-(-window.width // window.slide)} windows, which are made of panes"
            )
        case WindowAggregate(_, window, _, _, aggregates):
            return _state_of_window(window, [named.aggregate for named in aggregates])
        case UpdatingAggregate(source, _, aggregates, ttl):
            only_appends = not is_updating(source)
            whole = [
                aggregate for aggregate in _unnamed(aggregates) if needs_values(aggregate, only_appends=only_appends)
            ]
            return f"a row{_and_values(whole)} of each key, for {spell(ttl)} after its last change"
        case UpdatingJoin(ttl=ttl):
            return f"every row of both sides, for {spell(ttl)} after its last change"
        case UpdatingTop(source, _, _, _, _, limit, ttl):
            some = "every row" if limit is None or is_updating(source) else f"the first {limit} row{'s' * (limit > 1)}"
            return f"{some} of each partition, for {spell(ttl)} after its last change"
        case EventTimeOver(ttl=ttl):
            waits = _ahead(node)
            return (
                f"every row until the watermark passes it{waits}, and {_reach(node)}, for {spell(ttl)} after its last"
                " row"
            )
    return None


def _ahead(node: EventTimeOver) -> str:
    """Describe the later rows that functions need."""
    frames = [function.frame for function in node.functions]
    rows = max((frame.end or 0 for frame in frames if frame and frame.unit == "rows"), default=0)
    micros = max((frame.end or 0 for frame in frames if frame and frame.unit == "range"), default=0)
    parts = [f"{rows} more row{'s' * (rows > 1)} of its partition"] * (rows > 0)
    parts += [f"{spell(timedelta(microseconds=micros))} more"] * (micros > 0)
    return "".join(f" and {part}" for part in parts)


def _reach(node: EventTimeOver) -> str:
    """Describe the earlier rows of a partition that functions need."""
    frames = [function.frame for function in node.functions]
    rows = max((-frame.start for frame in frames if frame and frame.unit == "rows" and frame.start), default=0)
    micros = max((-frame.start for frame in frames if frame and frame.unit == "range" and frame.start), default=0)
    parts = [f"the last {rows} row{'s' * (rows > 1)}"] * (rows > 0)
    parts += [f"the rows of {spell(timedelta(microseconds=micros))}"] * (micros > 0)
    return f"{' and '.join(parts) or 'a row'} of each partition"


def _state_of_window(window: Window, aggregates: Sequence[Aggregate]) -> str | None:
    values = _and_values([aggregate for aggregate in aggregates if needs_values_in_window(aggregate)])
    match window:
        case Tumble(width):
            return f"a row{values} of each window and key, for {spell(width)} and until late rows are refused"
        case Hop(slide, width):
            return (
                f"a row{values} of each window and key, for {spell(width)} and until late rows are refused;"
                f" each row is in {-(-width // slide)} windows"
            )
        case Session(gap):
            return f"a row{values} of each session and key, until {spell(gap)} after its last row"
        case Calendar():
            return f"a row{values} of each window and key, until the window ends and late rows are refused"
        case Cumulate():
            return (
                f"a row{values} of each window and key, until the window ends and late rows are refused; each row is in"
                " all windows that end after it"
            )
        case Carried():
            return None


def needs_values_in_window(aggregate: Aggregate) -> bool:
    """Whether a window must store the values of an aggregate until it closes, instead of a state of fixed size."""
    function = AGGREGATES.get(aggregate.function)
    if function is None or (aggregate.distinct and not function.ignores_repeats):
        return True
    return function.collects_in_window


def needs_values(aggregate: Aggregate, *, only_appends: bool) -> bool:
    """Whether the values of an aggregate without a window must be stored, instead of a state of fixed size."""
    if aggregate.takes != "all" and not aggregate.distinct and not aggregate.order:
        return aggregate.takes == "forward" and not only_appends
    function = AGGREGATES.get(aggregate.function)
    return function is None or function.retains_values(distinct=aggregate.distinct, only_appends=only_appends)


def spell(length: timedelta) -> str:
    """Return a duration in words, which SQL accepts as an interval, too."""
    micros = length // timedelta(microseconds=1)
    for name, size in _SIZES:
        if micros % size == 0:
            return f"{micros // size} {name}{'' if micros == size else 's'}"
    return f"{micros} microseconds"


_SIZES = (
    ("day", 86_400_000_000), ("hour", 3_600_000_000), ("minute", 60_000_000), ("second", 1_000_000),
    ("millisecond", 1_000),
)  # fmt: skip


def _unnamed(aggregates: Sequence[NamedAggregate]) -> list[Aggregate]:
    return [named.aggregate for named in aggregates]


def _and_values(aggregates: Sequence[Aggregate]) -> str:
    if not aggregates:
        return ""
    names = dict.fromkeys(
        f"{aggregate.function}({'DISTINCT ' if aggregate.distinct else ''}...)" for aggregate in aggregates
    )
    return f" and every value for {', '.join(names)}"
