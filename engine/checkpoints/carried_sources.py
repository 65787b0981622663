"""Map the sources of a new query to those of the old query, and rewrite the offset log in the new order.

Spark has one source for each place in a plan that reads a table, and plans each separately:

    old query      0: clicks to 9, 1: clicks to 11, 2: orders to 4
    new query      0: orders, 1: clicks, 2: users; the caller maps its source 1 to the old source 0
    offsets/41     orders to 4, clicks to 9, users at its start: nothing was read

If all old sources of a table are at the same position, the caller need not map them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from engine.checkpoints.spark_log import PlannedEpoch
from engine.errors import StateNotKeptError


@dataclass(frozen=True, slots=True)
class SourceChoice:
    """The caller's mapping of new sources to old ones, by number, and the tables to read from their start whatever the
    old query's position."""

    predecessors: Mapping[int, int] = field(default_factory=dict)
    anew: frozenset[str] = frozenset()


def predecessors(tables: Sequence[str], epochs: Sequence[PlannedEpoch], choice: SourceChoice) -> tuple[int | None, ...]:
    """For each source of the new query, by the table that it reads, the number of the old source it goes on from; None
    for one that begins anew. `epochs` are those that count in the old state."""
    return tuple(
        None if table in choice.anew else _predecessor(number, table, epochs, choice.predecessors.get(number))
        for number, table in enumerate(tables)
    )


def in_order_of(order: Sequence[int | None], first: Sequence[str], epoch: PlannedEpoch) -> PlannedEpoch:
    """A planned epoch of the old query as one of the new query; `first` has where each source of that begins."""
    lines = (begin if old is None else epoch.sources[old] for old, begin in zip(order, first, strict=True))
    return replace(epoch, sources=tuple(lines))


def _predecessor(number: int, table: str, epochs: Sequence[PlannedEpoch], stated: int | None) -> int | None:
    old_tables = [_table_of(epochs, old) for old in range(len(epochs[0].sources))]
    if stated is not None:
        if stated not in range(len(old_tables)) or old_tables[stated] != table:
            raise StateNotKeptError(
                f"source {number} of the new query reads {table}, and source {stated} of the state does not"
            )
        return stated
    candidates = [old for old, old_table in enumerate(old_tables) if old_table == table]
    places = [[epoch.contents[old].get("at") for epoch in epochs] for old in candidates]
    if any(place != places[0] for place in places):
        raise StateNotKeptError(
            f"the old query reads {table} in several places, and has come further in one than in another",
            hint="let the old query read all of its input before it is stopped",
        )
    # of several that stand at one place, that by which the fewest rows are late
    return min(candidates, key=lambda old: _watermark(epochs[-1], old), default=None)


def _table_of(epochs: Sequence[PlannedEpoch], source: int) -> object:
    tables = {epoch.contents[source].get("table") for epoch in epochs} - {None}
    return tables.pop() if len(tables) == 1 else None


def _watermark(epoch: PlannedEpoch, source: int) -> float:
    watermark = epoch.contents[source].get("wm")
    return watermark if isinstance(watermark, int) else float("-inf")
