"""Every error a user can meet, each with a stable code.

Clients, tests and retries look at `code` and `retryable`, never at the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True, order=True)
class TextPosition:
    """A position in the text of a script; line and column count from one."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


class EngineError(Exception):
    """Something a user can understand and mend; `message` says what is wrong, `hint` what to do next."""

    code: ClassVar[str] = "engine.error"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, hint: str | None = None, at: TextPosition | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.at = at

    def __str__(self) -> str:
        place = f" at {self.at}" if self.at else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{self.code}{place}: {self.message}{hint}"


class ScriptRefused(EngineError):  # noqa: N818 - it is not one error but the list of them
    """A script with at least one complaint; `complaints` has all of them, in the order of the text."""

    code = "sql.refused"

    def __init__(self, complaints: Sequence[EngineError]) -> None:
        self.complaints = tuple(sorted(complaints, key=lambda complaint: complaint.at or TextPosition(0, 0)))
        super().__init__("\n".join(str(complaint) for complaint in self.complaints))

    def __str__(self) -> str:
        return self.message


class SqlError(EngineError):
    """The text of a script is at fault; nothing was run."""

    code = "sql.error"


# What a script can get wrong. One class a code, so that tests, clients and the reference page can name each.


class SyntaxRefusedError(SqlError):
    """The text is not SQL of our dialect."""

    code = "sql.syntax"


class EmptyScriptError(SqlError):
    """There is no statement at all, or none that moves rows."""

    code = "sql.no_query"


class UnsupportedStatementError(SqlError):
    """A statement that a pipeline cannot hold."""

    code = "sql.unsupported_statement"


class UnsupportedClauseError(SqlError):
    """A clause or expression that a streaming query cannot have, or that is not built yet."""

    code = "sql.unsupported"


class UnknownTableError(SqlError):
    """A table, view or CTE that was not declared before its use."""

    code = "sql.unknown_table"


class DuplicateNameError(SqlError):
    """A second table or column of the same name."""

    code = "sql.duplicate_name"


class UnknownColumnError(SqlError):
    """A column that the relation does not have."""

    code = "sql.unknown_column"


class UnusableNameError(SqlError):
    """A column or member has a name that Spark would take for a variable and look up."""

    code = "sql.unusable_name"


class AmbiguousColumnError(SqlError):
    """A column name that more than one relation in reach has."""

    code = "sql.ambiguous_column"


class UnknownFunctionError(SqlError):
    """A function that is not on the list of those that may be called."""

    code = "sql.unknown_function"


class FunctionArgumentsError(SqlError):
    """A function called with arguments it does not take."""

    code = "sql.function_arguments"


class TypeMismatchError(SqlError):
    """A value of a type that cannot stand here."""

    code = "sql.type_mismatch"


class UnknownTypeError(SqlError):
    """A type that a column cannot have."""

    code = "sql.unknown_type"


class WindowContextError(SqlError):
    """A time window where none is allowed."""

    code = "sql.window_context"


class WindowArgumentError(SqlError):
    """A time window of an impossible length."""

    code = "sql.window_argument"


class WindowMismatchError(SqlError):
    """A time window over rows that already belong to another one."""

    code = "sql.window_mismatch"


class JoinError(SqlError):
    """A join that cannot be run as it is written."""

    code = "sql.join"


class OverError(SqlError):
    """OVER where it cannot stand, or with what it cannot take."""

    code = "sql.over"


class NotGroupedError(SqlError):
    """A column that is neither grouped by nor aggregated."""

    code = "sql.not_grouped"


class UpdatingQueryError(SqlError):
    """Rows that change for ever, where only rows that stay as they are can go."""

    code = "sql.updating"


class ColumnCountError(SqlError):
    """A query with more or fewer columns than its target."""

    code = "sql.column_count"


class WrongDirectionError(SqlError):
    """Reading from a sink, or writing into a source."""

    code = "sql.wrong_direction"


class MemoryTableError(SqlError):
    """A memory table used against its rules: one INSERT, before the first read."""

    code = "sql.memory_table"


class EventTimeError(SqlError):
    """An event time or watermark that cannot be what the table says."""

    code = "sql.event_time"


class TableColumnError(SqlError):
    """A column of a CREATE TABLE that this kind of table cannot have."""

    code = "sql.table_column"


class UnknownSettingError(SqlError):
    """A SET of something that is not a setting."""

    code = "sql.unknown_setting"


class TooLargeError(SqlError):
    """A script beyond the limits of size or depth."""

    code = "sql.too_large"


class OptionError(SqlError):
    """A WITH option is at fault; nothing was run."""

    code = "option.error"


class DataError(EngineError):
    """A record that was read cannot be taken as its table says."""

    code = "data.error"


class OutOfRangeError(DataError):
    """A value does not fit into the type it is computed or cast to."""

    code = "data.out_of_range"


class DivisionByZeroError(DataError):
    """A number or an interval was divided by zero."""

    code = "data.division_by_zero"


class InvalidValueError(DataError):
    """A value, most often a text, cannot be read as the type it is cast to."""

    code = "data.invalid_value"


class StateError(EngineError):
    """The state directory does not fit what is asked of it; nothing was changed."""

    code = "state.error"


class OtherQueryError(StateError):
    """The state belongs to another query."""

    code = "state.other_query"


class UnreadableStateError(StateError):
    """A file of the state directory is missing or damaged."""

    code = "state.unreadable"


class OtherFormatError(StateError):
    """The state was kept by a version of the engine that writes it in another way."""

    code = "state.other_format"


class ForeignStateError(StateError):
    """The directory named as the state directory holds something else."""

    code = "state.foreign"


class StateInUseError(StateError):
    """Another run works on the state directory."""

    code = "state.in_use"
    retryable = True


class UdfError(EngineError):
    """A Python function of the user's is wrong."""

    code = "udf.error"


class UdfSyntaxError(UdfError):
    """A file of functions is not Python that can be read, or there is no function in it."""

    code = "udf.syntax"


class UdfSignatureError(UdfError):
    """A function's decorator or type hints do not say what the engine has to know of it."""

    code = "udf.signature"


class UdfNameError(UdfError):
    """A function has a name that a function of ours or another one of the user's has already."""

    code = "udf.name"


class UdfDependenciesError(UdfError):
    """Packages that a file of functions declares are not installed here, or in other versions."""

    code = "udf.missing_dependencies"


class UdfLoadError(UdfError):
    """A file of functions raised while it was being loaded."""

    code = "udf.load"


class UdfFailedError(UdfError):
    """A function raised."""

    code = "udf.failed"


class UdfResultError(UdfError):
    """A function gave something else than its type hint says."""

    code = "udf.result"


class UdfTimeoutError(UdfError):
    """An async function took longer than it may."""

    code = "udf.timeout"


class RunError(EngineError):
    """A run failed for a reason outside the script."""

    code = "run.error"


class EpochFailedError(RunError):
    """An epoch failed inside Spark or a connector; the next start runs the very same epoch again."""

    code = "run.epoch_failed"
    retryable = True


class SumOverflowError(RunError):
    """A sum grew out of the range of its type."""

    code = "run.sum_overflow"


class MissingPackageError(RunError):
    """A connector needs a Python package that is not installed."""

    code = "run.missing_package"


class SecretNotFoundError(RunError):
    """An option refers to a secret or a variable that is not set where the job is started."""

    code = "run.no_secret"


class AddressRefusedError(RunError):
    """A script would talk to an address that only this machine or its network can reach."""

    code = "run.address_refused"


class NoJavaError(RunError):
    """Spark needs Java, and none that is new enough was found."""

    code = "run.no_java"


class JavaStartError(RunError):
    """Java or Spark did not start."""

    code = "run.java_start"
    retryable = True


class SettingError(EngineError):
    """A setting is unknown or has a value it cannot have; nothing was started."""

    code = "setting.invalid"


class ServerError(EngineError):
    """The control plane cannot start as asked, or cannot be reached."""

    code = "server.error"


class DataDirLockedError(ServerError):
    """Another control plane works on this data directory."""

    code = "server.locked"


class InsecureBindError(ServerError):
    """An address that others can reach was asked for without a token of one's own."""

    code = "server.insecure"


class UnreachableError(ServerError):
    """No control plane answers at the address."""

    code = "server.unreachable"
    retryable = True


class RequestError(EngineError):
    """A request is malformed; nothing was changed."""

    code = "request.invalid"


class RequestTooLargeError(RequestError):
    """A request, or the SQL in it, is longer than is accepted."""

    code = "request.too_large"


class AuthError(EngineError):
    """A request did not show who it is from, or that one may not do this."""

    code = "auth.denied"


class HostRefusedError(AuthError):
    """A request came for a host name that this control plane does not go by."""

    code = "auth.host"


class PipelineError(EngineError):
    """A pipeline is not there, or not in a state for what is asked."""

    code = "pipeline.error"


class PipelineNotFoundError(PipelineError):
    """No pipeline has this id or name."""

    code = "pipeline.not_found"


class PipelineIncompatibleError(PipelineError):
    """The new query cannot go on from the state of the old one."""

    code = "pipeline.incompatible"


class PipelineBusyError(PipelineError):
    """The pipeline's state does not allow this now."""

    code = "pipeline.busy"


class IdempotencyConflictError(PipelineError):
    """The idempotency key was used for something else."""

    code = "pipeline.key_reused"


class StaleWriteError(PipelineError):
    """Somebody else changed the record in between; asking again will do."""

    code = "pipeline.stale"
    retryable = True


class SavepointError(EngineError):
    """A savepoint could not be taken or used."""

    code = "savepoint.error"


class SavepointNotFoundError(SavepointError):
    """The pipeline has no savepoint with this id."""

    code = "savepoint.not_found"


class DamagedSavepointError(SavepointError):
    """A file of the savepoint is missing or is not what it was."""

    code = "savepoint.damaged"


class NothingToSaveError(SavepointError):
    """The pipeline has not committed an epoch yet."""

    code = "savepoint.nothing_yet"
    retryable = True


class ReplayError(SavepointError):
    """The savepoint is older than the state, so epochs would run again."""

    code = "savepoint.replay"


class UnknownOptionError(OptionError):
    """A WITH clause has options that nobody asked for; all of them are named."""

    code = "option.unknown"


class MissingOptionError(OptionError):
    """A WITH clause lacks an option without which the table cannot work."""

    code = "option.missing"


class OptionTypeError(OptionError):
    """An option's value is of another kind than the option."""

    code = "option.wrong_type"


class OptionValueError(OptionError):
    """An option's value is of the right kind, and still cannot be used."""

    code = "option.bad_value"


class LiteralSecretError(OptionError):
    """A script that is kept, and shown to whoever may look, holds a secret as it is."""

    code = "option.literal_secret"


class DurationError(SqlError):
    """A text that should be a length of time is not, or has months or years, whose length varies."""

    code = "sql.bad_duration"


class BadRecordError(DataError):
    """A record cannot be decoded and the table says `bad_data = 'fail'`."""

    code = "data.bad_record"


class NullValueError(DataError):
    """NULL was written into a column that a sink declares NOT NULL."""

    code = "data.null_value"


class MissingFileError(DataError):
    """A file or directory that a table reads is not there."""

    code = "data.missing_file"


class UnreadableFileError(DataError):
    """A file is there and cannot be read as what its table says it is."""

    code = "data.unreadable_file"


class DuplicateKeyError(DataError):
    """A lookup table has two rows of one primary key."""

    code = "data.duplicate_key"


class LookupFailedError(DataError):
    """A lookup table does not answer."""

    code = "data.lookup_failed"
    retryable = True


class SchemaRegistryError(DataError):
    """A schema registry does not answer, or refuses what it is asked."""

    code = "data.schema_registry"
    retryable = True


class RowRefusedError(DataError):
    """What a sink writes to has refused rows for good."""

    code = "data.row_refused"


class FilesChangedError(DataError):
    """Files that an epoch has read were changed, added or taken away, so it cannot be read again."""

    code = "data.files_changed"


class SourceUnavailableError(DataError):
    """What a table reads from does not answer."""

    code = "data.source_unavailable"
    retryable = True


class MissingTopicError(DataError):
    """A topic that a table names is not there."""

    code = "data.missing_topic"


class RecordsLostError(DataError):
    """Records that a table has not read yet are gone from where it reads them."""

    code = "data.records_lost"


class TopicRecreatedError(DataError):
    """A topic was deleted and made again: the records that follow the last one read are not those that are there."""

    code = "data.topic_recreated"


class UnwritableTargetError(DataError):
    """The place that a table writes to cannot be written."""

    code = "data.unwritable_target"


class DeliveryError(EngineError):
    """A sink cannot take an epoch without the risk of loss or doubling; it wrote nothing."""

    code = "delivery.error"


class TargetUnavailableError(DeliveryError):
    """What a sink writes to does not answer."""

    code = "delivery.unavailable"
    retryable = True


class SupersededError(DeliveryError):
    """A newer run of the same job owns the sink; this one has to end."""

    code = "delivery.superseded"


class LedgerLostError(DeliveryError):
    """The checkpoint has committed epochs of this sink, and the sink's ledger does not know them."""

    code = "delivery.ledger_lost"


class LedgerAheadError(DeliveryError):
    """The sink has taken epochs that the checkpoint does not know: the checkpoint is an old copy."""

    code = "delivery.ledger_ahead"


class LedgerForeignError(DeliveryError):
    """The sink's ledger was written by a checkpoint this one does not descend from."""

    code = "delivery.ledger_foreign"


class OffsetsDifferError(DeliveryError):
    """The sink has taken this epoch already, over another range of input."""

    code = "delivery.offsets_differ"


class OutputChangedError(DeliveryError):
    """What the sink has published was changed by somebody else."""

    code = "delivery.output_changed"


class RewindTooFarError(DeliveryError):
    """A restore goes back further than the sink remembers what it had written."""

    code = "delivery.rewind_too_far"


class RecordTooLargeError(DeliveryError):
    """A record is larger than what the target takes."""

    code = "delivery.record_too_large"


class TargetRefusedError(DeliveryError):
    """What a sink writes to does not let this job do it."""

    code = "delivery.refused"


class TransactionsUnsafeError(DeliveryError):
    """The broker does not fence off older producers, so nothing can be written exactly once."""

    code = "delivery.transactions_unsafe"
