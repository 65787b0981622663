"""Errors of the control plane: of requests, logins, pipelines, rehearsals, time buckets and its own store."""

from __future__ import annotations

from engine.errors.base import EngineError


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


class PipelineDeletedError(PipelineError):
    """The pipeline was deleted while something waited for it. Another one may have its name now."""

    code = "pipeline.deleted"


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
