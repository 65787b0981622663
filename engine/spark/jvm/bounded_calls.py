"""Calls into a JVM with a timeout. py4j itself would wait forever for a JVM that hangs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from queue import Empty, SimpleQueue
from typing import TypeVar

T = TypeVar("T")


def answer_within(patience: timedelta, call: Callable[[], T], too_late: Callable[[T], object] = lambda _: None) -> T:
    """Call and return the result; raise TimeoutError if the call takes too long. A thread then stays in the call until
    the JVM answers or ends, and passes a late result to `too_late`."""
    answers, guard = SimpleQueue[tuple[T | None, BaseException | None]](), threading.Lock()
    is_given_up = False

    def obey() -> None:
        answer, failure = None, None
        try:
            answer = call()
        except BaseException as error:  # noqa: BLE001 - it is raised where the answer is waited for
            failure = error
        with guard:
            if not is_given_up:
                answers.put((answer, failure))
                return
        if failure is None:
            too_late(answer)  # type: ignore[arg-type] # there is one

    threading.Thread(target=obey, name="call into Java", daemon=True).start()
    try:
        answer, failure = answers.get(timeout=patience.total_seconds())
    except Empty:
        with guard:
            is_given_up = answers.empty()
        if is_given_up:
            raise TimeoutError(f"Java does not answer for {patience.total_seconds():.0f} s") from None
        answer, failure = answers.get()
    if failure is not None:
        raise failure
    return answer  # type: ignore[return-value] # there is one
