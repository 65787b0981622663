"""Waits of one process share one stream of changes, over ends of the stream and of the control plane."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_provider_arroyo import change_stream
from airflow_provider_arroyo.change_stream import Limits, SharedConnection, may_end
from airflow_provider_arroyo.conditions import UntilFresh, UntilState, UntilWatermark, Wait
from airflow_provider_arroyo.endpoint import Endpoint
from airflow_provider_arroyo.errors import RefusedError
from airflow_provider_arroyo.events import Broken, Event, Reached
from airflow_provider_arroyo.polling import watch
from airflow_provider_arroyo.protocols import arun
from airflow_provider_arroyo.responses import to_micros

FIVE = datetime(2026, 1, 31, 5, tzinfo=UTC)


class StreamingPlane:
    """A control plane on a port of its own that can be killed and started again; it counts who comes."""

    def __init__(self) -> None:
        self.port = 0
        self.passed: set[str] = set()
        self.streams: list[asyncio.StreamWriter] = []
        self.cursors: list[str | None] = []
        self.connections = 0
        self.looks: list[str] = []
        self.number = 0
        self.has_stream = True
        self.status = 200
        self._open: set[asyncio.StreamWriter] = set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, backlog=600)
        self.port = self._server.sockets[0].getsockname()[1]

    def kill(self) -> None:
        self._server.close()
        for writer in self._open:
            writer.transport.abort()
        self.streams.clear()

    def tell(self, pipeline: str, until: datetime | None = FIVE, state: str = "Running") -> None:
        """Say on every stream that a pipeline has changed."""
        self.number += 1
        sinks = {"counts": {"complete_until": until and to_micros(until), "output_until": None, "unknown": None}}
        job = {"state": state, "settled": True, "sinks": sinks}
        data = json.dumps({"pipeline": pipeline, "pipeline_id": f"id_{pipeline}", "deleted": False, "job": job})
        for writer in self.streams:
            writer.write(f"id: a-{self.number}\nevent: change\ndata: {data}\n\n".encode())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._open.add(writer)
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode():
                path = head.split(" ")[1].removeprefix("/api/v1/")
                if path == "changes/stream" and self.has_stream and self.status == 200:
                    self._stream(head, writer)
                elif path == "changes/stream":
                    self._say(writer, 404 if not self.has_stream else self.status, {"code": "none"})
                else:
                    self._watermark(path, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()

    def _stream(self, head: str, writer: asyncio.StreamWriter) -> None:
        sent = [line.partition(": ")[2] for line in head.splitlines() if line.lower().startswith("last-event-id")]
        self.cursors.append(sent[0] if sent else None)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        writer.write(f"id: a-{self.number}\nevent: ready\ndata: {{}}\n\n".encode())
        self.streams.append(writer)

    def _watermark(self, path: str, writer: asyncio.StreamWriter) -> None:
        pipeline = path.split("/")[1]
        self.looks.append(path)
        if self.status != 200:
            self._say(writer, self.status, {"code": "auth.denied", "detail": "no"})
            return
        answer = {"passed": pipeline in self.passed, "state": "Running", "epoch": 7, "watermark": to_micros(FIVE)}
        self._say(writer, 200, answer)

    def _say(self, writer: asyncio.StreamWriter, status: int, body: dict[str, Any]) -> None:
        text = json.dumps(body).encode()
        writer.write(f"HTTP/1.1 {status} X\r\ncontent-length: {len(text)}\r\n\r\n".encode() + text)


async def no_sleep(_: timedelta) -> None:
    await asyncio.sleep(0.01)


async def wait_for(plane: StreamingPlane, wait: Wait) -> Event:
    async def find() -> Endpoint:
        return Endpoint(f"http://127.0.0.1:{plane.port}", "t")

    poll = timedelta(seconds=5)
    async with SharedConnection(find, wait, Limits(poll), no_sleep) as connection:
        hold = timedelta(0) if await connection.has_stream() else timedelta(seconds=30)
        return await arun(watch(wait, now=lambda: FIVE, poll=poll, hold=hold), connection.send, connection.pause)


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.005)


def play(story: Callable[[StreamingPlane], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        plane = StreamingPlane()
        await plane.start()
        try:
            return await story(plane)
        finally:
            plane.kill()

    return asyncio.run(run())


def gate(pipeline: str) -> UntilWatermark:
    return UntilWatermark(pipeline, FIVE)


def test_five_hundred_waits_share_one_stream_and_each_ends_once_although_the_control_plane_is_killed() -> None:
    async def story(plane: StreamingPlane) -> None:
        names = [f"p{number % 20}" for number in range(500)]
        waiting = [asyncio.ensure_future(wait_for(plane, gate(name))) for name in names]
        await until(lambda: len(plane.looks) == 500)
        assert (len(plane.streams), plane.connections <= 5) == (1, True)

        plane.passed |= {f"p{number}" for number in range(10)}
        for number in range(10):
            plane.tell(f"p{number}")
        await until(lambda: sum(wait.done() for wait in waiting) == 250)
        assert len(plane.looks) == 750

        plane.kill()
        plane.passed |= {f"p{number}" for number in range(10, 20)}
        await plane.start()
        events = await asyncio.wait_for(asyncio.gather(*waiting), 60)

        assert {type(event) for event in events} == {Reached}
        assert plane.cursors[0] is None
        assert set(plane.cursors[1:]) <= {"a-10"}

    play(story)


def test_a_change_that_cannot_be_the_one_is_not_looked_at() -> None:
    async def story(plane: StreamingPlane) -> int:
        waiting = asyncio.ensure_future(wait_for(plane, gate("clicks")))
        await until(lambda: len(plane.looks) == 1 and bool(plane.streams))
        plane.tell("orders")
        plane.tell("clicks", FIVE - timedelta(minutes=1))
        plane.passed = {"clicks"}
        plane.tell("clicks")
        await asyncio.wait_for(waiting, 30)
        return len(plane.looks)

    assert play(story) == 2


def test_a_control_plane_without_a_stream_is_asked_as_before() -> None:
    async def story(plane: StreamingPlane) -> list[str]:
        plane.has_stream = False
        waiting = asyncio.ensure_future(wait_for(plane, gate("clicks")))
        await until(lambda: len(plane.looks) == 3)
        plane.passed = {"clicks"}
        await asyncio.wait_for(waiting, 30)
        return plane.looks

    assert all("timeout_seconds=30" in look for look in play(story))


def test_a_token_that_is_revoked_ends_all_waits() -> None:
    async def story(plane: StreamingPlane) -> Any:
        waiting = [asyncio.ensure_future(wait_for(plane, gate("clicks"))) for _ in range(3)]
        await until(lambda: len(plane.looks) == 3)
        plane.status = 401
        for writer in plane.streams:
            writer.close()
        return await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 30)

    assert all(isinstance(event, Broken | RefusedError) for event in play(story))


def test_no_stream_is_left_once_the_last_wait_ends() -> None:
    async def story(plane: StreamingPlane) -> Any:
        plane.passed = {"clicks"}
        await wait_for(plane, gate("clicks"))
        return change_stream._STREAMS.get(asyncio.get_running_loop())

    assert play(story) == {}


@pytest.mark.parametrize(
    ("wait", "job", "expected"),
    [
        (gate("c"), {}, True),
        (gate("c"), {"sinks": {}}, True),
        (gate("c"), {"until": FIVE - timedelta(seconds=1)}, False),
        (gate("c"), {"until": None}, False),
        (gate("c"), {"until": FIVE - timedelta(hours=1), "state": "Finished"}, True),
        (gate("c"), {"until": FIVE - timedelta(hours=1), "settled": False}, True),
        (UntilWatermark("c", FIVE, "another"), {"until": FIVE - timedelta(hours=1)}, True),
        (UntilFresh("c", timedelta(minutes=1)), {"until": FIVE - timedelta(hours=1)}, False),
        (UntilFresh("c", timedelta(hours=1)), {"until": FIVE - timedelta(minutes=9)}, True),
        (UntilState("c", "running"), {"until": None}, True),
    ],
)
def test_only_what_surely_is_not_enough_is_passed_over(wait: Wait, job: dict[str, Any], expected: bool) -> None:
    instant = job.pop("until", FIVE)
    until = None if instant is None else to_micros(instant)
    sinks = {"s": {"complete_until": until, "output_until": until, "unknown": None}}
    change = {"job": {"state": "Running", "settled": True, "sinks": sinks, **job}}

    assert may_end(wait, change, now=lambda: FIVE) is expected
    assert may_end(wait, {"job": None}) is True


@pytest.mark.parametrize("ticks", range(5))
def test_a_wait_that_is_ended_just_when_the_stream_answers_ends(ticks: int) -> None:
    async def story(plane: StreamingPlane) -> None:
        async def find() -> Endpoint:
            return Endpoint(f"http://127.0.0.1:{plane.port}", "t")

        async with SharedConnection(find, gate("clicks"), Limits(timedelta(seconds=5)), no_sleep) as connection:
            asking = asyncio.ensure_future(connection.has_stream())
            await until(lambda: len(plane.streams) == 1)
            stream = connection._stream
            assert stream is not None
            await until(stream.answered.is_set)
            await asking
            stream.answered.clear()
            asking = asyncio.ensure_future(connection.has_stream())
            await asyncio.sleep(0)
            stream.answered.set()
            for _ in range(ticks):
                await asyncio.sleep(0)
            was_over = asking.done()
            asking.cancel()
            await asyncio.wait([asking])
            assert asking.cancelled() != was_over

    play(story)
