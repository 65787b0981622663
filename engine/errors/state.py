"""Errors of state, of savepoints, and of upgrades that take state over."""

from __future__ import annotations

from engine.errors.base import EngineError


class StateError(EngineError):
    """The state directory does not fit what the run needs; nothing has changed."""

    code = "state.error"


class UnknownSubjectError(StateError):
    """An operator or table to keep or discard in an upgrade is in neither script."""

    code = "state.unknown_subject"


class NoStateError(StateError):
    """There is no state to compare a script with."""

    code = "state.missing"


class RecompiledError(StateError):
    """The script of a state does not give the query that the state is of, and cannot be compared with another."""

    code = "state.recompiled"


class OtherQueryError(StateError):
    """The state belongs to another query."""

    code = "state.other_query"


class UpgradeRefusedError(StateError):
    """The query cannot take over the existing state, or something would be lost and the loss is not accepted."""

    code = "state.upgrade_refused"


class BackfillError(StateError):
    """A range of history cannot be read as it is asked for."""

    code = "state.backfill"


class RehearsalError(StateError):
    """A change cannot be rehearsed: the input since the savepoint cannot be read again, or has changed meanwhile."""

    code = "state.rehearsal"


class StartPositionError(StateError):
    """A start position cannot be used: the table has a position in the state, is not read, or does not support it."""

    code = "state.start_position"


class UnreadableStateError(StateError):
    """A file of the state directory is missing or damaged."""

    code = "state.unreadable"


class StateRowsError(StateError):
    """Rows of a state cannot be shown now: others are being read, or it takes too long."""

    code = "state.rows"
    retryable = True


class OtherFormatError(StateError):
    """A version of the engine that writes state in another way has kept this state."""

    code = "state.other_format"


class LeftSinkError(StateError):
    """A sink of the query was written by a history of the pipeline that was left, and by no other one."""

    code = "state.left_sink"


class EpochNotKeptError(StateError):
    """The state after that epoch is no longer stored: it is not the newest one."""

    code = "state.epoch_not_kept"


class StateNotKeptError(StateError):
    """A part of the state that a new query is to keep does not fit it."""

    code = "state.not_kept"


class ForeignStateError(StateError):
    """The directory named as the state directory holds something else."""

    code = "state.foreign"


class StateInUseError(StateError):
    """Another run uses the state directory."""

    code = "state.in_use"
    retryable = True


class StateBucketError(StateError):
    """The state of operators is in a bucket that cannot be used."""

    code = "state.bucket"


class NotInBucketError(StateError):
    """A run whose whole state is in a bucket does not support a part of the script, or an option, yet."""

    code = "state.not_in_a_bucket"


class UnfitStorageError(StateError):
    """A bucket or a folder does not keep the promises that a state relies on."""

    code = "state.unfit_storage"


class StateBucketUnavailableError(StateError):
    """The bucket with the state of operators does not answer."""

    code = "state.bucket_unavailable"
    retryable = True
    is_outage = True


class SavepointError(EngineError):
    """A savepoint cannot be taken or used."""

    code = "savepoint.error"


class SavepointsKeptError(SavepointError):
    """The pipeline has savepoints, which would be deleted with it."""

    code = "savepoint.kept"


class SavepointNotFoundError(SavepointError):
    """The pipeline has no savepoint with this id."""

    code = "savepoint.not_found"


class DamagedSavepointError(SavepointError):
    """A file of the savepoint is missing or has changed."""

    code = "savepoint.damaged"


class SavepointPinnedError(SavepointError):
    """The savepoint is pinned, so nothing deletes it."""

    code = "savepoint.pinned"


class SavepointInUseError(SavepointError):
    """The savepoint is being read, or may still be needed for a rollback."""

    code = "savepoint.in_use"
    retryable = True


class PlaceError(SavepointError):
    """The place to which a savepoint is exported, or from which it is imported, cannot be used."""

    code = "savepoint.place"


class NothingToSaveError(SavepointError):
    """The pipeline has not committed an epoch yet."""

    code = "savepoint.nothing_yet"
    retryable = True


class OtherVersionError(SavepointError):
    """The savepoint belongs to another query than the pipeline has now."""

    code = "savepoint.other_version"


class ReplayError(SavepointError):
    """The savepoint is older than the state, so epochs would run again."""

    code = "savepoint.replay"


class SavepointGapError(SavepointError):
    """Sinks have taken back rows that the savepoint counts as written, since its history was left."""

    code = "savepoint.gap"
