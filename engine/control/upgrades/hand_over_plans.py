"""Validate a hand-over before anything stops."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from engine.control.context import Context
from engine.control.plan_deployment import plan_of
from engine.errors import HandOverError, PipelineIncompatibleError
from engine.jobs.decisions.spec import Pipeline, PlannedQuery, ShownUpgrade, Spec, Version
from engine.store.pipelines import versions
from engine.values.run_settings import read_run_settings
from engine.values.sink_prefix import without_prefix

READS = ("history_from", "history_to", "history_stop_at", "then_continue", "partial_windows", "start_from")
"""Settings of start positions: a state that is handed over has its own positions."""


@dataclass(frozen=True, slots=True)
class HandOverPlan:
    """A valid hand-over: the version of the original, its new version, the effect on the copy's state, and remarks
    about changelog rows."""

    current: Version
    spec: Spec
    planned: PlannedQuery
    shown: ShownUpgrade
    told: tuple[str, ...]


def plan_hand_over(context: Context, origin: Pipeline, copy: Pipeline) -> HandOverPlan:
    """Check a hand-over in advance as far as possible; raise with the reason if it cannot be done."""
    with context.database.reading() as connection:
        current = versions.get(connection, origin.id, origin.version)
        others = versions.get(connection, copy.id, copy.version)
    spec = handed_over(others.spec)
    if spec is None:
        raise HandOverError(
            f"the script of {copy.name!r} was deployed with a prefix of its own",
            hint="deploy it with --into, which puts the prefix behind it",
        )
    planned = plan_of(spec, context)
    with context.database.rehearsing() as connection:
        versions.claim(connection, origin.id, current.number + 1, planned.targets)
    directory = context.directory
    shown, told = context.planner.hand_over(directory.state(origin.id), directory.state(copy.id), spec.query, spec.udfs)
    if shown.is_refused or not shown.loses_nothing:
        raise PipelineIncompatibleError(
            f"pipeline {origin.name!r} cannot use the state of {copy.name!r}:\n{shown.text}",
            hint="let the two write the same tables",
        )
    return HandOverPlan(current, spec, planned, shown, (*told, *_told_of_starts(others.spec, copy.name)))


def _told_of_starts(copy: Spec, name: str) -> Iterator[str]:
    """Yield warnings about tables that the copy does not read from their first record."""
    starts = read_run_settings(copy.settings).start_from
    if begun := sorted(table for table, start in starts.items() if start.word != "earliest"):
        yield f"windows that are open at the hand-over contain only the rows of {', '.join(begun)} that {name} has read"


def refuse_other_values(context: Context, copy: Spec, origin: str) -> None:
    """Refuse a hand-over that retracts rows that may never have been written: for changelog rows this must be accepted
    explicitly."""
    if changing := context.planner.changing_sinks(copy.query, copy.udfs):
        raise HandOverError(
            f"{', '.join(changing)}: these tables have updating rows. After the hand-over, retractions use the "
            f"recomputed values, even where {origin} has written other values",
            hint="let readers use the tables under the prefix, or accept this with --accept-other-values "
            "(accept_other_values)",
        )


def handed_over(copy: Spec) -> Spec | None:
    """Return what the original is to run: the copy's query with the original's sinks, and without start positions,
    which would contradict the state. Return None if the script cannot be separated from its prefix."""
    query = without_prefix(copy.query)
    if query is None:
        return None
    kept = {name: text for name, text in copy.settings.items() if name not in READS}
    return Spec(query, copy.udfs, kept, copy.checkpoint_interval)
