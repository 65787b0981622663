"""Plan a hand-over: a pipeline takes over the operators' state of its reprocessed copy, and keeps its own sinks.

original    counts, the topic "counts"      its state is moved aside
copy        tumble-3f0c, "again-counts"     tumble-3f0c is kept; "again-counts" gets no more rows
result      tumble-3f0c, the topic "counts" windows that the original has emitted are emitted there once

Plan a fork: another pipeline starts from the state of this one. It must write to other targets.

    original   tumble-3f0c of clicks into counts, the topic "counts"
    fork       tumble-3f0c of clicks into counts, the topic "counts"           refused: the topic has a writer
    fork       tumble-3f0c of clicks into counts, the topic "counts-2"         tumble-3f0c STATE_KEPT, counts STATE_NEW

A sink of the fork gets nothing from a sink of the original, whatever its name: neither rows nor open files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from engine.changes.compare import compare
from engine.changes.sinks import sink_verdicts
from engine.changes.verdict import Change, UpgradePlan, Verdict
from engine.compile import Program
from engine.connectors import sink_kind_of
from engine.connectors.base import Table
from engine.delivery.target_names import first_collision
from engine.plan.nodes import is_updating


def plan_hand_over(original: Program, copy: Program, after: Program) -> UpgradePlan:
    """Return what a hand-over does to the state of `copy` and to the output of `original`, when the original continues
    with the script `after`."""
    plan = plan_fork(copy, after)
    others = [verdict for verdict in plan.verdicts if verdict.subject != "sink"]
    return replace(plan, verdicts=(*others, *sink_verdicts(original, after, frozenset())))


def told_of_changes(after: Program) -> Iterator[str]:
    """Yield warnings before a hand-over about output that is a changelog."""
    for write in after.writes:
        if is_updating(write.input):
            yield (
                f"{write.table} has rows that change: what is taken back there from the hand-over on are the values "
                "that were recomputed, also where the original had written others"
            )


_PLACE = ("path", "topic", "endpoint", "address", "cluster_addresses", "key_prefix", "bootstrap_servers")
"""Options with the location of a sink, for sinks that several pipelines may share."""


def plan_fork(
    before: Program,
    after: Program,
    *,
    keep_state: Collection[str] = (),
    reset: Collection[str] = (),
    hold_back: Collection[str] = (),
) -> UpgradePlan:
    """Return what a fork with the script `after` does to a copy of the state of `before`: the same as an upgrade,
    except that all sinks start empty and lose nothing. Sinks of the original need no verdict, since the original still
    writes them."""
    plan = compare(before, after, keep_state=keep_state, reset=reset, hold_back=hold_back)
    written = {*(write.table for write in after.writes), *after.dead_letter_tables}
    sinks = [
        Verdict("sink", name, Change.STATE_NEW, "it is the fork's own", "it has the rows after the savepoint")
        for name in sorted(written)
    ]
    others = [verdict for verdict in plan.verdicts if verdict.subject != "sink"]
    return replace(plan, verdicts=(*others, *sinks), retold={})


def shared_places(before: Program, after: Program) -> Iterator[str]:
    """Yield, in words, the targets that a fork would share with the original and must have to itself."""
    old_tables, new_tables = _written(before), _written(after)
    for new in new_tables:
        for old in old_tables:
            if (place := _shared_place(old, new)) is not None:
                yield f"{new.name} writes to {place}, as {old.name} of the original does"
    old_groups = {group: name for name, group in _groups(before)}
    for name, group in _groups(after):
        if group in old_groups:
            yield f"{name} commits to the consumer group {group!r}, as {old_groups[group]} of the original does"


def _written(program: Program) -> list[Table]:
    names = sorted({*(write.table for write in program.writes), *program.dead_letter_tables})
    return [program.tables[name] for name in names]


def _shared_place(old: Table, new: Table) -> str | None:
    if old.connector != new.connector or sink_kind_of(new).only_shows or sink_kind_of(new).drops_all:
        return None
    names = [tuple(sink_kind_of(table).target_names(table.options)) for table in (new, old)]
    if (collision := first_collision(*names)) is not None:
        return collision[0]
    places = [[getattr(table.options, option, None) for option in _PLACE] for table in (new, old)]
    said = [str(part) for part in places[0] if part is not None]
    return " ".join(said) if said and places[0] == places[1] else None


def _groups(program: Program) -> Iterator[tuple[str, str]]:
    """Yield the consumer groups that source tables name explicitly; all others are derived from the pipeline's name."""
    for name in sorted(program.scans):
        group = getattr(program.tables[name].options, "group_id", None)
        if isinstance(group, str):
            yield name, group
