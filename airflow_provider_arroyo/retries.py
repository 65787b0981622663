"""Retry policy: which failures of a task a retry can fix.

StreamingSqlOperator(..., retries=5, retry_policy=ArroyoRetryPolicy())

control plane unreachable, or busy                retried, with increasing delays
worker was asked to stop                          retried at once: the pipeline keeps running
job failed for a temporary reason                 retried as configured in the task
invalid script, token or argument                 fails at once, whatever `retries` is
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow_provider_arroyo.airflow_versions import AirflowNotFoundException, RetryDecision, RetryPolicy
from airflow_provider_arroyo.durations import to_duration
from airflow_provider_arroyo.errors import ArroyoError, BadAnswerError, DetachedError

if TYPE_CHECKING:
    from airflow.sdk import Context

MISTAKES = frozenset({AirflowNotFoundException, BadAnswerError, ValueError, TypeError})
"""Exceptions that need a fix, besides our own (which are `AirflowFailException`): a missing connection, another server
at the address, an invalid argument. Their subclasses, such as truncated JSON, may be temporary."""
FIRST_DELAY = timedelta(seconds=15)
MOST_DELAY = timedelta(minutes=10)


class ArroyoRetryPolicy(RetryPolicy):
    """Retry failures that a retry may fix, and fail at once on mistakes.

    Tasks wait for an absent control plane for ten minutes; this policy applies to failures after that.

    :param first_delay: delay after the first try while the control plane is unreachable; it doubles each time.
    :param most_delay: the longest delay.
    """

    def __init__(
        self, first_delay: timedelta | float = FIRST_DELAY, most_delay: timedelta | float = MOST_DELAY
    ) -> None:
        if RetryPolicy is object:
            raise RuntimeError("ArroyoRetryPolicy needs Airflow 3.3 or newer: remove `retry_policy` from the task")
        self.first_delay = to_duration(first_delay, "first_delay")
        self.most_delay = to_duration(most_delay, "most_delay")
        if not timedelta(0) < self.first_delay <= self.most_delay:
            raise ValueError(f"first_delay is above zero and at most most_delay, not {first_delay} and {most_delay}")

    def evaluate(
        self, exception: BaseException, try_number: int, max_tries: int, context: Context | None = None
    ) -> RetryDecision:
        """Decide about a retry; the task decides about errors that are not ours."""
        match exception:
            case DetachedError():
                return RetryDecision.retry(timedelta(0), "the pipeline runs on, and the next try picks it up")
            case ArroyoError() if exception.retryable:
                delay = min(self.most_delay, self.first_delay * 2 ** min(max(try_number - 1, 0), 16))
                return RetryDecision.retry(delay, f"{exception.code}: it may answer later")
            case _ if type(exception) in MISTAKES:
                return RetryDecision.fail(f"{type(exception).__name__}: another try would fail in the same way")
        return RetryDecision.default()

    def serialize(self) -> dict[str, Any]:
        """Return the policy as JSON."""
        return {
            "__type": type(self).__name__,
            "first_delay": self.first_delay.total_seconds(),
            "most_delay": self.most_delay.total_seconds(),
        }

    @classmethod
    def deserialize(cls, data: dict[str, Any]) -> ArroyoRetryPolicy:
        """Parse a policy."""
        return cls(timedelta(seconds=data["first_delay"]), timedelta(seconds=data["most_delay"]))
