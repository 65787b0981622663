"""Build the condition of a sensor from its arguments, on a worker or in the triggerer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Literal, cast, get_args

from airflow_provider_arroyo.calls import GateTime
from airflow_provider_arroyo.gate_instants import to_instant
from airflow_provider_arroyo.lag import LagBounds
from airflow_provider_arroyo.waits import (
    Need,
    UntilCheckpoint,
    UntilFresh,
    UntilLag,
    UntilState,
    UntilWatermark,
    UntilWatermarks,
    Wait,
)

Goal = Literal["running", "finished", "stopped", "failed"]


def state(pipeline: str, goal: str) -> UntilState:
    """A state of its job; refused when it is none to wait for."""
    if goal not in get_args(Goal):
        raise ValueError(f"state is one of {', '.join(get_args(Goal))}, not {goal!r}")
    return UntilState(pipeline, cast("Goal", goal))


def checkpoint(pipeline: str, epochs: list[int], newer_than: datetime | str | None) -> UntilCheckpoint:
    """A checkpoint of the latest of these epochs or a later one, committed after an instant."""
    instant = None if newer_than is None else to_instant(newer_than, "newer_than")
    return UntilCheckpoint(pipeline, max(epochs, default=None), instant)


def watermark(
    pipeline: object, past: datetime, table: str | None, by: GateTime, need: Need, run: tuple[str, str]
) -> UntilWatermark | UntilWatermarks:
    """The gate of one pipeline, written `pipeline` or `pipeline/table`, or those of a list of them."""
    if isinstance(pipeline, str):
        return _gate(pipeline, past, table, by, run)
    if not isinstance(pipeline, list | tuple) or not all(isinstance(entry, str) for entry in pipeline):
        raise ValueError(f"pipeline is a name, or a list of names, not {pipeline!r}")
    gates = tuple(_gate(entry, past, table, by, run) for entry in pipeline)
    if not gates or len({gate.name for gate in gates}) < len(gates):
        raise ValueError(f"pipeline names each pipeline, or each of its tables, once, not {list(pipeline)!r}")
    return UntilWatermarks(gates, need)


def _gate(entry: str, past: datetime, table: str | None, by: GateTime, run: tuple[str, str]) -> UntilWatermark:
    pipeline, slash, named = entry.partition("/")
    return UntilWatermark(pipeline, past, named if slash else table, by, *run)


def in_triggerer(sensor: str, arguments: Mapping[str, Any], dag_id: str, run_id: str) -> Wait:
    """Return the condition of a sensor that has started in the triggerer; arguments are rendered, durations are
    seconds."""
    pipeline = str(arguments["pipeline"])
    match sensor:
        case "watermark":
            past = to_instant(arguments["past"], "past")
            table, by, need = arguments["table"], cast("GateTime", arguments["by"]), arguments.get("need", "all")
            return watermark(arguments["pipeline"], past, table, by, need, (dag_id, run_id))
        case "fresh":
            at_most = timedelta(seconds=arguments["at_most"])
            return UntilFresh(pipeline, at_most, arguments["table"], cast("GateTime", arguments["by"]))
        case "lag":
            most, least, steady, slack = (
                None if arguments[name] is None else timedelta(seconds=arguments[name])
                for name in ("at_most", "at_least", "steady", "slack")
            )
            return UntilLag(pipeline, LagBounds(most, least, steady or timedelta(0), slack or timedelta(0)))
        case "checkpoint":
            epoch = arguments["epoch"]
            return checkpoint(pipeline, [] if epoch is None else [int(epoch)], arguments["newer_than"])
        case "state":
            return state(pipeline, str(arguments["state"]))
    raise ValueError(f"no sensor {sensor!r} starts in the triggerer")
