"""Named points of the control plane and of the processes that it starts, as those of an epoch are
(`engine/delivery/faults.py`)."""

from __future__ import annotations

from enum import StrEnum


class ControlPoint(StrEnum):
    """A place in the life of a request, or of a step of the controller, at which the control plane may die."""

    BEFORE_CHANGE = "before_change"
    """A request is checked and its change is made, and none of it is committed."""
    AFTER_CHANGE = "after_change"
    """The change is committed, and its sender has no answer."""
    BEFORE_INTENT = "before_intent"
    """A step is decided on, and not written down. The detail is the action's name, here and below."""
    AFTER_INTENT = "after_intent"
    """It is written down, and nothing is done."""
    AFTER_ACTION = "after_action"
    """It is done."""
    AFTER_ASSIGNMENT = "after_assignment"
    """What a driver is to do lies in its file, and there is no driver."""
    AFTER_SPAWN = "after_spawn"
    """The driver lives, and its pid is not written down."""
    AFTER_SAVEPOINT = "after_savepoint"
    """A savepoint is complete, and the records do not say so."""
    WHILE_REMOVING = "while_removing"
    """Of a pipeline that is deleted, the state is gone and the logs are not."""
    AFTER_REMOVAL = "after_removal"
    """All is gone, and the records say that it is still to go."""


class SavepointPoint(StrEnum):
    """A place in the removal of a savepoint at which the control plane may die."""

    AFTER_MARK = "after_mark"
    """It is written down that the savepoint goes, and all of it is there."""
    AFTER_ASIDE = "after_aside"
    """Its directory has lost its name, and the files are there."""
    AFTER_FILES = "after_files"
    """Its files are gone, and the records say that it is still to go."""


class SchedulePoint(StrEnum):
    """A place in the life of a savepoint that is scheduled at which the control plane may die."""

    BEFORE_SCHEDULED = "before_scheduled"
    """It is decided that the savepoint of an instant is to be taken, and not written down."""
    AFTER_SCHEDULED = "after_scheduled"
    """It is written down, and nothing is taken."""
    AFTER_OUTCOME = "after_outcome"
    """It is written down what came of it, and its drill has not begun."""


class TransferPoint(StrEnum):
    """A place in the move of a pipeline to another control plane, in their order: on the one that it leaves, on the one
    that it comes to, or in the command that leads the two."""

    AFTER_LEAVING = "after_leaving"
    """It is to stop and to go, and nothing of it is elsewhere."""
    AFTER_STATE_OUT = "after_state_out"
    """Its state is at the place, and the records do not say so."""
    AFTER_STATE_IN = "after_state_in"
    """Its state is there, and no pipeline."""
    AFTER_ARRIVAL = "after_arrival"
    """It is there, and may not run."""
    AFTER_RELEASE = "after_release"
    """It never runs again where it was, and may not run where it is yet."""
    AFTER_START = "after_start"
    """It may run there, and nobody has seen that it does."""
    AFTER_OVER = "after_over"
    """It runs there, and the command has not said so."""


class HandOverPoint(StrEnum):
    """A place in a hand-over at which the control plane may die."""

    BEFORE_SWITCH = "before_switch"
    """The state of the copy is saved where the original stands, and nothing says that the original goes on from it."""
    AFTER_STEP = "after_step"
    """A step is written down, and nothing is done of it. The detail is its name."""


class RehearsalPoint(StrEnum):
    """A place in the life of a rehearsal at which the control plane may die, in their order."""

    BEFORE_PROCESS = "before_process"
    """It is written down that it is played, and nobody plays it."""
    AFTER_PROCESS = "after_process"
    """Its process lives."""
    AFTER_END = "after_end"
    """It is over, and no process is left; nobody has written down what came of it."""
    AFTER_OUTCOME = "after_outcome"
    """That is written down, and what it has worked with is there."""


class PushPoint(StrEnum):
    """A place in the push of a delivery at which the control plane may die, in their order."""

    BEFORE_POST = "before_post"
    """It is written down that the delivery may be an event of Airflow's, and it is none."""
    AFTER_POST = "after_post"
    """Airflow has stored the event, and nothing here says so."""
    AFTER_ACK = "after_ack"
    """The delivery is acknowledged, and nothing is done for the next one."""


class DriverPoint(StrEnum):
    """A place in the life of a driver, or of work on a state between two runs."""

    BEFORE_HELLO = "before_hello"
    """It holds the pipeline's lock, and has not called."""
    BEFORE_GOODBYE = "before_goodbye"
    """Its work is done, and it has not said so."""
    BEFORE_MAINTENANCE = "before_maintenance"
    """It holds the lock, and has touched nothing."""
    AFTER_MAINTENANCE = "after_maintenance"
    """The state is as it was asked for, and nobody has heard of it."""
