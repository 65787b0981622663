"""Talks with the control plane, written once for both worlds.

A talk is a generator. It hands out requests and pauses, is given the answers, and returns what came of it.
It does no I/O and reads no clock of its own, so `run` and `arun` differ only in how they send and sleep.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeAlias, TypeVar

from airflow_provider_arroyo.calls import Call
from airflow_provider_arroyo.errors import ArroyoError

T = TypeVar("T")
Clock = Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait this long before going on."""

    length: timedelta


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """What a talk has returned."""

    value: T


Step: TypeAlias = "Call[Any] | Pause"
# A generator has one type for all that is sent into it; `ask` gives each answer its type back.
Talk: TypeAlias = Generator[Step, Any, T]


@dataclass(frozen=True, slots=True)
class Backoff:
    """How long to wait before asking again after the n-th failure in a row."""

    first: timedelta = timedelta(milliseconds=500)
    most: timedelta = timedelta(seconds=20)

    def pause(self, failures: int, chance: Callable[[], float] = random.random) -> Pause:
        """Half of the doubled time for certain, the other half by chance, so that waiters do not come back at once."""
        full = min(self.most, self.first * 2 ** min(failures - 1, 16))
        return Pause(full / 2 + full / 2 * chance())


def ask(call: Call[T]) -> Talk[T]:
    """Send one request; its failure is raised here."""
    answer: T = yield call
    return answer


def insist(call: Call[T], now: Clock, backoff: Backoff = Backoff()) -> Talk[T]:
    """Send a request that may safely arrive twice until an answer comes, or patience is at an end."""
    since = now()
    failures = 0
    while True:
        try:
            return (yield from ask(call))
        except ArroyoError as error:
            if now() - since >= error.patience:
                raise
        failures += 1
        yield backoff.pause(failures)


def resume(talk: Talk[T], outcome: object) -> Step | Done[T]:
    """Give the talk what came of its last step, and take the next one."""
    try:
        if isinstance(outcome, ArroyoError):
            return talk.throw(outcome)
        return talk.send(outcome)
    except StopIteration as end:
        return Done(end.value)


def run(talk: Talk[T], send: Callable[[Call[Any]], object], pause: Callable[[timedelta], object]) -> T:
    """Hold a talk, blocking."""
    step = resume(talk, None)
    while not isinstance(step, Done):
        try:
            outcome = pause(step.length) if isinstance(step, Pause) else send(step)
        except ArroyoError as error:
            outcome = error
        step = resume(talk, outcome)
    return step.value


async def arun(
    talk: Talk[T], send: Callable[[Call[Any]], Awaitable[object]], pause: Callable[[timedelta], Awaitable[object]]
) -> T:
    """Hold a talk in an event loop."""
    step = resume(talk, None)
    while not isinstance(step, Done):
        try:
            outcome = await (pause(step.length) if isinstance(step, Pause) else send(step))
        except ArroyoError as error:
            outcome = error
        step = resume(talk, outcome)
    return step.value
