"""Figures of jobs: totals, throughput, the graph of a plan, and the runs emitted to OpenLineage.

Totals of a job, added up from its epoch reports.

    epoch 0   clicks: 10 rows in, 1 dropped so far         totals: 10 rows in, 1 dropped
    epoch 1   clicks: 20 rows in, 4 dropped so far         totals: 30 rows in, 4 dropped
    restore of the state of epoch 0
    epoch 1   clicks: 20 rows in, 3 dropped so far         totals: 50 rows in, 4 dropped: back at 3
    epoch 2   clicks:  5 rows in, 5 dropped so far         totals: 55 rows in, 6 dropped

A total never decreases, even if the state is reset. An epoch counts once; one whose driver died before it could report
it does not count.

Reading rate of a job: the rows of an epoch divided by the time between its commit and the previous one.

The duration of an epoch does not give the rate: a source of 500 rows a second is read in a third of a second.

    committed at 10:00:00, and at 10:00:02 with 100 rows
    at 10:00:03           50 rows a second
    at 10:00:12           10: no commit for 10 s
    a single epoch        unknown

OpenLineage events emitted about the runs of a job. They are recorded after they are emitted, so a control plane that is
killed in between emits them again; consumers identify a run by its id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

from engine.errors import Cause
from engine.values.epoch_report import EpochReport, Length, TableFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class TableTotals:
    """Totals of a table; None is unknown."""

    rows_in: int | None = None
    rows_out: int | None = None
    late_rows: int | None = None
    dropped_rows: int | None = None
    dead_letters: int | None = None
    newest_dropped: int | None = None
    """Number of dropped rows in the newest report, from which the next one is counted."""
    newest_dead: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Totals of a job. `late_rows` also includes late rows of no single table."""

    epochs: int = 0
    rows_in: int = 0
    rows_out: int = 0
    late_rows: int = 0
    state_changes: int = 0
    duration: Length = timedelta(0)
    phases: Mapping[str, Length] = field(default_factory=dict)
    tables: Mapping[str, TableTotals] = field(default_factory=dict)
    restarts: Mapping[str, int] = field(default_factory=dict)
    """Number of restarts after a failure, by cause."""
    state_requests: Mapping[str, int] = field(default_factory=dict)
    """Number of requests to the bucket of the state, by kind."""


def add_epochs(before: Totals, reports: Iterable[EpochReport]) -> Totals:
    """Return the totals with further epochs, oldest first."""
    totals = before
    for report in reports:
        phases = {
            name: totals.phases.get(name, timedelta(0)) + report.phases.get(name, timedelta(0))
            for name in {**totals.phases, **report.phases}
        }
        tables = {table: _add(totals.tables.get(table, TableTotals()), new) for table, new in report.tables.items()}
        totals = replace(
            totals,
            epochs=totals.epochs + 1,
            rows_in=totals.rows_in + report.rows_in,
            rows_out=totals.rows_out + report.rows_out,
            late_rows=totals.late_rows + report.late_rows,
            state_changes=totals.state_changes + report.state_changes,
            duration=totals.duration + report.duration,
            phases=phases,
            state_requests={
                kind: totals.state_requests.get(kind, 0) + report.state_requests.get(kind, 0)
                for kind in {**totals.state_requests, **report.state_requests}
            },
            tables={**totals.tables, **tables},
        )
    return totals


def add_restart(before: Totals, cause: Cause) -> Totals:
    """Return the totals with one more start after a failure."""
    return replace(before, restarts={**before.restarts, cause.value: before.restarts.get(cause.value, 0) + 1})


def _add(before: TableTotals, figures: TableFigures) -> TableTotals:
    return TableTotals(
        rows_in=_sum(before.rows_in, figures.rows_in),
        rows_out=_sum(before.rows_out, figures.rows_out),
        late_rows=_sum(before.late_rows, figures.late_rows),
        dropped_rows=_sum(before.dropped_rows, _growth(before.newest_dropped, figures.dropped_rows)),
        dead_letters=_sum(before.dead_letters, _growth(before.newest_dead, figures.dead_letters)),
        newest_dropped=before.newest_dropped if figures.dropped_rows is None else figures.dropped_rows,
        newest_dead=before.newest_dead if figures.dead_letters is None else figures.dead_letters,
    )


def _sum(before: int | None, further: int | None) -> int | None:
    return before if further is None else (before or 0) + further


def _growth(before: int | None, now: int | None) -> int | None:
    """Return the growth of a count; a count without a previous value has grown by all of it."""
    return None if now is None else max(0, now - (before or 0))


@dataclass(frozen=True, slots=True)
class EpochRows:
    """Commit time of an epoch, and its number of rows."""

    at: datetime
    rows_in: int


def rows_per_second(newest: Sequence[EpochRows], now: datetime) -> float | None:
    """Return the rows of the newest epoch per second, over the time from the previous commit to its own, or from its
    own until now if that is longer; `newest` are the two newest, newest first. None with fewer than two."""
    if len(newest) < 2:
        return None
    last, before = newest[0], newest[1]
    return rate(last.rows_in, max(last.at - before.at, now - last.at))


def rate(rows: int, between: timedelta | None) -> float | None:
    """Return the rows per second between two commits; None without a previous commit, or without time in between."""
    seconds = 0.0 if between is None else between.total_seconds()
    return round(rows / seconds, 1) if seconds > 0 else None


Stage = Literal["new", "begun", "up", "over"]
"""What was emitted about a run: nothing, its launch, that it is running, or its end."""


@dataclass(frozen=True, slots=True)
class EmittedRun:
    """A run of a job, and what was emitted about it. Everything about earlier runs has been emitted."""

    job_id: str
    pipeline_id: str
    name: str
    """Name of the pipeline at the launch."""
    generation: int
    version: int
    launched_at: datetime
    stage: Stage = "new"
    epoch: int | None = None
    """Newest emitted epoch."""
    told_at: datetime | None = None
    """When an epoch was last emitted."""
    certificate: int = 0
    """Number of the newest emitted certificate of the pipeline, not only of this run."""
    certificate_at: datetime | None = None
    """Its time. Numbers only order certificates of the same time."""


def table_of(node: Mapping[str, str]) -> str | None:
    """Return the table that a node reads or writes, also one with spaces in its name; None for all other nodes."""
    operator = node["operator"]
    if operator not in ("Scan", "Write"):
        return None
    return node["description"].removeprefix(f"{operator} ").partition(" (")[0]
