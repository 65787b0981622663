"""Plan a hand-over: a pipeline takes over the operators' state of its reprocessed copy, and keeps its own sinks.

original    counts, the topic "counts"      its state is moved aside
copy        tumble-3f0c, "again-counts"     tumble-3f0c is kept; "again-counts" gets no more rows
result      tumble-3f0c, the topic "counts" windows that the original has emitted are emitted there once
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from engine.changes.fork import plan_fork
from engine.changes.sinks import sink_verdicts
from engine.changes.verdict import UpgradePlan
from engine.compile import Program
from engine.plan.nodes import is_updating


def plan_hand_over(original: Program, copy: Program, after: Program) -> UpgradePlan:
    """Return what a hand-over does to the state of `copy` and to the output of `original`, when the original continues
    with the script `after`."""
    plan = plan_fork(copy, after)
    others = [verdict for verdict in plan.verdicts if verdict.subject != "sink"]
    return replace(plan, verdicts=(*others, *sink_verdicts(original, after, frozenset())))


def told_of_changes(after: Program) -> Iterator[str]:
    """Yield what a user must know before a hand-over about output that is a changelog."""
    for write in after.writes:
        if is_updating(write.input):
            yield (
                f"{write.table} has rows that change: what is taken back there from the hand-over on are the values "
                "that were recomputed, also where the original had written others"
            )
