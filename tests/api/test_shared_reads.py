"""Requests that look at one pipeline at once share a read, and none is given what was read before it asked."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from sqlalchemy import event

from engine.api.jobs.watermark import read_all
from engine.control.changes import Changes, Reading, SharedReads
from engine.errors import PipelineNotFoundError
from tests.api.conftest import Plane


class Store:
    def __init__(self, error: Exception | None = None) -> None:
        self.asked: list[str] = []
        self.reads = 0
        self.error = error

    def read(self, pipelines: Sequence[str]) -> Any:
        self.asked += pipelines
        self.reads += 1
        if self.error is not None:
            raise self.error
        return dict.fromkeys(pipelines, self.reads)


def test_three_hundred_requests_at_once_cost_one_read() -> None:
    async def story() -> list[Any]:
        return await asyncio.gather(*(reads.read("orders", store.read) for _ in range(300)))

    reads, store = SharedReads(), Store()

    assert set(asyncio.run(story())) == {1}
    assert store.asked == ["orders"]


def test_request_during_a_shared_read_gets_the_next_one() -> None:
    async def story() -> list[Any]:
        first = asyncio.create_task(reads.read("orders", store.read))
        while not store.asked:
            await asyncio.sleep(0)
        others = [reads.read("orders", store.read) for _ in range(9)]
        return await asyncio.gather(first, *others)

    reads, store = SharedReads(), Store()

    assert asyncio.run(story()) == [1] + [2] * 9
    assert store.asked == ["orders"] * 2


def test_each_request_raises_what_the_read_raises_and_one_that_leaves_harms_no_other() -> None:
    async def story() -> list[object]:
        asked = [asyncio.create_task(reads.read("orders", store.read)) for _ in range(3)]
        await asyncio.sleep(0)
        asked[0].cancel()
        return await asyncio.gather(*asked, return_exceptions=True)

    reads, store = SharedReads(), Store(PipelineNotFoundError("there is no pipeline 'orders'"))

    left, *others = asyncio.run(story())

    assert isinstance(left, asyncio.CancelledError)
    assert [type(error) for error in others] == [PipelineNotFoundError] * 2


def test_requests_for_three_hundred_pipelines_at_once_cost_one_read() -> None:
    names = [f"p{number}" for number in range(300)]

    async def story() -> list[Any]:
        return await asyncio.gather(*(reads.read(name, store.read) for name in names))

    reads, store = SharedReads(), Store()

    assert set(asyncio.run(story())) == {1}
    assert (store.reads, store.asked) == (1, names)


def test_wake_up_of_requests_for_three_hundred_pipelines_costs_two_reads_at_most() -> None:
    names = [f"p{number}" for number in range(300)]

    async def story() -> list[Any]:
        changes = Changes()
        changes.attach(asyncio.get_running_loop(), store.read)
        held = [changes.watch(name, lambda _: True) for name in names]
        for name in names:
            changes.notify(name)
        return await asyncio.gather(*(wait.answer for wait in held))

    store = Store()

    assert len(asyncio.run(story())) == 300
    assert store.reads <= 2


def test_many_pipelines_are_read_with_as_many_statements_as_one(plane: Plane) -> None:
    names = [f"p{number}" for number in range(20)]
    for name in names:
        plane.http.put(f"/api/v1/pipelines/by-name/{name}", json={"query": "SELECT 1"})
    statements: list[str] = []
    database = plane.context.database
    event.listen(database.engine, "before_cursor_execute", lambda *told: statements.append(told[2]))

    [one] = read_all(database, names[:1]).values()
    of_one = len(statements)
    many = read_all(database, [*names, "gone"])

    assert len(statements) == 2 * of_one
    assert isinstance(one, Reading)
    assert many["p0"] == one
    assert isinstance(many["gone"], PipelineNotFoundError)
    assert read_all(database, [one.record.pipeline.id]) == {one.record.pipeline.id: one}
