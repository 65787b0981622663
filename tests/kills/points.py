"""Where something is killed in the middle of each request, and the points at which nothing needs to be.

A new point fails `test_points.py` until it stands here: as one of a request that comes to it, or with the reason why no
kill of a request is needed there. A request that comes to a point at which nobody is killed in it fails, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import get_args

import engine.checkpoints.swap
import engine.delivery.faults
import engine.jobs.fault_points
from engine.checkpoints.swap import MovePoint, StateMovePoint
from engine.delivery.faults import Point
from engine.jobs.decisions.observe import Action, ForgetFailures, Wait
from engine.jobs.fault_points import (
    ControlPoint,
    HandOverPoint,
    PushPoint,
    RehearsalPoint,
    SavepointPoint,
    SchedulePoint,
    TransferPoint,
)
from engine.store.pipelines.reprocessings import MEETING
from tests.kills.stories import Kill

STEPS = (ControlPoint.BEFORE_INTENT, ControlPoint.AFTER_INTENT, ControlPoint.AFTER_ACTION)


def _server(verb: str, *faults: str) -> list[Kill]:
    return [Kill(verb, fault) for fault in faults]


def _driver(verb: str, *faults: str) -> list[Kill]:
    return [Kill(verb, fault, is_server=False) for fault in faults]


def _step(action: str) -> tuple[str, ...]:
    return tuple(f"{point}:{action}" for point in STEPS)


_CHANGE = ("before_change", "after_change")
_LAUNCH = (*_step("Launch"), "after_assignment", "after_spawn")
_UP = (*_LAUNCH, *_step("MarkRunning"))
_DRAIN, _STOPPED = _step("Drain"), _step("MarkStopped")
_ACCEPT, _RESTORE, _REPARTITION = _step("AcceptMaintenance"), _step("RestoreSavepoint"), _step("Repartition")
_EPOCH = ("before_write", "while_writing", "after_write", "after_ledger", "after_sinks", "after_commit")
_BUILD = ("while_building", "before_swap", "after_swap_decision", "after_swap")
_SWAP = (*_BUILD, "while_swapping")
_MAINTENANCE = ("before_maintenance", "after_maintenance")
_COPY = ("while_copying", "after_copying")

KILLS = [
    *_server("deploy", *_CHANGE, *_UP),
    *_driver("deploy", "before_hello", "after_offsets", "while_staging", *_EPOCH),
    *_server("redeploy", *_CHANGE, *_DRAIN, *_UP),
    *_driver("redeploy", "before_goodbye", "before_hello"),
    *_server("stop", *_CHANGE, *_DRAIN, *_STOPPED),
    *_driver("stop", "before_goodbye", "after_commit"),
    *_server("stop-now", *_CHANGE, *_DRAIN, *_STOPPED),
    *_driver("stop-now", "before_goodbye"),
    *_server("stop-by-force", *_CHANGE, *_step("Kill"), *_STOPPED),
    *_server("savepoint", *_CHANGE, *_COPY, "after_savepoint"),
    *_driver("savepoint", "after_sinks", "after_commit"),
    *_server("stop-with-savepoint", *_CHANGE, *_DRAIN, *_STOPPED, *_COPY, "after_savepoint"),
    *_driver("stop-with-savepoint", "before_goodbye"),
    *_server("restore", *_CHANGE, *_DRAIN, *_RESTORE, *_ACCEPT, *_UP),
    *_driver("restore", "before_goodbye", *_MAINTENANCE, *_SWAP, "before_hello"),
    *_server("restore-at-rest", *_CHANGE, *_RESTORE, *_ACCEPT, *_STOPPED),
    *_driver("restore-at-rest", *_MAINTENANCE, *_SWAP),
    *_server("rescale", *_CHANGE, *_DRAIN, *_REPARTITION, *_ACCEPT, *_UP),
    *_driver("rescale", "before_goodbye", *_MAINTENANCE, *_SWAP, "before_hello"),
    *_server("upgrade", *_CHANGE, *_DRAIN, *_UP, "after_savepoint"),
    *_driver("upgrade", "before_goodbye", "before_hello", *_COPY, "after_skeleton", *_SWAP),
    *_server("go-back", *_CHANGE, *_DRAIN, *_UP, "after_savepoint", *_step("GiveUp"), *_RESTORE, *_ACCEPT),
    *_driver("go-back", "before_goodbye", "before_hello", *_COPY, "after_skeleton", *_SWAP, *_MAINTENANCE),
    *_server("delete", *_CHANGE, "while_removing", "after_removal"),
    *_server("rollback", *_CHANGE, *_DRAIN, *_RESTORE, *_ACCEPT, *_UP, "after_savepoint"),
    *_driver("rollback", "before_goodbye", *_MAINTENANCE, *_COPY, *_SWAP, "before_hello"),
    *_server("fork", *_CHANGE, *_RESTORE, *_ACCEPT, *_UP),
    # Nothing is set aside for a fork, whose state directory is empty, but once its query takes over.
    *_driver("fork", *_MAINTENANCE, *_SWAP, "after_skeleton", "before_hello"),
]
"""Kills of the control plane, and of drivers and work between runs that need no Spark."""

SHORT = (
    "deploy-after_spawn",
    "stop-with-savepoint-while_copying",
    "restore-while_swapping",
    "rescale-after_intent:Repartition",
    "upgrade-while_swapping",
    "delete-while_removing",
)
"""What every run plays."""

CHANGES_OF_STATE = ("savepoint", "restore", "restore-at-rest", "rescale", "upgrade", "go-back", "rollback", "fork")
"""The requests whose points every change plays a tenth of."""

_EPOCH_OF_ANY = "an epoch is no part of a request: each sink is killed there by tests/chaos/test_points.py"
_AFTER_KILLS = "no request comes to it, but a job of which something has died or hangs"
_MOVES = "copies of savepoints: tests/checkpoints/test_moves.py and tests/api/test_savepoint_moves.py"
_STATE_MOVES = "moves of an operator state to and from a bucket: tests/s3/test_state_moves.py"
_REMOVALS = "removals of savepoints: tests/api/test_savepoint_removal.py"
_HAND_OVERS = "hand-overs: tests/api/test_hand_overs.py, where the control plane dies at each step and a new one looks"
_SCHEDULES = "savepoints by a schedule: tests/api/test_savepoint_schedules.py"
_TRANSFERS = "moves between control planes: tests/system/test_moves.py"
_REHEARSALS = "rehearsals: tests/api/test_rehearsals.py, where the control plane dies at each point and a new one looks"
_PUSHES = "pushes of deliveries: tests/system/test_push_kills.py"
_HANDED_OVER = {f"{HandOverPoint.AFTER_STEP}:{step}" for step in (*MEETING, "switching", "over", "given_up")}
LEFT_OUT: Mapping[str, str] = {
    str(HandOverPoint.BEFORE_SWITCH): _HAND_OVERS,
    **dict.fromkeys(_HANDED_OVER, _HAND_OVERS),
    **{str(point): _EPOCH_OF_ANY for point in Point},
    **{str(point): _MOVES for point in MovePoint},
    **{str(point): _STATE_MOVES for point in StateMovePoint},
    **{str(point): _REMOVALS for point in SavepointPoint},
    **{str(point): _SCHEDULES for point in SchedulePoint},
    **{str(point): _TRANSFERS for point in TransferPoint},
    **{str(point): _REHEARSALS for point in RehearsalPoint},
    **{str(point): _PUSHES for point in PushPoint},
    **{point: _AFTER_KILLS for name in ("Recover", "EndMaintenance", "AbandonRescale") for point in _step(name)},
    **dict.fromkeys(_step(ForgetFailures.__name__), "it only clears a count, minutes after a request"),
    **dict.fromkeys(_step("Finish"), "its input ends, which is no request"),
}
"""The points at which no request needs to be killed, and why."""


def every_point() -> set[str]:
    """All points that the engine names, those of the controller's steps with each action that is one, and those of a
    hand-over with each of its steps."""
    with_detail = {*STEPS, HandOverPoint.AFTER_STEP}
    plain = {str(point) for points in enums() for point in points if point not in with_detail}
    steps = {point for action in get_args(Action) if action is not Wait for point in _step(action.__name__)}
    return plain | steps | _HANDED_OVER


def enums() -> Iterator[type[StrEnum]]:
    """What points are named in, wherever that is."""
    for module in (engine.delivery.faults, engine.checkpoints.swap, engine.jobs.fault_points):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, StrEnum) and value.__module__ == module.__name__:
                yield value


def kills_of(verb: str) -> set[str]:
    """Where somebody is killed in a request."""
    return {kill.fault for kill in KILLS if kill.verb == verb}
