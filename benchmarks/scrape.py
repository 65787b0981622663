"""What a scrape of `/metrics` costs the control plane: many pipelines that run, each with two sources and two sinks.

`python -m benchmarks.scrape [PIPELINES]` fills a store of its own with stand-in rows and prints the CPU seconds of a
scrape, the median of five, of which the part that reads the store and makes series of it, and the size of the answer.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median

from prometheus_client import CollectorRegistry, generate_latest
from sqlalchemy import Connection

from engine.api.metrics.page import JobMetrics
from engine.control.changes import Changes
from engine.control.context import Context, LastReports
from engine.control.savepoints.savepoint_tests import take_savepoint
from engine.control.upgrades.plan_query import plan_query
from engine.control.upgrades.rendezvous import Planner
from engine.jobs.decisions.spec import Pipeline
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import Progress, Run, Status
from engine.jobs.disk import DataDirectory
from engine.jobs.processes.process_usage import ProcessUsage
from engine.store.database import open_database
from engine.store.jobs import checkpoints, job_figures, jobs, runs
from engine.store.pipelines import pipelines
from engine.values.epoch_report import PHASES, EpochReport, SinkProgress, TableFigures
from engine.values.instants import now

GOAL = 0.5
"""CPU seconds at most with a thousand pipelines: less than a fiftieth of a core where it is asked for every 30 s."""
_ROUNDS = 5
_USAGE = ProcessUsage(12.5, 500_000_000)


def main(count: int) -> int:
    """Measure; the exit code says whether it is within the goal."""
    with tempfile.TemporaryDirectory() as folder:
        directory, calls, at = DataDirectory(Path(folder)), LastReports(), now()
        database = open_database(directory)
        with database.writing() as connection:
            for number in range(count):
                put(connection, number, at)
                calls.record_usage(f"job_{number}", 1, {"driver": _USAGE, "java": _USAGE, "workers": _USAGE}, at)
        context = Context(
            database,
            directory,
            now,
            lambda: None,
            Changes(),
            calls,
            Planner(plan_query),
            take_savepoint,
            "0",
            "benchmark",
        )
        metrics, registry = JobMetrics(context), CollectorRegistry()
        registry.register(metrics)
        reading = median(cpu_of(lambda: list(metrics.collect())) for _ in range(_ROUNDS))
        whole = median(cpu_of(lambda: generate_latest(registry)) for _ in range(_ROUNDS))
        text = generate_latest(registry)
        database.close()
    series = sum(not line.startswith(b"#") for line in text.splitlines())
    print(f"{count} pipelines, {series} series, {len(text) / 1e6:.1f} MB")
    print(f"{whole:.2f} CPU seconds a scrape, {reading:.2f} of them to read the store and make series of it")
    return int(whole > GOAL)


def put(connection: Connection, number: int, at: datetime) -> None:
    """A pipeline whose job runs, with some epochs behind it."""
    pipeline_id, job_id = f"pl_{number}", f"job_{number}"
    sinks = {name: SinkProgress(at, at) for name in ("counts", "copy")}
    sources: dict[str, datetime | None] = {"clicks": at, "prices": at}
    pipelines.add(connection, Pipeline(pipeline_id, f"pipeline_{number}", job_id, 1, 1, at))
    progress = Progress(9, at, sources, "1f", sinks)
    jobs.add(connection, Status(job_id, pipeline_id, State.RUNNING, at, at, generation=1, progress=progress))
    runs.add(connection, Run(job_id, pipeline_id, 1, "hash", 1, 1, at))
    reports = [report(epoch, at, sources, sinks) for epoch in range(10)]
    checkpoints.add(connection, job_id, 1, reports)
    job_figures.count_epochs(connection, job_id, reports)


def report(
    epoch: int, at: datetime, sources: dict[str, datetime | None], sinks: dict[str, SinkProgress]
) -> EpochReport:
    """An epoch with all of its figures."""
    source = TableFigures(rows_in=10, rows_waiting=5, late_rows=1, dropped_rows=epoch, dead_letters=epoch)
    return EpochReport(
        epoch=epoch,
        rows_in=20,
        rows_out=6,
        rows_per_second=10.0,
        duration=timedelta(seconds=2),
        watermark=at,
        source_watermarks=sources,
        at=at,
        late_rows=2,
        sinks=sinks,
        tables={**dict.fromkeys(sources, source), **dict.fromkeys(sinks, TableFigures(rows_out=3))},
        phases=dict.fromkeys(PHASES, timedelta(milliseconds=300)),
    )


def cpu_of(work: Callable[[], object]) -> float:
    """The CPU seconds that it takes."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
