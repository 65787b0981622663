"""How far the output of a pipeline is complete: the request, and its answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from airflow_provider_arroyo.answers import Instant, read, to_micros
from airflow_provider_arroyo.calls import ApiCall, GateTime, path_of
from airflow_provider_arroyo.states import JobState


@dataclass(frozen=True, slots=True)
class Gate:
    """Output that is complete up to `past`, in one sink or in all, and the DAG run that relies on it."""

    past: datetime
    table: str | None = None
    by: GateTime = "input"
    dag_id: str | None = None
    run_id: str | None = None


@dataclass(frozen=True, slots=True)
class SinkProgress:
    """How far the output of a sink is complete; `unknown` says why that cannot be known."""

    complete_until: Instant | None = None
    output_until: Instant | None = None
    unknown: str | None = None


@dataclass(frozen=True, slots=True)
class Certificate:
    """What a DAG run relies on that has passed a gate. The control plane keeps it, and names it when it is voided."""

    id: str
    pipeline_id: str
    version: int | None = None
    lineage: str | None = None
    epoch: int | None = None
    complete_until: Instant | None = None
    offsets: dict[str, Any] | None = None
    openlineage: dict[str, Any] | None = None
    """The run of the pipeline, as Airflow's OpenLineage provider reads it in the extra of an event."""

    def summary(self) -> dict[str, Any]:
        """As it crosses from a trigger to a worker, and into XCom."""
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
    """How far the committed output of a pipeline is complete; `passed` answers the instant that was asked about."""

    state: JobState
    watermark: Instant | None = None
    epoch: int | None = None
    lineage: str | None = None
    passed: bool | None = None
    sources: dict[str, Instant | None] = field(default_factory=dict)
    sinks: dict[str, SinkProgress] = field(default_factory=dict)
    certificate: Certificate | None = None


def get_watermark(pipeline: str, gate: Gate | None = None, hold: timedelta = timedelta(0)) -> ApiCall[Watermark]:
    """Ask how far committed output is complete; with a gate, the answer is held until it is passed, or for `hold`."""
    query: dict[str, str | int] = {}
    if gate is not None:
        asked = {"table": gate.table, "dag_id": gate.dag_id, "run_id": gate.run_id}
        query = {"past": to_micros(gate.past), "timeout_seconds": int(hold.total_seconds()), "by": gate.by}
        query |= {name: value for name, value in asked.items() if value is not None}
    return ApiCall("GET", f"{path_of(pipeline)}/watermark", partial(read, Watermark), query=query, hold=hold)
