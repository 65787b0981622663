"""Request for the completeness of a pipeline's output, and its response."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from airflow_provider_arroyo.conditions import GateTime, UntilWatermark
from airflow_provider_arroyo.requests import ApiCall, path_of
from airflow_provider_arroyo.responses import Instant, JobState, read, to_micros


@dataclass(frozen=True, slots=True)
class SinkProgress:
    """Completeness of a sink; `unknown` is the reason if it is unknown."""

    complete_until: Instant | None = None
    output_until: Instant | None = None
    unknown: str | None = None


@dataclass(frozen=True, slots=True)
class HeldBy:
    """The cause that keeps output from being complete any further, and the remedy."""

    reason: str
    remedy: str
    source: str | None = None
    partition: str | None = None
    watermark: Instant | None = None
    since: Instant | None = None

    def describe(self) -> str:
        """Describe what holds the output, for a message."""
        place = "" if self.source is None else f"source {self.source}"
        place += "" if self.partition is None else f", partition {self.partition}"
        details = [] if self.watermark is None else [f"watermark {spelled(self.watermark)}"]
        details += [] if self.since is None else [f"since {spelled(self.since)}"]
        told = f"{place} ({'; '.join(details)})" if place and details else place
        return f"held by {told}: {self.remedy}" if told else f"held: {self.remedy}"


@dataclass(frozen=True, slots=True)
class Certificate:
    """Epoch that a DAG run relies on after it has passed a gate. The control plane stores it, and names the run if the
    epoch is voided."""

    id: str
    pipeline_id: str
    version: int | None = None
    lineage: str | None = None
    epoch: int | None = None
    complete_until: Instant | None = None
    offsets: dict[str, Any] | None = None
    openlineage: dict[str, Any] | None = None
    """OpenLineage run of the pipeline, as Airflow's OpenLineage provider reads it in the extra of an event."""

    def summary(self) -> dict[str, Any]:
        """Return the form that passes from a trigger to a worker, and into XCom."""
        return {
            "id": self.id,
            "pipeline": self.pipeline_id,
            "version": self.version,
            "lineage": self.lineage,
            "epoch": self.epoch,
            "complete_until": None if self.complete_until is None else self.complete_until.isoformat(),
            "offsets": self.offsets,
        }


@dataclass(frozen=True, slots=True)
class Watermark:
    """Completeness of a pipeline's committed output; `passed` is the answer for the requested instant."""

    state: JobState
    watermark: Instant | None = None
    epoch: int | None = None
    lineage: str | None = None
    passed: bool | None = None
    sources: dict[str, Instant | None] = field(default_factory=dict)
    sinks: dict[str, SinkProgress] = field(default_factory=dict)
    certificate: Certificate | None = None
    held_by: HeldBy | None = None
    pipeline_id: str | None = None

    def complete_until(self, table: str | None, by: GateTime) -> datetime | None:
        """Return how far the output is complete: of one sink, or of all of them."""
        if not self.sinks:
            return self.watermark
        sinks = self.sinks.values() if table is None else [self.sinks[table]] if table in self.sinks else []
        untils = [sink.complete_until if by == "input" else sink.output_until for sink in sinks]
        known = [until for until in untils if until is not None]
        return min(known) if known and len(known) == len(untils) else None


def spelled(instant: datetime) -> str:
    """Return an instant in UTC, to the second."""
    return instant.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def get_watermark(pipeline: str) -> ApiCall[Watermark]:
    """Ask how far the committed output of a pipeline is complete."""
    return ApiCall("GET", f"{path_of(pipeline)}/watermark", partial(read, Watermark))


def check_gate(gate: UntilWatermark, hold: timedelta = timedelta(0)) -> ApiCall[Watermark]:
    """Ask whether the gate is passed; the answer waits until it is, or for `hold`."""
    asked = {"table": gate.table, "dag_id": gate.dag_id, "run_id": gate.run_id}
    query: dict[str, str | int] = {
        "past": to_micros(gate.past),
        "timeout_seconds": int(hold.total_seconds()),
        "by": gate.by,
        **{name: value for name, value in asked.items() if value is not None},
    }
    return ApiCall("GET", f"{path_of(gate.pipeline)}/watermark", partial(read, Watermark), query=query, hold=hold)
