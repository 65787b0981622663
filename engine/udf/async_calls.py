"""Call async functions concurrently in one event loop per process; results are in the order of the rows."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import cache
from typing import Any

from engine.errors import EngineError, UdfTimeoutError
from engine.udf.declared import Udf, Waiting
from engine.udf.loading import explain


def call_async(function: Udf, target: Any, rows: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Call the function for each row and return the results in the order of the rows. At most the allowed number of
    calls run at once; a call that takes too long gives NULL or stops the run."""
    assert function.waiting is not None
    return _loop().run_until_complete(_gather(function, target, list(rows), function.waiting))


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """Return the event loop, which outlives the batch, so that connections of the user's code stay open."""
    return asyncio.new_event_loop()


async def _gather(function: Udf, target: Any, rows: list[tuple[Any, ...]], waiting: Waiting) -> list[Any]:
    answers: list[Any] = [None] * len(rows)
    queue = iter(enumerate(rows))

    async def work() -> None:
        for index, row in queue:
            answers[index] = await _call_once(function, target, row, waiting)

    workers = [asyncio.ensure_future(work()) for _ in range(min(waiting.max_in_flight, len(rows)))]
    try:
        await asyncio.gather(*workers)
    except EngineError:
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        raise
    return answers


async def _call_once(function: Udf, target: Any, row: tuple[Any, ...], waiting: Waiting) -> Any:
    clock = asyncio.timeout(waiting.timeout.total_seconds())
    try:
        async with clock:
            return await target(*row)
    except (Exception, SystemExit) as error:
        if not clock.expired():
            raise explain(function, error) from error
        if waiting.gives_null:
            return None
        seconds = f"{waiting.timeout.total_seconds():g}"
        raise UdfTimeoutError(
            f"{function.name}, {function.file.name}:{function.line}: the call takes longer than {seconds} s",
            hint="set a longer timeout, or on_timeout='null'",
        ) from error
