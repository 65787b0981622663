"""The work of `arroyo run` as text, for a process that does it in its place."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

from engine.spark.run.run_spec import RunSpec
from engine.udf.declared import UdfFile

_USUAL = RunSpec("", "", Path())


def fits_spare(spec: RunSpec) -> bool:
    """Whether a spare's session is the one that the run would open, and an order says all that it is told."""
    if spec.upgrade is not None or spec.start_from or spec.backfill is not None:
        return False
    usual = (_USUAL.parallelism, _USUAL.master, _USUAL.memory, _USUAL.quick, _USUAL.conf)
    return (spec.parallelism, spec.master, spec.memory, spec.quick, spec.conf) == usual


def write_order(spec: RunSpec, *, as_json: bool) -> str:
    """The text that says what to run. It holds the script's connections, so it is for nobody else."""
    return json.dumps(
        {
            "name": spec.name,
            "sql": spec.sql,
            "state_dir": str(spec.state_dir),
            "force": spec.force,
            "max_epoch_rows": spec.max_epoch_rows,
            "epoch_interval": spec.epoch_interval / timedelta(microseconds=1),
            "linger": spec.linger / timedelta(microseconds=1),
            "fuse": spec.fuse,
            "count_state": spec.count_state,
            "by_pane": spec.by_pane,
            "udfs": [[file.name, file.text] for file in spec.udfs],
            "connections": spec.connections,
            "stand_ins": None if spec.stand_ins is None else str(spec.stand_ins),
            "keeps_state": spec.keeps_state,
            "as_json": as_json,
        }
    )


def read_order(text: str) -> tuple[RunSpec, bool]:
    """Parse the order of a run, and whether its progress is JSON."""
    order = json.loads(text)
    spec = RunSpec(
        name=order["name"],
        sql=order["sql"],
        state_dir=Path(order["state_dir"]),
        force=order["force"],
        max_epoch_rows=order["max_epoch_rows"],
        epoch_interval=timedelta(microseconds=order["epoch_interval"]),
        linger=timedelta(microseconds=order["linger"]),
        fuse=order["fuse"],
        count_state=order["count_state"],
        by_pane=order["by_pane"],
        udfs=tuple(UdfFile(name, content) for name, content in order["udfs"]),
        connections=order["connections"],
        stand_ins=None if order["stand_ins"] is None else Path(order["stand_ins"]),
        keeps_state=order["keeps_state"],
    )
    return spec, order["as_json"]
