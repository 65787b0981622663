"""Decide whether an event may be relevant to a waiting task. If unsure, it is."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from airflow_provider_arroyo.answers import to_micros
from airflow_provider_arroyo.conversations import Clock
from airflow_provider_arroyo.waits import UntilFresh, UntilWatermark, UntilWatermarks, Wait


def concerns(wait: Wait, change: Mapping[str, Any]) -> bool:
    """Whether the pipeline that has changed is one that is waited for."""
    waited_for = {gate.pipeline for gate in wait.gates} if isinstance(wait, UntilWatermarks) else {wait.pipeline}
    return not waited_for.isdisjoint((change["pipeline"], change["pipeline_id"]))


def may_end(wait: Wait, change: Mapping[str, Any], now: Clock = lambda: datetime.now(UTC)) -> bool:
    """False only for a job that runs on and whose output is known not to have come as far as a gate."""
    job = change.get("job")
    match wait:
        case UntilWatermarks(gates):
            return any(may_end(gate, change, now) for gate in gates if concerns(gate, change))
        case UntilWatermark(past=past):
            pass
        case UntilFresh(at_most=at_most):
            past = now() - at_most
        case _:
            return True
    if job is None or job["state"] != "Running" or not job["settled"]:
        return True
    sinks = [sink for name, sink in job["sinks"].items() if wait.table in (None, name)]
    name = "complete_until" if wait.by == "input" else "output_until"
    reached = [sink[name] for sink in sinks if sink["unknown"] is None or wait.by == "output"]
    if not sinks or len(reached) < len(sinks):
        return True
    return all(until is not None and until >= to_micros(past) for until in reached)
