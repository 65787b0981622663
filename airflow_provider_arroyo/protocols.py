"""Request and response protocols, written once for workers (blocking) and triggerers (event loop).

A protocol is a generator. It yields requests and pauses, receives the responses, and returns a result:

    pipeline = yield from ask(requests.get_pipeline("orders"))     # yields ApiCall(GET /pipelines/orders)
    while pipeline.state is not JobState.RUNNING:
        yield Pause(timedelta(seconds=5))
        pipeline = yield from ask(requests.get_pipeline("orders"))
    return pipeline

It does no I/O and reads no clock, so `run` and `arun` differ only in how they send and sleep.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, Literal, TypeAlias, TypeVar, assert_never

from airflow_provider_arroyo import requests, savepoints
from airflow_provider_arroyo.errors import ArroyoError
from airflow_provider_arroyo.requests import ApiCall

OnKill = Literal["detach", "stop", "savepoint_and_stop"]
"""`detach`: the pipeline keeps running. `stop`: it takes a last checkpoint and stops. `savepoint_and_stop`: also takes
a savepoint of that checkpoint."""

CHOICES: tuple[OnKill, ...] = ("detach", "stop", "savepoint_and_stop")


def carry_out(action: OnKill, pipeline: str, key: str) -> Conversation[None]:
    """Request the chosen action without waiting for it: a task that is killed has little time."""
    match action:
        case "detach":
            return
        case "stop":
            yield from ask(requests.stop_pipeline(pipeline, "checkpoint"))
        case "savepoint_and_stop":
            yield from ask(savepoints.stop_with_savepoint(pipeline, label="when the task was killed", key=key))
        case never:
            assert_never(never)


T = TypeVar("T")
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the default clock."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait for this time before continuing."""

    length: timedelta


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """Result of a finished protocol."""

    value: T


Step: TypeAlias = "ApiCall[Any] | Pause"
# A generator has one type for everything that is sent into it; `ask` gives each answer its own type back.
Conversation: TypeAlias = Generator[Step, Any, T]


@dataclass(frozen=True, slots=True)
class Backoff:
    """Delay before a retry, by the number of consecutive failures."""

    first: timedelta = timedelta(milliseconds=500)
    most: timedelta = timedelta(seconds=20)

    def pause(self, failures: int, chance: Callable[[], float] = random.random) -> Pause:
        """Return half of the doubled pause, plus a random part of the other half, so that waiters do not return at the
        same time."""
        full = min(self.most, self.first * 2 ** min(failures - 1, 16))
        return Pause(full / 2 + full / 2 * chance())


def ask(call: ApiCall[T]) -> Conversation[T]:
    """Send one request; its failure is raised here."""
    answer: T = yield call
    return answer


def ask_until_answered(call: ApiCall[T], now: Clock, backoff: Backoff = Backoff()) -> Conversation[T]:
    """Send an idempotent request until an answer comes or the error's patience is over."""
    started = now()
    failures = 0
    while True:
        try:
            return (yield from ask(call))
        except ArroyoError as error:
            if now() - started >= error.patience:
                raise
        failures += 1
        yield backoff.pause(failures)


def resume(conversation: Conversation[T], outcome: object) -> Step | Done[T]:
    """Send the outcome of the last step into the protocol, and return its next step."""
    try:
        if isinstance(outcome, ArroyoError):
            return conversation.throw(outcome)
        return conversation.send(outcome)
    except StopIteration as end:
        return Done(end.value)


def run(
    conversation: Conversation[T], send: Callable[[ApiCall[Any]], object], pause: Callable[[timedelta], object]
) -> T:
    """Run a protocol, blocking."""
    step = resume(conversation, None)
    while not isinstance(step, Done):
        try:
            outcome = pause(step.length) if isinstance(step, Pause) else send(step)
        except ArroyoError as error:
            outcome = error
        step = resume(conversation, outcome)
    return step.value


async def arun(
    conversation: Conversation[T],
    send: Callable[[ApiCall[Any]], Awaitable[object]],
    pause: Callable[[timedelta], Awaitable[object]],
) -> T:
    """Run a protocol in an event loop."""
    step = resume(conversation, None)
    while not isinstance(step, Done):
        try:
            outcome = await (pause(step.length) if isinstance(step, Pause) else send(step))
        except ArroyoError as error:
            outcome = error
        step = resume(conversation, outcome)
    return step.value
