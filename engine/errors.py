"""Every error a user can meet, each with a stable code.

Clients, tests and retries look at `code`, `retryable` and `is_outage`, never at the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar


@dataclass(frozen=True, slots=True, order=True)
class TextPosition:
    """A position in the text of a script; line and column count from one."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


class Cause(StrEnum):
    """The cause of an error, which decides about retries."""

    OUTAGE = "outage"
    """Another system is down: a retry helps once it is back."""
    MISTAKE = "mistake"
    """Needs a fix first: a retry fails the same way, or does harm."""
    UNKNOWN = "unknown"
    """A retry may help, up to a number of tries."""


class EngineError(Exception):
    """Something a user can understand and put right; `message` says what is wrong, `hint` what to do next, and
    `allowed_by` names the field of the request, if there is one, with which it is done all the same."""

    code: ClassVar[str] = "engine.error"
    retryable: ClassVar[bool] = False
    is_outage: ClassVar[bool] = False
    """Whether another system is down. Every outage is retryable."""

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        at: TextPosition | None = None,
        allowed_by: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.at = at
        self.allowed_by = allowed_by

    def __str__(self) -> str:
        place = f" at {self.at}" if self.at else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{self.code}{place}: {self.message}{hint}"


def cause_of(error: EngineError | type[EngineError]) -> Cause:
    """Return the cause that the error's class declares."""
    if error.is_outage:
        return Cause.OUTAGE
    return Cause.UNKNOWN if error.retryable else Cause.MISTAKE


def message_of(error: BaseException) -> str:
    """Return what an exception says, or its class where it says nothing: never an empty text. Spark's exceptions ask
    the JVM for their text, and raise when it is gone."""
    try:
        text = str(error).strip()
    except Exception:  # noqa: BLE001 - whatever goes wrong there, the first error is the one to show
        text = ""
    return text or type(error).__name__


class ScriptRefused(EngineError):  # noqa: N818 - it is not one error but the list of them
    """A script with at least one complaint; `complaints` has all of them, in the order of the text."""

    code = "sql.refused"

    def __init__(self, complaints: Sequence[EngineError]) -> None:
        self.complaints = tuple(sorted(complaints, key=lambda complaint: complaint.at or TextPosition(0, 0)))
        super().__init__("\n".join(str(complaint) for complaint in self.complaints))

    def __str__(self) -> str:
        return self.message


class SqlError(EngineError):
    """The text of a script is wrong; nothing has run."""

    code = "sql.error"


# What a script can get wrong. One class a code, so that tests, clients and the reference page can name each.


class SyntaxRefusedError(SqlError):
    """The text is not SQL of this dialect."""

    code = "sql.syntax"


class EmptyScriptError(SqlError):
    """The script has no statement, or none that moves rows."""

    code = "sql.no_query"


class UnsupportedStatementError(SqlError):
    """A pipeline cannot contain this statement."""

    code = "sql.unsupported_statement"


class UnsupportedClauseError(SqlError):
    """A streaming query cannot have this clause or expression, or it is not built yet."""

    code = "sql.unsupported"


class UnknownTableError(SqlError):
    """A table, view or CTE is not declared before its use."""

    code = "sql.unknown_table"


class SinkPrefixError(SqlError):
    """A script cannot write under the prefix that it names, or one of its tables cannot."""

    code = "sql.sink_prefix"


class StandInError(SqlError):
    """A table of a script cannot be replaced by a file of rows of a test."""

    code = "sql.stand_in"


class SharedTargetError(SqlError):
    """Two tables of a script write to the same place."""

    code = "sql.shared_target"


class DuplicateNameError(SqlError):
    """Two tables or two columns have the same name."""

    code = "sql.duplicate_name"


class UnknownColumnError(SqlError):
    """The relation has no column of this name."""

    code = "sql.unknown_column"


class UnusableNameError(SqlError):
    """The name of a column or member is one that Spark would look up as a variable."""

    code = "sql.unusable_name"


class AmbiguousColumnError(SqlError):
    """More than one relation in reach has a column of this name."""

    code = "sql.ambiguous_column"


class UnknownFunctionError(SqlError):
    """The function does not exist."""

    code = "sql.unknown_function"


class FunctionArgumentsError(SqlError):
    """A function is called with arguments that it does not take."""

    code = "sql.function_arguments"


class TypeMismatchError(SqlError):
    """A value has a type that is not allowed here."""

    code = "sql.type_mismatch"


class UnknownTypeError(SqlError):
    """A column cannot have this type."""

    code = "sql.unknown_type"


class WindowContextError(SqlError):
    """A time window is used where none is allowed."""

    code = "sql.window_context"


class WindowArgumentError(SqlError):
    """A time window has an impossible length."""

    code = "sql.window_argument"


class WindowMismatchError(SqlError):
    """A time window groups rows that already belong to another one."""

    code = "sql.window_mismatch"


class JoinError(SqlError):
    """The join cannot run as it is written."""

    code = "sql.join"


class OverError(SqlError):
    """OVER is used where it is not allowed, or with unsupported arguments."""

    code = "sql.over"


class NotGroupedError(SqlError):
    """A column is neither grouped by nor aggregated."""

    code = "sql.not_grouped"


class UpdatingQueryError(SqlError):
    """Rows that may still change go where only final rows can go."""

    code = "sql.updating"


class ColumnCountError(SqlError):
    """A query has more or fewer columns than its target."""

    code = "sql.column_count"


class WrongDirectionError(SqlError):
    """A query reads from a sink, or writes into a source."""

    code = "sql.wrong_direction"


class MemoryTableError(SqlError):
    """A memory table needs exactly one INSERT, before the first query that reads it."""

    code = "sql.memory_table"


class EventTimeError(SqlError):
    """The event time or the watermark of a table cannot be what the table says."""

    code = "sql.event_time"


class TableColumnError(SqlError):
    """This kind of table cannot have such a column."""

    code = "sql.table_column"


class UnknownSettingError(SqlError):
    """SET names something that is not a setting."""

    code = "sql.unknown_setting"


class HintError(SqlError):
    """A comment `/*+ ... */` is no hint that we know, or names nothing."""

    code = "sql.hint"


class TooLargeError(SqlError):
    """The script is larger or more deeply nested than the limits allow."""

    code = "sql.too_large"


class OptionError(SqlError):
    """An option of a WITH clause is wrong; nothing has run."""

    code = "option.error"


class DataError(EngineError):
    """A record does not fit the table that reads it."""

    code = "data.error"


class OutOfRangeError(DataError):
    """A value does not fit the type that it is computed in or cast to."""

    code = "data.out_of_range"


class DivisionByZeroError(DataError):
    """A number or an interval is divided by zero."""

    code = "data.division_by_zero"


class InvalidValueError(DataError):
    """A value, most often a text, cannot be read as the type it is cast to."""

    code = "data.invalid_value"


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


class StateBucketUnavailableError(StateError):
    """The bucket with the state of operators does not answer."""

    code = "state.bucket_unavailable"
    retryable = True
    is_outage = True


class UdfError(EngineError):
    """A Python function of the user is wrong."""

    code = "udf.error"


class UdfSyntaxError(UdfError):
    """A file of functions is not valid Python, or has no function in it."""

    code = "udf.syntax"


class UdfSignatureError(UdfError):
    """The decorator or the type hints of a function do not say what the engine has to know."""

    code = "udf.signature"


class UdfNameError(UdfError):
    """A function has the name of a built-in function or of another function of the user."""

    code = "udf.name"


class UdfDependenciesError(UdfError):
    """Packages that a file of functions declares are not installed, or in other versions."""

    code = "udf.missing_dependencies"


class UdfLoadError(UdfError):
    """A file of functions raises an exception while it is loaded."""

    code = "udf.load"


class UdfFailedError(UdfError):
    """A function raises an exception."""

    code = "udf.failed"


class UdfResultError(UdfError):
    """A function returns something else than its type hint says."""

    code = "udf.result"


class UdfTimeoutError(UdfError):
    """An async function takes longer than it may."""

    code = "udf.timeout"


class RunError(EngineError):
    """A run fails for a reason outside the script."""

    code = "run.error"


class EpochFailedError(RunError):
    """An epoch fails inside Spark or a connector; the next start runs the very same epoch again."""

    code = "run.epoch_failed"
    retryable = True


class SumOverflowError(RunError):
    """A sum grows out of the range of its type."""

    code = "run.sum_overflow"


class MissingPackageError(RunError):
    """The requested feature needs a Python package that is not installed."""

    code = "run.missing_package"


class MissingJarsError(RunError):
    """The Java archives by which Spark reads and writes S3 are not installed."""

    code = "run.missing_jars"


class JarsError(RunError):
    """The Java archives for S3 cannot be fetched, or are not the ones that are pinned."""

    code = "run.jars"


class PluginError(RunError):
    """A connector of another package cannot be used."""

    code = "run.plugin"


class SecretNotFoundError(RunError):
    """An option refers to a secret or a variable that is not set where the job starts."""

    code = "run.no_secret"


class AddressRefusedError(RunError):
    """A script would reach an address that belongs to this machine or its network only."""

    code = "run.address_refused"


class NoJavaError(RunError):
    """Spark needs Java, and there is none that is new enough."""

    code = "run.no_java"


class JavaStartError(RunError):
    """Java or Spark does not start."""

    code = "run.java_start"
    retryable = True


class DiskNotSharedError(RunError):
    """An executor does not see the directory of the state, or the driver does not see what an executor writes there."""

    code = "run.disk_not_shared"


class MissingNoteError(RunError):
    """A task has read a part of a table, and what it has noted of that is not there: the watermark would be wrong. The
    epoch is not committed."""

    code = "run.missing_note"
    retryable = True


class MailboxUnreachableError(RunError):
    """A task on another machine cannot hand a file to the driver. The epoch is not committed."""

    code = "run.mailbox_unreachable"
    retryable = True


class MailboxRefusedError(RunError):
    """The driver does not take a file from a task: the task belongs to another run, or the file is none that tasks
    write."""

    code = "run.mailbox_refused"
    retryable = True


class NoExecutorsError(RunError):
    """No executor of a cluster is up in time, or one cannot run our tasks."""

    code = "run.no_executors"
    retryable = True


class ExecutorUnfitError(RunError):
    """An executor cannot run the tasks of a pipeline: its Python or its packages differ from what the driver needs, or
    it does not reach the driver."""

    code = "run.executor_unfit"


class JvmDiedError(RunError):
    """The Java process of a driver ends while it is needed."""

    code = "run.jvm_died"
    retryable = True


class SharedJavaDiedError(RunError):
    """The Java process that a pipeline shares with others ends while it is needed. Each of them starts again."""

    code = "run.shared_java_died"
    retryable = True
    is_outage = True


class WorkerDiedError(RunError):
    """A Python process of Spark's ends while it is needed."""

    code = "run.worker_died"
    retryable = True


class WorkerLateError(RunError):
    """A Python process of Spark's is not up in time: the machine has too much to do, or it never will be."""

    code = "run.worker_late"
    retryable = True


class StateBusyError(RunError):
    """Another process works on the state of a pipeline for too long."""

    code = "run.state_busy"
    retryable = True


class DriverCrashedError(RunError):
    """A driver meets an unexpected error."""

    code = "run.crashed"
    retryable = True


class DriverDiedError(RunError):
    """A driver ends without saying why."""

    code = "run.died"
    retryable = True


class DriverSilentError(RunError):
    """A driver has not reported to the control plane for too long, and is killed."""

    code = "run.silent"
    retryable = True


class SlowStartError(RunError):
    """A step of a driver's start takes too long, and the driver is killed."""

    code = "run.slow_start"
    retryable = True


class MaintenanceStuckError(RunError):
    """A restore or a rescale makes no progress, and is ended."""

    code = "run.maintenance_stuck"
    retryable = True


class DriverStuckError(RunError):
    """A driver reports, but its work makes no progress, and it is killed."""

    code = "run.stuck"
    retryable = True


class RehearsalFailedError(RunError):
    """A query fails while a change is rehearsed; the pipeline that runs is not touched by it."""

    code = "run.rehearsal_failed"


class StoppedUnaskedError(RunError):
    """A driver stops without being asked to."""

    code = "run.stopped"
    retryable = True


class SettingError(EngineError):
    """A setting is unknown or has a value that it cannot have; nothing has started."""

    code = "setting.invalid"


class NoStateUrlError(SettingError):
    """The query keeps state, and executors of its cluster see another disk than the driver; nothing has started."""

    code = "setting.no_state_url"


class ServerError(EngineError):
    """The control plane cannot start, or cannot be reached."""

    code = "server.error"


class DataDirLockedError(ServerError):
    """Another control plane uses this data directory."""

    code = "server.locked"


class InsecureBindError(ServerError):
    """The control plane would listen on an address that others can reach, without a token that its owner has set."""

    code = "server.insecure"


class SecretsKeyError(ServerError):
    """The secrets of pipelines cannot be decrypted with this key."""

    code = "server.secrets_key"


class StoreTooNewError(ServerError):
    """A later version of the engine has written this database, or this backup."""

    code = "server.store_too_new"


class StoreDamagedError(ServerError):
    """The file of the control plane's database is no database, or parts of it are damaged."""

    code = "server.store_damaged"


class BackupError(ServerError):
    """A backup of a control plane cannot be made, or cannot be put back."""

    code = "server.backup"


class UnreachableError(ServerError):
    """No control plane answers at the address."""

    code = "server.unreachable"
    retryable = True


class StoreUnavailableError(ServerError):
    """The control plane cannot use its database now: its disk is full, or another process holds it."""

    code = "server.store_unavailable"
    retryable = True
    is_outage = True


class RequestError(EngineError):
    """The request is malformed; nothing has changed."""

    code = "request.invalid"


class UnsupportedRequestError(RequestError):
    """The request uses a feature of Arroyo's API that is not supported here."""

    code = "request.unsupported"


class UnknownParameterError(RequestError):
    """The request has a query parameter that its path does not take; nothing has changed."""

    code = "request.unknown_parameter"


class RequestTooLargeError(RequestError):
    """The request, or the SQL in it, is longer than the limit."""

    code = "request.too_large"


class AuthError(EngineError):
    """The request has no valid token, or its token does not allow this."""

    code = "auth.denied"


class AdminOnlyError(AuthError):
    """The request needs the control plane's first token."""

    code = "auth.admin_only"


class CrossSiteError(AuthError):
    """A browser has sent the cookie of a session with a request that the page of the control plane has not made."""

    code = "auth.cross_site"


class TokenExistsError(EngineError):
    """The name of a token is taken."""

    code = "token.exists"


class TokenNotFoundError(EngineError):
    """No valid token has this name."""

    code = "token.not_found"


class StoredExistsError(EngineError):
    """A connection, table or function of this name exists."""

    code = "stored.exists"


class StoredNotFoundError(EngineError):
    """No connection, table or function of this name or id is kept."""

    code = "stored.not_found"


class StoredInUseError(EngineError):
    """A connection, table or function is kept as long as a pipeline or a table uses it."""

    code = "stored.in_use"


class ProbeBusyError(EngineError):
    """As many tests of connections and tables are under way as there may be."""

    code = "stored.tests_busy"
    retryable = True


class SchemaUnknownError(EngineError):
    """The columns of a table cannot be inferred from its data."""

    code = "stored.no_schema"


class HostRefusedError(AuthError):
    """The request names a host that is not this control plane."""

    code = "auth.host"


class PipelineError(EngineError):
    """The pipeline does not exist, or its state does not allow the request."""

    code = "pipeline.error"


class NotReadBackError(PipelineError):
    """The control plane cannot read the output of a sink."""

    code = "pipeline.not_read_back"


class PipelineNotFoundError(PipelineError):
    """No pipeline has this id or name."""

    code = "pipeline.not_found"


class PipelineIncompatibleError(PipelineError):
    """The new query cannot go on from the state of the old one."""

    code = "pipeline.incompatible"


class NoWayBackError(PipelineError):
    """The pipeline cannot be rolled back to that version: it is no earlier one, or has left no savepoint."""

    code = "pipeline.no_way_back"


class PipelineBusyError(PipelineError):
    """The state of the pipeline does not allow this now."""

    code = "pipeline.busy"


class IdempotencyConflictError(PipelineError):
    """The idempotency key belongs to another request."""

    code = "pipeline.key_reused"


class PipelineChangedError(PipelineError):
    """The pipeline is not what If-Match names: it has changed since it was read, or is not there."""

    code = "pipeline.changed"


class TargetTakenError(PipelineError):
    """Another pipeline writes to a target of this one, and a target has one writer."""

    code = "pipeline.target_taken"


class SharedForkError(PipelineError):
    """A fork would write where its original writes, or commit to its consumer group."""

    code = "pipeline.shared_with_original"


class PipelineExistsError(PipelineError):
    """A pipeline of this name exists."""

    code = "pipeline.exists"


class PreviewsBusyError(PipelineError):
    """The limit of concurrent previews is reached."""

    code = "pipeline.too_many_previews"
    retryable = True


class PipelineMovingError(PipelineError):
    """The pipeline is moving, or has moved, to another control plane."""

    code = "pipeline.moving"


class HandOverError(PipelineError):
    """A pipeline cannot hand its name and its sinks over to the one that reads its input again, or is doing so."""

    code = "pipeline.hand_over"


class SinkNotFoundError(PipelineError):
    """The pipeline writes no table of that name."""

    code = "pipeline.no_such_sink"


class CompletenessUnknownError(PipelineError):
    """The input time up to which a sink is complete cannot be known."""

    code = "pipeline.completeness_unknown"


class NoSuchRehearsalError(EngineError):
    """The pipeline has no rehearsal with this id."""

    code = "rehearsal.not_found"


class RehearsalBusyError(EngineError):
    """A rehearsal of the pipeline is being played, or waits for its turn: there is one at a time."""

    code = "rehearsal.busy"


class RehearsalRoomError(EngineError):
    """The disk has too little free space for a rehearsal."""

    code = "rehearsal.no_room"
    retryable = True


class RehearsalMemoryError(EngineError):
    """The machine has less free memory than a rehearsal may use."""

    code = "rehearsal.no_memory"
    retryable = True


class RehearsalTimeError(EngineError):
    """A rehearsal is not over within its limit, and was ended."""

    code = "rehearsal.too_long"


class RehearsalStoppedError(EngineError):
    """The rehearsal was cancelled."""

    code = "rehearsal.stopped"


class RehearsalLostError(EngineError):
    """The process that played a rehearsal has ended without a word, so nothing is known of its rows."""

    code = "rehearsal.lost"
    retryable = True


class PartitionError(EngineError):
    """A consumer of partitions is described in a way that makes no sense."""

    code = "partition.invalid"


class PartitionConsumerNotFoundError(PartitionError):
    """There is no consumer of partitions of that name."""

    code = "partition.not_found"


class PartitionConsumerDiffersError(PartitionError):
    """There is another consumer of partitions under that name."""

    code = "partition.differs"


class LateRowsUnknownError(PartitionError):
    """Late rows of the consumer's buckets are not recorded."""

    code = "partition.late_unknown"


class NotDeliveredError(PartitionError):
    """Something is acknowledged that was never delivered."""

    code = "partition.not_delivered"


class PushedConsumerError(PartitionError):
    """A client acknowledges a delivery that the control plane pushes and acknowledges itself."""

    code = "partition.is_pushed"


class PushLoginError(PartitionError):
    """The credentials with which deliveries are pushed would be kept and shown as plain text, or make no sense."""

    code = "partition.push_login"


class PushRefusedError(PartitionError):
    """Airflow does not take the event of a delivery; it has stored none."""

    code = "partition.push_refused"


class PushUnreachableError(PartitionError):
    """Airflow cannot be reached; it has stored no event of the delivery."""

    code = "partition.push_unreachable"
    retryable = True


class PushBehindError(PartitionError):
    """Airflow has an event of a delivery that the control plane, restored from a backup, has for something else."""

    code = "partition.push_behind"


class PushUnclearError(PartitionError):
    """The answer of Airflow is lost: it may have stored the event of the delivery, or not."""

    code = "partition.push_unclear"
    retryable = True


class LineageUnreachableError(EngineError):
    """OpenLineage events cannot be sent now; they are retried."""

    code = "lineage.unreachable"
    retryable = True


class LineageEventRefusedError(EngineError):
    """OpenLineage refuses an event permanently."""

    code = "lineage.refused"


class StaleWriteError(PipelineError):
    """Another request has changed the record in between; send the request again."""

    code = "pipeline.stale"
    retryable = True


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


class RetentionError(EngineError):
    """A rule of what savepoints are kept, or when they are taken, makes no sense."""

    code = "setting.savepoint_rule"


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


class UnknownOptionError(OptionError):
    """A WITH clause has options that the table does not know; the message names all of them."""

    code = "option.unknown"


class MissingOptionError(OptionError):
    """A WITH clause lacks an option that the table needs."""

    code = "option.missing"


class OptionTypeError(OptionError):
    """The value of an option is of another kind than the option."""

    code = "option.wrong_type"


class OptionValueError(OptionError):
    """The value of an option is of the right kind and still cannot be used."""

    code = "option.bad_value"


class SecretValueError(OptionError):
    """An option that is to be kept holds what cannot be kept as a secret, or shows one."""

    code = "option.secret_value"


class LiteralSecretError(OptionError):
    """A script that would be stored and shown contains a secret as plain text."""

    code = "option.literal_secret"


class DurationError(SqlError):
    """A text is not a length of time, or has months or years, whose length varies."""

    code = "sql.bad_duration"


class BadRecordError(DataError):
    """A record cannot be decoded, and the table says `bad_data = 'fail'`."""

    code = "data.bad_record"


class NullValueError(DataError):
    """A column that a sink declares NOT NULL would get NULL."""

    code = "data.null_value"


class MissingFileError(DataError):
    """A file or directory that a table reads is not there."""

    code = "data.missing_file"


class UnreadableFileError(DataError):
    """A file cannot be read as what its table says it is."""

    code = "data.unreadable_file"


class LocalPathOnClusterError(DataError):
    """A table reads a file of the driver's disk that is too large to be sent to each executor."""

    code = "data.local_path_on_cluster"


class DuplicateKeyError(DataError):
    """A lookup table has two rows with the same primary key."""

    code = "data.duplicate_key"


class LookupFailedError(DataError):
    """A lookup table does not answer."""

    code = "data.lookup_failed"
    retryable = True
    is_outage = True


class LookupRefusedError(LookupFailedError):
    """A lookup service refuses this job, or its value has another type than the table declares."""

    code = "data.lookup_refused"
    retryable = False
    is_outage = False


class SchemaRegistryError(DataError):
    """A schema registry does not answer."""

    code = "data.schema_registry"
    retryable = True
    is_outage = True


class SchemaRefusedError(SchemaRegistryError):
    """A schema registry refuses a request: the login, the schema, or a number that it does not know."""

    code = "data.schema_refused"
    retryable = False
    is_outage = False


class RowRefusedError(DataError):
    """The target of a sink refuses rows for good."""

    code = "data.row_refused"


class FilesChangedError(DataError):
    """Files that an epoch has read have changed, so it cannot be read again."""

    code = "data.files_changed"


class SourceUnavailableError(DataError):
    """The system that a table reads from does not answer."""

    code = "data.source_unavailable"
    retryable = True
    is_outage = True


class SourceRefusedError(SourceUnavailableError):
    """The system that a table reads from refuses this job."""

    code = "data.source_refused"
    retryable = False
    is_outage = False


class MissingTopicError(DataError):
    """A topic that a table names does not exist."""

    code = "data.missing_topic"


class RecordsLostError(DataError):
    """Records that a table has not read yet are no longer there."""

    code = "data.records_lost"


class TopicRecreatedError(DataError):
    """A topic has been deleted and made again, so its records do not follow the last one that was read."""

    code = "data.topic_recreated"


class UnwritableTargetError(DataError):
    """The target of a table cannot be written."""

    code = "data.unwritable_target"


class DiskFullError(UnwritableTargetError):
    """No space is left where a table, or the state, is written."""

    code = "data.disk_full"
    retryable = True
    is_outage = True


class DeliveryError(EngineError):
    """A sink cannot write an epoch without the risk of loss or duplicates; it has written nothing."""

    code = "delivery.error"


class TargetUnavailableError(DeliveryError):
    """The target of a sink does not answer."""

    code = "delivery.unavailable"
    retryable = True
    is_outage = True


class UnreadableSegmentError(DeliveryError):
    """A file that a task has written for an epoch cannot be read when the sink takes the epoch, which is run again."""

    code = "delivery.segment_unreadable"
    retryable = True


class SupersededError(DeliveryError):
    """A newer run of the same job owns the sink; this one has to end."""

    code = "delivery.superseded"


class LedgerLostError(DeliveryError):
    """The checkpoint has committed epochs of this sink that the sink's ledger does not know."""

    code = "delivery.ledger_lost"


class LedgerAheadError(DeliveryError):
    """The sink has epochs that are not in the checkpoint: the checkpoint is an old copy."""

    code = "delivery.ledger_ahead"


class LedgerForeignError(DeliveryError):
    """A checkpoint that this one does not descend from has written the sink's ledger."""

    code = "delivery.ledger_foreign"


class OffsetsDifferError(DeliveryError):
    """The sink already has this epoch, over another range of input."""

    code = "delivery.offsets_differ"


class OutputChangedError(DeliveryError):
    """Published output of the sink was changed by another program."""

    code = "delivery.output_changed"


class ForeignTargetError(DeliveryError):
    """The target has rows that this pipeline has not written, or belongs to another pipeline."""

    code = "delivery.foreign_target"


class RewindTooFarError(DeliveryError):
    """A restore goes back further than the sink remembers what it has written."""

    code = "delivery.rewind_too_far"


class RecordTooLargeError(DeliveryError):
    """A record is larger than the target accepts."""

    code = "delivery.record_too_large"


class TargetRefusedError(DeliveryError):
    """The target of a sink does not allow this job to write."""

    code = "delivery.refused"


class TransactionsUnsafeError(DeliveryError):
    """The broker does not fence off older producers, so nothing can be written exactly once."""

    code = "delivery.transactions_unsafe"
