"""Declarations of all metrics; the reference page and the collectors use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MetricKind = Literal["counter", "gauge", "histogram"]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric. A series without one of the `labels` belongs, for example, to no single table."""

    name: str
    kind: MetricKind
    meaning: str
    labels: tuple[str, ...] = ()

    @property
    def series(self) -> tuple[str, ...]:
        """The names that a query may ask for."""
        ends = ("_bucket", "_count", "_sum") if self.kind == "histogram" else ("",)
        return tuple(f"{self.name}{end}" for end in ends)


def _counter(name: str, meaning: str, labels: tuple[str, ...] = ()) -> Metric:
    """Declare a metric that only grows, until a restart from 0."""
    return Metric(name, "counter", meaning, labels)


def _gauge(name: str, meaning: str, labels: tuple[str, ...] = ()) -> Metric:
    """Declare a metric with the current value of something."""
    return Metric(name, "gauge", meaning, labels)


_JOB = ("pipeline",)
_TABLE = ("pipeline", "table")

JOB_STATE = _gauge("arroyo_job_state", "1 for the state that the job is in.", ("pipeline", "state"))
FAILURES_IN_A_ROW = _gauge(
    "arroyo_job_failures_in_a_row",
    "Failures since the last healthy run, by what is behind them.",
    ("pipeline", "cause"),
)
RESTARTS = _counter(
    "arroyo_job_restarts_total",
    "Starts after a failure, by what is behind it: an outage of another system, or unknown.",
    ("pipeline", "cause"),
)
ROWS_IN = _counter("arroyo_rows_in_total", "Rows read from a source.", _TABLE)
ROWS_OUT = _counter("arroyo_rows_out_total", "Rows given to a sink.", _TABLE)
LATE_ROWS = _counter(
    "arroyo_late_rows_total",
    "Rows left out because they came after their watermark; without `table`, rows derived from several tables.",
    _TABLE,
)
DROPPED_ROWS = _counter(
    "arroyo_dropped_rows_total",
    "Rows that could not be read or written and were left out, dead letters among them.",
    _TABLE,
)
DEAD_LETTERS = _counter(
    "arroyo_dead_letters_total", "Dropped rows that are kept as dead letters, by the table they are of.", _TABLE
)
EPOCHS = _counter("arroyo_epochs_total", "Epochs that were committed.", _JOB)
EPOCH_SECONDS = _counter("arroyo_epoch_seconds_total", "Time that committed epochs have taken.", _JOB)
PHASE_SECONDS = _counter(
    "arroyo_epoch_phase_seconds_total", "Time that committed epochs have taken, by phase.", ("pipeline", "phase")
)
EPOCH_COMMITTED = _gauge("arroyo_epoch_committed_timestamp_seconds", "When the newest epoch was committed.", _JOB)
WATERMARK_LAG = _gauge(
    "arroyo_watermark_lag_seconds",
    "How far the watermark of committed output is behind the clock; negative: ahead of it. Not of stopped jobs.",
    _JOB,
)
SOURCE_LAG = _gauge(
    "arroyo_source_lag_seconds",
    "How far the watermark of a source is behind the clock; negative: ahead of it. Not of stopped jobs.",
    _TABLE,
)
SOURCE_WAITING = _gauge(
    "arroyo_source_waiting_rows",
    "Rows of a source that could be read when the newest epoch was planned and are not in it, while a run is up.",
    _TABLE,
)
COMPLETE_LAG = _gauge(
    "arroyo_complete_until_lag_seconds",
    "How far `complete_until` of a sink is behind the clock; negative: ahead of it. Not of stopped jobs.",
    _TABLE,
)
SINK_LAG = _gauge(
    "arroyo_sink_lag_seconds",
    "How far `complete_until` of a sink is behind the watermark: windows and files that are open. Not of stopped jobs.",
    _TABLE,
)
STATE_BYTES = _gauge("arroyo_state_bytes", "Memory that the state takes, while a run is up.", _JOB)
STATE_ROWS = _gauge(
    "arroyo_state_rows",
    "Rows that are kept, by operator: `windows` and `sessions`; of pipelines with the setting `count_state` whose "
    "run is up.",
    ("pipeline", "operator"),
)
BUSY = _gauge(
    "arroyo_busy_ratio",
    "Share of the time since the epoch before that a source's tasks worked, a stateful operator's tasks worked, or a "
    "sink took to deliver, from 0 to 1; while a run is up. `part` is the table, or the id of the operator.",
    ("pipeline", "part"),
)
OPERATOR_ROWS = _gauge(
    "arroyo_operator_epoch_rows",
    "Rows of the newest epoch that went into a stateful operator, or that it emitted; while a run is up.",
    ("pipeline", "operator", "direction"),
)
STATE_CHANGES = _counter("arroyo_state_changes_total", "Rows of state that were added, changed or removed.", _JOB)
STATE_REQUESTS = _counter(
    "arroyo_state_requests_total",
    "Requests to the bucket of `state_url`, by kind: `changelog` are the PUTs of epochs, all others those of starts "
    "and of maintenance.",
    ("pipeline", "kind"),
)
RUN_CPU = _counter(
    "arroyo_run_cpu_seconds_total",
    "CPU time of the run under way, by process: `driver`, `java`, `workers`. The next run begins at 0.",
    ("pipeline", "process"),
)
RUN_MEMORY = _gauge(
    "arroyo_run_memory_bytes",
    "Memory of the run under way, by process; pages that workers share count once.",
    ("pipeline", "process"),
)
PUSH_WAITING = _gauge(
    "arroyo_push_waiting",
    "Deliveries of partitions that are still to be pushed to Airflow; of over a thousand, a thousand.",
    ("pipeline", "consumer"),
)
PUSH_FAILURES = _gauge(
    "arroyo_push_failures_in_a_row", "Failures to push the next delivery of partitions.", ("pipeline", "consumer")
)
DRIVERS = _gauge("arroyo_drivers", "Runs whose processes have not ended.")
DATABASE_BYTES = _gauge(
    "arroyo_database_bytes", "Size of the database on disk: its file, and the log of newest writes.", ("file",)
)
DISK_FREE = _gauge("arroyo_data_disk_free_bytes", "Free space where the data directory is.")
DISK_SIZE = _gauge("arroyo_data_disk_size_bytes", "Size of the disk where the data directory is.")
BUILD_INFO = _gauge("arroyo_build_info", "1, with the version of the control plane.", ("version",))
SCRAPE_SECONDS = _gauge("arroyo_scrape_seconds", "Time that reading the figures of all jobs has taken.")
REQUESTS = _counter(
    "arroyo_http_requests_total",
    "Requests that were answered, calls of drivers among them; `other` are those of no known path.",
    ("method", "route", "status"),
)
REQUEST_SECONDS = Metric(
    "arroyo_http_request_seconds",
    "histogram",
    "Time until a request was answered, that it was held included.",
    ("method", "route"),
)

OF_JOBS: tuple[Metric, ...] = (
    JOB_STATE,
    FAILURES_IN_A_ROW,
    RESTARTS,
    ROWS_IN,
    ROWS_OUT,
    LATE_ROWS,
    DROPPED_ROWS,
    DEAD_LETTERS,
    EPOCHS,
    EPOCH_SECONDS,
    PHASE_SECONDS,
    EPOCH_COMMITTED,
    WATERMARK_LAG,
    SOURCE_LAG,
    SOURCE_WAITING,
    COMPLETE_LAG,
    SINK_LAG,
    STATE_BYTES,
    STATE_ROWS,
    BUSY,
    OPERATOR_ROWS,
    STATE_CHANGES,
    STATE_REQUESTS,
    RUN_CPU,
    RUN_MEMORY,
    PUSH_WAITING,
    PUSH_FAILURES,
)
"""Metrics of pipelines and their jobs."""
OF_CONTROL_PLANE: tuple[Metric, ...] = (
    DRIVERS,
    DATABASE_BYTES,
    DISK_FREE,
    DISK_SIZE,
    BUILD_INFO,
    SCRAPE_SECONDS,
    REQUESTS,
    REQUEST_SECONDS,
)
"""Metrics of the control plane."""
OF_PROCESS: tuple[Metric, ...] = (
    _counter("process_cpu_seconds_total", "CPU time of the control plane's own process."),
    _gauge("process_resident_memory_bytes", "Its resident memory."),
    _gauge("process_virtual_memory_bytes", "Its virtual memory."),
    _gauge("process_start_time_seconds", "When it was started."),
    _gauge("process_open_fds", "Its open files."),
    _gauge("process_max_fds", "How many files it may open."),
)
"""Metrics of the control plane's process from the client library, with their usual names."""
METRICS = (*OF_JOBS, *OF_CONTROL_PLANE, *OF_PROCESS)
"""All metrics."""
