"""Plan a rehearsal: compile and compare both queries, and decide whether it is possible. Runs and writes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.changes.hand_over import plan_fork
from engine.changes.row_difference import refuse_unrepeatable
from engine.changes.show import show
from engine.changes.verdict import UpgradePlan
from engine.checkpoints.layout import StatePaths, read_json
from engine.checkpoints.running_query import RunningQuery, compile_running, query_of_savepoint
from engine.compile import Program, compile_script
from engine.errors import UpgradeRefusedError
from engine.spark.read.starts import begun_for, counting_starts
from engine.udf.declared import UdfFile
from engine.values.start_positions import StartPosition


@dataclass(frozen=True, slots=True)
class RehearsalSpec:
    """Settings of a rehearsal: a new script with its function files, compared with the script of a savepoint.
    `keep_state` and `reset` are passed to the upgrade plan. Up to `examples` differing rows are shown per sink."""

    savepoint: Path
    sql: str
    udfs: tuple[UdfFile, ...] = ()
    old_udfs: tuple[UdfFile, ...] = ()
    connections: str = ""
    keep_state: tuple[str, ...] = ()
    reset: tuple[str, ...] = ()
    hold_back: tuple[str, ...] = ()
    start_from: Mapping[str, StartPosition] = field(default_factory=dict)
    """Start positions in the new script, for tables without a position in the savepoint."""
    default_sink: str = "stdout"
    tasks: int | None = None
    fuse: bool = False
    examples: int = 10
    may_hold_secrets: bool = True


@dataclass(frozen=True, slots=True)
class PlannedRehearsal:
    """A rehearsal that can run: both programs, and the upgrade plan of the state."""

    spec: RehearsalSpec
    name: str
    running: RunningQuery
    before: Program
    after: Program
    plan: UpgradePlan


def plan_rehearsal(spec: RehearsalSpec) -> PlannedRehearsal:
    """Compile both queries and check that they can be compared. Nothing is written, and Spark is not needed. Raise
    ScriptRefused, UpgradeRefusedError or RehearsalError."""
    return plan_against(query_of_savepoint(spec.savepoint), spec)


def plan_against(running: RunningQuery, spec: RehearsalSpec) -> PlannedRehearsal:
    """Plan a rehearsal against the query of a state or a savepoint, which is only read."""
    before = compile_running(running, udfs=spec.old_udfs or spec.udfs, connections=spec.connections)
    after = compile_script(
        spec.sql,
        default_sink=spec.default_sink,
        udfs=spec.udfs or running.udfs,
        connections=spec.connections,
        may_hold_secrets=spec.may_hold_secrets,
    )
    plan = plan_fork(before, after, keep_state=spec.keep_state, reset=spec.reset, hold_back=spec.hold_back)
    plan = plan.with_starts(spec.start_from)
    if plan.is_refused:
        raise UpgradeRefusedError(
            f"the query cannot take over the state of the savepoint\n{show(plan)}",
            hint="name with --reset what may be given up, or change the query",
        )
    if spec.start_from:
        old_udfs = spec.old_udfs or spec.udfs
        begun = begun_for(running.place, after, spec.reset, old_udfs, spec.connections)
        counting_starts(after, spec.start_from, begun)
    for program in (before, after):
        refuse_unrepeatable(program)
    # a table that is new may begin where the pipeline's consumer group stands
    name = (read_json(StatePaths(running.place).pipeline) or {}).get("name", "rehearsal")
    return PlannedRehearsal(spec, str(name), running, before, after, plan)
