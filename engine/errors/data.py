"""Errors of rows and of sinks: data that cannot be read, computed, written or delivered."""

from __future__ import annotations

from engine.errors.base import EngineError


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
