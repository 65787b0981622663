"""Requests that look at one pipeline at once share a read, and none is given what was read before it asked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine.control.changes.waiting_requests import SharedReads
from engine.errors import PipelineNotFoundError


class Store:
    def __init__(self, error: Exception | None = None) -> None:
        self.asked: list[str] = []
        self.error = error

    def read(self, pipeline: str) -> Any:
        self.asked.append(pipeline)
        if self.error is not None:
            raise self.error
        return len(self.asked)


def test_three_hundred_requests_at_once_cost_one_read() -> None:
    async def story() -> list[Any]:
        return await asyncio.gather(*(reads.read("orders", store.read) for _ in range(300)))

    reads, store = SharedReads(), Store()

    assert set(asyncio.run(story())) == {1}
    assert store.asked == ["orders"]


def test_who_asks_while_a_read_is_under_way_is_given_the_next_one() -> None:
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


@pytest.mark.parametrize("names", [("orders", "clicks")])
def test_each_pipeline_is_read_by_itself(names: tuple[str, ...]) -> None:
    async def story() -> None:
        await asyncio.gather(*(reads.read(name, store.read) for name in names for _ in range(5)))

    reads, store = SharedReads(), Store()
    asyncio.run(story())

    assert sorted(store.asked) == sorted(names)
