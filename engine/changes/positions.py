"""Choose the start position of each place of a plan that reads a table.

    before   tumble of clicks            source 0        after   session of clicks           source 0 <- 0
             clicks into others          source 1                tumble of clicks            source 1 <- 0
                                                                 clicks into others          source 2 <- 1

Spark has a source for each place of the plan that reads a table, numbered from the top, branch by branch. On a live
topic their positions may differ. The state of a kept operator covers the rows up to the position of its own source, and
so does the output of a branch without state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from engine.compile import Program
from engine.plan.identity.meaning import Meanings
from engine.plan.nodes import Scan
from engine.plan.state.operators import is_stateful, sinks_of
from engine.plan.tree import Node, inputs_of


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the plan that reads a table: the number of the operator above it or, without one, the sinks of its
    rows; and the canonical form of its rows before they are combined with others."""

    table: str
    operator: int | None
    sinks: frozenset[str]
    meaning: str


def source_numbers(
    before: Program, after: Program, kept: Mapping[int, int], dropped: frozenset[str]
) -> Mapping[int, int]:
    """For the number of a source of the new program that of the old one from whose position it goes on. A place of a
    kept operator goes on from the same place of that operator; one without state from where its sinks have all rows;
    any other from the first place of its table. What has no number here is of a table that begins anew, or of sinks
    that may have come to different positions."""
    old_places = [(number, place) for number, place in enumerate(places_of(before)) if place.table not in dropped]
    numbers: dict[int, int] = {}
    places = list(enumerate(places_of(after)))
    # several operators may go on with the state of one, each from the places of that
    unmatched = {place.operator: list(old_places) for _, place in places}
    for has_same_meaning in (True, False):
        for number, place in places:
            left = unmatched[place.operator]
            same = [old for old in left if _is_same(old[1], place, kept, has_same_meaning=has_same_meaning)]
            if number not in numbers and same and (has_same_meaning or place.operator is not None):
                numbers[number] = same[0][0]
                left.remove(same[0])
    for number, place in places:
        if number not in numbers and (others := _others(place, old_places)):
            numbers |= {number: others[0]} if len(others) == 1 or place.operator is not None else {}
    return numbers


def _is_same(old: Place, new: Place, kept: Mapping[int, int], *, has_same_meaning: bool) -> bool:
    """Whether two places of one table are below the same operator, or have rows for the same sinks."""
    if old.table != new.table or (has_same_meaning and old.meaning != new.meaning):
        return False
    if new.operator is not None:
        return old.operator is not None and kept.get(new.operator) == old.operator
    return old.operator is None and old.sinks == new.sinks


def _others(place: Place, old_places: Sequence[tuple[int, Place]]) -> list[int]:
    """From where a place may go on that was not there: where its sinks are, else anywhere; but that is one place."""
    of_table = [(number, old) for number, old in old_places if old.table == place.table]
    of_sinks = [number for number, old in of_table if old.sinks & place.sinks]
    return of_sinks or [number for number, _ in of_table[:1]]


def places_of(program: Program) -> list[Place]:
    """The places of a program that read tables, in the order of Spark's sources."""
    numbers = iter(range(len(program.operators)))
    meanings = Meanings(program.codes)

    def places(node: Node, alone: Node, operator: int | None, sinks: frozenset[str]) -> Iterator[Place]:
        if isinstance(node, Scan):
            yield Place(node.table, operator, sinks if operator is None else frozenset(), meanings.of(alone).digest)
        below = next(numbers) if is_stateful(node) else operator
        inputs = inputs_of(node)
        for part in inputs:
            yield from places(part, part if is_stateful(node) or len(inputs) > 1 else alone, below, sinks)

    branches = enumerate(program.parts.branches)
    return [
        place for index, branch in branches for place in places(branch, branch, None, sinks_of(program.parts, index))
    ]
