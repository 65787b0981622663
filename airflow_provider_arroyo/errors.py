"""What can go wrong between a task and the control plane, each with a stable code.

Code that handles these looks at `code` and `retryable`, never at the text. What no retry can mend is also an
`AirflowFailException`, so that Airflow does not spend a task's retries on it.
"""

from __future__ import annotations

from datetime import timedelta

from airflow_provider_arroyo.airflow_versions import AirflowException, AirflowFailException

UNKNOWN_PIPELINE = "pipeline.not_found"
"""The control plane's own word: a 404 alone may come from whatever else listens at a wrong address."""
BUSY = "pipeline.busy"
"""What it says while something that is in the way ends by itself: a savepoint, a run that was given up, a stop."""


class ArroyoError(AirflowException):
    """Something went wrong; `message` says what, `hint` what to do next. `patience` is how long to ask again for."""

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
    """No answer came; whether the request was taken is not known. It may come back by itself."""

    patience = timedelta(minutes=10)

    def __init__(self, message: str, *, code: str = "http.unreachable", hint: str | None = None) -> None:
        super().__init__(message, code=code, hint=hint)


class UnavailableError(ArroyoError):
    """The control plane answered that it cannot answer now (429 or 5xx); nothing is wrong with the request."""

    patience = timedelta(minutes=10)

    def __init__(self, message: str, *, code: str = "http.unavailable", hint: str | None = None) -> None:
        super().__init__(message, code=code, hint=hint)


class CrashedError(ArroyoError):
    """The control plane failed at the request (500). It may have been about to end, or it does so each time."""

    patience = timedelta(minutes=1)

    def __init__(self, message: str, *, code: str = "http.crashed", hint: str | None = None) -> None:
        super().__init__(message, code=code, hint=hint)


class RefusedError(ArroyoError, AirflowFailException):
    """The control plane refuses the request and would refuse it again: bad SQL, a bad token, a conflict."""

    def __init__(self, message: str, *, code: str, status: int, hint: str | None = None) -> None:
        super().__init__(message, code=code, hint=hint)
        self.status = status


class LoginError(RefusedError):
    """The control plane does not accept the token of the connection, or its host name."""


class OtherServerError(RefusedError):
    """Something answers at the address of the connection, and it is no control plane."""


class BadAnswerError(ArroyoError):
    """The answer is not what this version of the provider understands."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="http.bad_answer", hint="Is there a control plane behind this address?")


class BadEventError(ArroyoError):
    """What came back from the trigger is missing or not an event of ours."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="event.invalid", hint="Clear the task: it picks up the pipeline where it is.")


class NoDataIntervalError(ArroyoError, AirflowFailException):
    """A gate was to wait for the end of a run's data interval, and the run has none."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, code="gate.no_data_interval", hint=hint)


class EmptyIntervalError(ArroyoError, AirflowFailException):
    """A range of history was to be read that holds no instant."""

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message, code="backfill.empty_range", hint=hint)


class RangeDoneError(ArroyoError, AirflowFailException):
    """The range was read to its end by another script, whose rows are there."""

    def __init__(self, message: str) -> None:
        super().__init__(
            message,
            code="backfill.range_done",
            hint="Read it once more beside that, under a prefix of its own: StreamBackfillOperator(revision='2').",
        )


class BadConnectionError(ArroyoError, AirflowFailException):
    """The Airflow connection cannot be used as it is; the hint names the field to change."""

    def __init__(self, message: str, *, code: str = "connection.invalid", hint: str | None = None) -> None:
        super().__init__(message, code=code, hint=hint)


class TemplateError(ArroyoError, AirflowFailException):
    """A templated field refers to what is not defined, or is no template."""

    def __init__(self, message: str, *, code: str, hint: str) -> None:
        super().__init__(message, code=code, hint=hint)


class SecretError(ArroyoError, AirflowFailException):
    """A secret of a pipeline cannot be found where the task says that it is."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, code="secret.missing", hint=hint)


class ScriptFunctionError(ArroyoError, AirflowFailException):
    """The function behind a task gave no script."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="task.no_script", hint="Return the script as a text that is not empty.")


class TrialError(ArroyoError, AirflowFailException):
    """A script could not be run over the rows of a test, or what came of it was asked for by a wrong name."""


class EmbeddedError(ArroyoError):
    """The embedded control plane did not come up."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, code="embedded.not_started", hint=hint)


class JobEndedError(ArroyoError):
    """The job is in a state from which what the task waits for cannot come; `code` is the job's own."""

    def __init__(self, message: str, *, code: str, hint: str | None = None) -> None:
        super().__init__(message, code=code, hint=hint)


class JobMistakeError(JobEndedError, AirflowFailException):
    """The job has failed at something that a person has to mend; until then it would fail again."""


class UpgradeRefusedError(ArroyoError, AirflowFailException):
    """The script cannot take over the state of the pipeline, or something would be lost; the hint is the plan."""


class MoveError(ArroyoError):
    """A pipeline cannot go to the other control plane as it is; `message` says why."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, code="pipeline.move", hint=hint)


class RehearsalError(ArroyoError):
    """A script could not be rehearsed, so nothing is known of its rows; another try may."""


class RehearsalRefusedError(RehearsalError, AirflowFailException):
    """A script could not be rehearsed, and another try would end the same way."""


class RowsDifferError(ArroyoError, AirflowFailException):
    """The script would write other rows than the one that runs; the hint names some of them."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, code="rehearsal.rows_differ", hint=hint)


class StoppedMeanwhileError(ArroyoError, AirflowFailException):
    """A person has stopped or deleted what this task has deployed; a retry does not undo that."""

    def __init__(self, message: str, *, code: str = "pipeline.stopped") -> None:
        super().__init__(
            message, code=code, hint="Start it yourself, or clear the task: it then deploys the pipeline again."
        )


class DeadlineError(ArroyoError):
    """What the task waited for did not come in time."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="wait.deadline")


class DetachedError(ArroyoError):
    """The task was told to end while it waited. What it waited for goes on; a retry picks it up again."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="wait.detached")


class ConsumerBehindError(ArroyoError, AirflowFailException):
    """Airflow has events of deliveries that the control plane has not made: it was restored from a backup."""

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message, code="partition.behind", hint=hint)


class NoPartitionsError(ArroyoError, AirflowFailException):
    """This version of Airflow has no partitions of assets."""

    def __init__(self, message: str) -> None:
        hint = "Use Airflow 3.3 or newer; or gate each run with a WatermarkSensor."
        super().__init__(message, code="partition.unsupported", hint=hint)


class NotHandedOnError(ArroyoError):
    """Airflow has not stored the event of a watcher; what it tells of was not acknowledged, and comes again."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="watcher.not_stored")
