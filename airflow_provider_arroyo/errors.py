"""Errors between a task and the control plane, each with a stable code.

Code that handles them uses `code` and `retryable`, never the text. Errors that no retry can fix are also
`AirflowFailException`, so that Airflow does not retry the task.
"""

from __future__ import annotations

from datetime import timedelta

from airflow_provider_arroyo.airflow_versions import AirflowException, AirflowFailException

UNKNOWN_PIPELINE = "pipeline.not_found"
"""Error code of the control plane. A 404 alone may come from another server at a wrong address."""
DELETED_PIPELINE = "pipeline.deleted"
"""The pipeline was deleted while a task waited for it."""
BUSY = "pipeline.busy"
"""Error codes for a temporary conflict: a savepoint, a run that is being replaced, a stop."""


class ArroyoError(AirflowException):
    """Base class. `message` is the problem, `hint` the remedy, and `patience` how long to retry."""

    patience = timedelta(0)

    @property
    def retryable(self) -> bool:
        """Whether the same request may be answered later."""
        return self.patience > timedelta(0)

    def __init__(self, message: str, *, code: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" + (f"\n  hint: {self.hint}" if self.hint else "")


class UnreachableError(ArroyoError):
    """There is no response; whether the request was executed is unknown. Temporary."""

    patience = timedelta(minutes=10)

    def __init__(self, message: str, *, code: str = "http.unreachable", hint: str | None = None) -> None:
        super().__init__(message, code=code, hint=hint)


class UnavailableError(ArroyoError):
    """The control plane is temporarily unable to respond (429 or 5xx); the request is valid."""

    patience = timedelta(minutes=10)

    def __init__(self, message: str, *, code: str = "http.unavailable", hint: str | None = None) -> None:
        super().__init__(message, code=code, hint=hint)


class CrashedError(ArroyoError):
    """The control plane failed at the request (500). It may have been shutting down, or it fails each time."""

    patience = timedelta(minutes=1)

    def __init__(self, message: str, *, code: str = "http.crashed", hint: str | None = None) -> None:
        super().__init__(message, code=code, hint=hint)


class RefusedError(ArroyoError, AirflowFailException):
    """The control plane refuses the request and would refuse it again: bad SQL, a bad token, a conflict."""

    def __init__(self, message: str, *, code: str, status: int, hint: str | None = None) -> None:
        super().__init__(message, code=code, hint=hint)
        self.status = status


class LoginError(RefusedError):
    """The control plane refuses the token of the connection, or its host name."""


class OtherServerError(RefusedError):
    """The server at the address of the connection is not a control plane."""


class BadAnswerError(ArroyoError):
    """This version of the provider cannot parse the response."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="http.bad_answer", hint="Is there a control plane behind this address?")


class BadEventError(ArroyoError):
    """The event of the trigger is missing or invalid."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="event.invalid", hint="Clear the task: it picks up the pipeline where it is.")


class NoDataIntervalError(ArroyoError, AirflowFailException):
    """A gate needs the end of a run's data interval, and the run has none."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, code="gate.no_data_interval", hint=hint)


class EmptyIntervalError(ArroyoError, AirflowFailException):
    """The range of history to read is empty."""

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message, code="backfill.empty_range", hint=hint)


class RangeDoneError(ArroyoError, AirflowFailException):
    """Another script has already read the range to its end, and its rows exist."""

    def __init__(self, message: str) -> None:
        super().__init__(
            message,
            code="backfill.range_done",
            hint="Read it once more beside that, under a prefix of its own: StreamBackfillOperator(revision='2').",
        )


class BadConnectionError(ArroyoError, AirflowFailException):
    """The Airflow connection is invalid; the hint names the field to change."""

    def __init__(self, message: str, *, code: str = "connection.invalid", hint: str | None = None) -> None:
        super().__init__(message, code=code, hint=hint)


class TemplateError(ArroyoError, AirflowFailException):
    """A templated field is invalid, or refers to an undefined name."""

    def __init__(self, message: str, *, code: str, hint: str) -> None:
        super().__init__(message, code=code, hint=hint)


class SecretError(ArroyoError, AirflowFailException):
    """A secret of a pipeline cannot be found at its reference."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, code="secret.missing", hint=hint)


class ScriptFunctionError(ArroyoError, AirflowFailException):
    """The function of a task returned no script."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="task.no_script", hint="Return the script as a text that is not empty.")


class TrialError(ArroyoError, AirflowFailException):
    """A script could not be run over test rows, or a test asked for an unknown table of its result."""


class EmbeddedError(ArroyoError):
    """The embedded control plane did not start."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, code="embedded.not_started", hint=hint)


class JobEndedError(ArroyoError):
    """The job has reached a final state in which the condition cannot become true; `code` is the job's own."""

    def __init__(self, message: str, *, code: str, hint: str | None = None) -> None:
        super().__init__(message, code=code, hint=hint)


class JobMistakeError(JobEndedError, AirflowFailException):
    """The job has failed because of a mistake; it will fail again until that is fixed."""


class UpgradeRefusedError(ArroyoError, AirflowFailException):
    """The script cannot take over the state of the pipeline, or something would be lost; the hint is the plan."""


class MoveError(ArroyoError):
    """The pipeline cannot move to the other control plane as it is; `message` says why."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, code="pipeline.move", hint=hint)


class RehearsalError(ArroyoError):
    """A rehearsal failed without a result; a retry may succeed."""


class RehearsalRefusedError(RehearsalError, AirflowFailException):
    """A rehearsal failed, and a retry would fail the same way."""


class RowsDifferError(ArroyoError, AirflowFailException):
    """The script would write other rows than the running one; the hint has examples."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, code="rehearsal.rows_differ", hint=hint)


class StoppedMeanwhileError(ArroyoError, AirflowFailException):
    """A user has stopped or deleted the pipeline that this task deployed; a retry does not undo that."""

    def __init__(self, message: str, *, code: str = "pipeline.stopped") -> None:
        super().__init__(
            message, code=code, hint="Start it yourself, or clear the task: it then deploys the pipeline again."
        )


class DeadlineError(ArroyoError):
    """The condition did not become true in time."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="wait.deadline")


class DetachedError(ArroyoError):
    """The task was asked to end while it waited. The pipeline continues; a retry waits for it again."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="wait.detached")


class ConsumerBehindError(ArroyoError, AirflowFailException):
    """Airflow has events of deliveries that the control plane has not made: it was restored from a backup."""

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message, code="partition.behind", hint=hint)


class NoPartitionsError(ArroyoError, AirflowFailException):
    """This version of Airflow has no asset partitions."""

    def __init__(self, message: str) -> None:
        hint = "Use Airflow 3.3 or newer; or gate each run with a WatermarkSensor."
        super().__init__(message, code="partition.unsupported", hint=hint)


class NotHandedOnError(ArroyoError):
    """Airflow has not stored the event of a watcher; its delivery was not acknowledged, and will be repeated."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="watcher.not_stored")
