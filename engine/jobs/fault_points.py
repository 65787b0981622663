"""Fault points of the control plane and its child processes (see `engine/delivery/faults.py`)."""

from __future__ import annotations

from enum import StrEnum


class ControlPoint(StrEnum):
    """Fault points of a request, or of a step of the controller."""

    BEFORE_CHANGE = "before_change"
    """A request is checked and its change is made, and nothing is committed."""
    AFTER_CHANGE = "after_change"
    """The change is committed, and its sender has no response."""
    BEFORE_INTENT = "before_intent"
    """A step is decided, and not stored. The detail is the action's name, here and below."""
    AFTER_INTENT = "after_intent"
    """It is stored, and nothing is done."""
    AFTER_ACTION = "after_action"
    """It is done."""
    AFTER_ASSIGNMENT = "after_assignment"
    """A driver's assignment is written, and there is no driver."""
    AFTER_SPAWN = "after_spawn"
    """The driver is alive, and its pid is not stored."""
    AFTER_SAVEPOINT = "after_savepoint"
    """A savepoint is complete, and not recorded."""
    WHILE_REMOVING = "while_removing"
    """The state of a deleted pipeline is removed, and its logs are not."""
    AFTER_REMOVAL = "after_removal"
    """All is removed, and the deletion is still recorded as open."""


class SavepointPoint(StrEnum):
    """Fault points of deleting a savepoint."""

    AFTER_MARK = "after_mark"
    """The deletion is recorded, and all files exist."""
    AFTER_ASIDE = "after_aside"
    """Its directory is renamed, and the files exist."""
    AFTER_FILES = "after_files"
    """Its files are removed, and the deletion is still recorded as open."""


class SchedulePoint(StrEnum):
    """Fault points of a scheduled savepoint."""

    BEFORE_SCHEDULED = "before_scheduled"
    """The savepoint of an instant is decided, and not recorded."""
    AFTER_SCHEDULED = "after_scheduled"
    """It is recorded, and nothing is taken."""
    AFTER_OUTCOME = "after_outcome"
    """Its result is recorded, and its restore test has not begun."""


class TransferPoint(StrEnum):
    """Fault points of moving a pipeline to another control plane, in their order: at the source, at the target, or in
    the command."""

    AFTER_LEAVING = "after_leaving"
    """It is stopping, and nothing is exported."""
    AFTER_STATE_OUT = "after_state_out"
    """Its state is exported, and not recorded."""
    AFTER_STATE_IN = "after_state_in"
    """Its state is imported, and there is no pipeline."""
    AFTER_ARRIVAL = "after_arrival"
    """The pipeline is at the target, and may not run."""
    AFTER_RELEASE = "after_release"
    """It never runs again at the source, and may not run at the target yet."""
    AFTER_START = "after_start"
    """It may run at the target, and has not been seen running."""
    AFTER_OVER = "after_over"
    """It runs at the target, and the command has not reported it."""


class HandOverPoint(StrEnum):
    """Fault points of a hand-over."""

    BEFORE_SWITCH = "before_switch"
    """The copy's state is saved for the original, and the switch is not recorded."""
    AFTER_STEP = "after_step"
    """A step is recorded, and nothing is done. The detail is its name."""


class RehearsalPoint(StrEnum):
    """Fault points of a rehearsal, in their order."""

    BEFORE_PROCESS = "before_process"
    """Its start is recorded, and there is no process."""
    AFTER_PROCESS = "after_process"
    """Its process is alive."""
    AFTER_END = "after_end"
    """Its process has ended, and the result is not recorded."""
    AFTER_OUTCOME = "after_outcome"
    """The result is recorded, and its scratch files exist."""


class PushPoint(StrEnum):
    """Fault points of pushing a delivery, in their order."""

    BEFORE_POST = "before_post"
    """The delivery is recorded as uncertain, and not posted."""
    AFTER_POST = "after_post"
    """Airflow has stored the event, and this is not recorded."""
    AFTER_ACK = "after_ack"
    """The delivery is acknowledged, and nothing is done for the next one."""


class DriverPoint(StrEnum):
    """Fault points of a driver, or of maintenance between two runs."""

    BEFORE_HELLO = "before_hello"
    """It holds the pipeline's lock, and has not reported."""
    BEFORE_GOODBYE = "before_goodbye"
    """Its work is done, and not reported."""
    BEFORE_MAINTENANCE = "before_maintenance"
    """It holds the lock, and has changed nothing."""
    AFTER_MAINTENANCE = "after_maintenance"
    """The state is changed as requested, and this is not reported."""
