"""Changes of all pipelines: nothing is missed between two readings, whatever ends in between."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from fastapi.testclient import TestClient

from engine import server
from engine.api.jobs import changes
from engine.control import changes as change_feed
from engine.control.changes import ChangeFeed, Changes, FeedItem, News
from engine.jobs.disk import DataDirectory
from engine.settings import ApiSettings
from tests.api.conftest import Plane, report


def read(plane: Plane, cursor: str | None = None, **more: Any) -> dict[str, Any]:
    asked = {"after": cursor} if cursor else {}
    answer = plane.http.get("/api/v1/changes", params={**asked, **more})
    assert answer.is_success, answer.text
    content: dict[str, Any] = answer.json()
    return content


def stream(plane: Plane, cursor: str | None = None, seconds: float = 0) -> list[dict[str, str]]:
    """The events of a stream that ends, each with its fields."""
    headers = {"Last-Event-ID": cursor} if cursor else {}
    answer = plane.http.get("/api/v1/changes/stream", params={"timeout_seconds": seconds}, headers=headers)
    assert answer.is_success, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    blocks = [
        block.splitlines() for block in answer.text.split("\n\n") if block and not block.startswith((":", "retry"))
    ]
    return [dict(line.split(": ", 1) for line in block) for block in blocks]


def names(page: dict[str, Any]) -> list[str]:
    return [change["pipeline"] for change in page["data"]]


def test_without_a_cursor_everything_that_is_there_comes_and_with_it_what_has_changed_since(plane: Plane) -> None:
    plane.run("orders")
    plane.run("clicks")

    everything = read(plane)
    assert (names(everything), everything["reset"]) == (["orders", "clicks"], False)
    assert read(plane, everything["cursor"])["data"] == []

    plane.runner.launched[-1:] = [plane.runner.launched[0]]
    plane.call("heartbeat", {"state": "running", "reports": [report(1, 30)]})
    news = read(plane, everything["cursor"])

    assert names(news) == ["orders"]
    assert news["data"][0]["job"] == plane.job("orders")
    assert news["data"][0]["job"]["epoch"] == 1
    assert read(plane, news["cursor"])["data"] == []


def test_a_pipeline_that_is_deleted_is_told_of_and_one_that_changes_often_is_told_of_once(plane: Plane) -> None:
    plane.run("orders")
    cursor = read(plane)["cursor"]
    for epoch in range(1, 6):
        plane.call("heartbeat", {"state": "running", "reports": [report(epoch, epoch)]})
    assert names(read(plane, cursor)) == ["orders"]

    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "immediate"})
    plane.settle()
    plane.end()
    assert plane.http.delete("/api/v1/pipelines/orders").is_success
    plane.settle()
    [gone] = read(plane, cursor)["data"]

    assert (gone["pipeline"], gone["deleted"], gone["job"]) == ("orders", True, None)


def test_a_savepoint_is_a_change_of_its_pipeline(plane: Plane) -> None:
    plane.run("orders")
    cursor = read(plane)["cursor"]

    plane.http.post("/api/v1/pipelines/orders/savepoints", json={})

    assert names(read(plane, cursor)) == ["orders"]


def test_whoever_has_slept_for_long_and_misses_deletions_begins_anew(plane: Plane) -> None:
    plane.run("orders")
    cursor = read(plane)["cursor"]
    with plane.context.database.writing() as connection:
        connection.exec_driver_sql("UPDATE change_log SET forgotten = (SELECT max(number) + 1 FROM changes)")
        connection.exec_driver_sql(
            "INSERT INTO changes (pipeline_id, name, deleted) VALUES ('a', 'a', 1), ('b', 'b', 1)"
        )

    answer = read(plane, cursor)

    assert (names(answer), answer["reset"]) == (["orders", "a", "b"], True)
    assert read(plane, answer["cursor"]) == {"data": [], "cursor": answer["cursor"], "reset": False}


def test_only_the_newest_thousand_deletions_are_kept(plane: Plane) -> None:
    plane.run("orders")
    with plane.context.database.writing() as connection:
        for number in range(1003):
            connection.exec_driver_sql(
                "INSERT INTO pipelines (id, name, job_id, version, parallelism, stop, restarts_asked, restart_now, "
                "created_at, revision) VALUES (?, ?, ?, 1, 1, 'none', 0, 0, 0, 0)",
                (f"p{number}", f"p{number}", f"j{number}"),
            )
            connection.exec_driver_sql("DELETE FROM pipelines WHERE id = ?", (f"p{number}",))

    kept = [change for change in read(plane)["data"] if change["deleted"]]

    assert (len(kept), kept[0]["pipeline"]) == (1000, "p3")


@pytest.mark.parametrize("cursor", ["0" * 16 + "-1", "f" * 16 + "-999999999"])
def test_a_cursor_of_another_control_plane_begins_anew(plane: Plane, cursor: str) -> None:
    plane.run("orders")

    assert [event["event"] for event in stream(plane, cursor)] == ["reset", "change", "ready"]
    assert read(plane, cursor)["reset"] is True


def test_invalid_cursor_is_refused(plane: Plane) -> None:
    refused = plane.http.get("/api/v1/changes/stream", params={"after": "soon"})

    assert (refused.status_code, refused.json()["code"]) == (422, "request.invalid")


def test_a_stream_goes_on_at_the_id_of_its_last_event(plane: Plane) -> None:
    plane.run("orders")
    plane.run("clicks")
    first, second, ready = stream(plane)

    assert json.loads(first["data"])["pipeline"] == "orders"
    assert ready["id"] == second["id"]
    assert [json.loads(event["data"])["pipeline"] for event in stream(plane, first["id"])[:-1]] == ["clicks"]
    assert [event["event"] for event in stream(plane, ready["id"])] == ["ready"]


def test_a_stream_tells_of_a_change_as_it_happens(plane: Plane) -> None:
    plane.run("orders")
    cursor = read(plane)["cursor"]
    events: list[dict[str, str]] = []
    reader = threading.Thread(target=lambda: events.extend(stream(plane, cursor, seconds=5)))

    reader.start()
    while plane.context.changes.feed._readers == 0:
        pass
    plane.call("heartbeat", {"state": "running", "reports": [report(3, 30)]})
    reader.join()

    assert events[0]["event"] == "ready"
    assert [json.loads(event["data"])["job"]["epoch"] for event in events[1:]] == [3]
    assert plane.context.changes.feed._readers == 0


def test_a_request_without_a_token_is_refused_and_one_whose_token_is_revoked_ends(plane: Plane) -> None:
    assert plane.http.get("/api/v1/changes/stream", headers={"Authorization": ""}).status_code == 401
    token = plane.http.post("/api/v1/tokens", json={"name": "page"}).json()
    headers = {"Authorization": f"Bearer {token['token']}"}
    texts: list[str] = []

    def follow() -> None:
        texts.append(plane.http.get("/api/v1/changes/stream", headers=headers, params={"timeout_seconds": 60}).text)

    plane.run("orders")
    reader = threading.Thread(target=follow)
    reader.start()
    while plane.context.changes.feed._readers == 0:
        pass
    assert plane.http.delete("/api/v1/tokens/page").is_success
    plane.call("heartbeat", {"state": "running", "reports": [report(3, 30)]})
    reader.join(30)

    assert not reader.is_alive()
    assert '"epoch":3' not in texts[0]


@pytest.mark.parametrize("way", ["the session is left", "its token is revoked"])
def test_a_stream_ends_at_once_when_who_reads_it_has_left_and_those_of_others_go_on(
    plane: Plane, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(changes, "_HEARTBEAT_SECONDS", 3600.0)
    token = plane.http.post("/api/v1/tokens", json={"name": "page"}).json()["token"]
    browsers = [TestClient(plane.http.app, headers={"X-Arroyo-Page": "1"}) for _ in range(2)]
    readers = [_follow(plane, browser, token) for browser in browsers]
    while plane.context.changes.feed._readers < 2:
        pass
    if way == "the session is left":
        assert browsers[0].delete("/api/v1/session").is_success
        readers[0].join(30)
        assert [reader.is_alive() for reader in readers] == [False, True]
    assert plane.http.delete("/api/v1/tokens/page").is_success
    for reader in readers:
        reader.join(30)

    assert [reader.is_alive() for reader in readers] == [False, False]


def test_waiter_for_a_change_survives_the_cancellation_of_another_waiter(plane: Plane) -> None:
    plane.run("orders")
    cursor = read(plane)["cursor"]
    pages: list[dict[str, Any]] = []
    reader = threading.Thread(target=lambda: pages.append(read(plane, cursor, timeout_seconds=30)))
    reader.start()
    while plane.context.changes.feed._readers == 0:
        pass
    plane.http.post("/api/v1/tokens", json={"name": "other"})
    assert plane.http.delete("/api/v1/tokens/other").is_success
    plane.call("heartbeat", {"state": "running", "reports": [report(3, 30)]})
    reader.join(30)

    assert names(pages[0]) == ["orders"]


def _follow(plane: Plane, browser: TestClient, token: str) -> threading.Thread:
    """Read a stream as a page that was let in by a token does."""
    browser.portal = plane.http.portal  # the same event loop
    assert browser.post("/api/v1/session", json={"token": token}).is_success
    ask = partial(browser.get, "/api/v1/changes/stream", params={"timeout_seconds": 3600})
    reader = threading.Thread(target=ask, daemon=True)
    reader.start()
    return reader


@dataclass
class Store:
    """Numbers that are written, and how often they are read."""

    items: list[FeedItem]
    looks: int = 0

    def read(self, number: int) -> News:
        self.looks += 1
        return News("log", 0, [item for item in self.items if item.number > number])

    def write(self, number: int, pipeline: str) -> None:
        self.items = [item for item in self.items if item.pipeline_id != pipeline] + [FeedItem(number, pipeline, "{}")]


def play(story: Callable[[ChangeFeed, Store], Any]) -> Any:
    async def run() -> Any:
        feed, store = ChangeFeed(), Store([FeedItem(1, "orders", "{}")])
        feed.attach(store.read)
        return await story(feed, store)

    return asyncio.run(run())


def numbers(items: Sequence[FeedItem]) -> list[int]:
    return [item.number for item in items]


def test_many_readers_cost_one_look_and_a_slow_one_catches_up() -> None:
    async def story(feed: ChangeFeed, store: Store) -> tuple[int, list[list[int]], list[int]]:
        with feed.reading():
            await feed.look()
            looks = store.looks
            readers = [asyncio.create_task(feed.wait(1, 30)) for _ in range(50)]
            await asyncio.sleep(0)
            store.write(2, "clicks")
            feed.ring()
            await asyncio.gather(*readers)
            fresh = numbers(feed.after(1))
            for number in range(3, 10):
                store.write(number, "clicks")
            await feed.look()
            return store.looks - looks, [fresh] * 1, numbers(feed.after(0))

    assert play(story) == (2, [[2]], [1, 9])


def test_readers_that_begin_at_once_share_a_read() -> None:
    async def story(feed: ChangeFeed, store: Store) -> tuple[int, list[int]]:
        with feed.reading():
            await asyncio.gather(*(feed.look() for _ in range(300)))
            return store.looks, numbers(feed.after(0))

    assert play(story) == (1, [1])


def test_a_reader_that_begins_during_a_read_gets_what_was_written_since() -> None:
    async def story(feed: ChangeFeed, store: Store) -> list[int]:
        begun, go_on = threading.Event(), threading.Event()

        def read(number: int) -> News:
            news = store.read(number)
            begun.set()
            assert go_on.wait(30)
            return news

        feed.attach(read)
        with feed.reading():
            first = asyncio.create_task(feed.look())
            await asyncio.to_thread(begun.wait, 30)
            store.write(2, "clicks")
            second = asyncio.create_task(feed.look())
            await asyncio.sleep(0)
            go_on.set()
            await asyncio.gather(first, second)
            return numbers(feed.after(0))

    assert play(story) == [1, 2]


def test_a_failed_read_is_raised_for_each_reader_and_the_next_one_succeeds() -> None:
    async def story(feed: ChangeFeed, store: Store) -> tuple[list[str], list[int]]:
        def fail(number: int) -> News:
            raise OSError(f"no disk at {number}")

        feed.attach(fail)
        with feed.reading():
            raised = await asyncio.gather(feed.look(), feed.look(), return_exceptions=True)
            feed.attach(store.read)
            await feed.look()
            return [str(error) for error in raised], numbers(feed.after(0))

    assert play(story) == (["no disk at 0"] * 2, [1])


def test_readers_that_come_after_the_last_one_has_left_during_a_read_get_everything() -> None:
    async def story(feed: ChangeFeed, store: Store) -> list[int]:
        begun, go_on = threading.Event(), threading.Event()

        def read(number: int) -> News:
            begun.set()
            assert go_on.wait(30)
            return store.read(number)

        with feed.reading():
            await feed.look()
            store.write(2, "clicks")
            feed.attach(read)
            look = asyncio.create_task(feed.look())
            await asyncio.to_thread(begun.wait, 30)
            look.cancel()
        go_on.set()
        with feed.reading():
            await feed.look()
            return numbers(feed.after(0))

    assert play(story) == [1, 2]


def test_after_a_look_changes_are_left_to_gather(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_feed, "_REST_SECONDS", 3600)

    async def story(feed: ChangeFeed, store: Store) -> tuple[bool, bool]:
        with feed.reading():
            await feed.look()
            seen = []
            for number in (2, 3):
                store.write(number, "clicks")
                feed.ring()
                seen.append(await feed.wait(number - 1, 30 if number == 2 else 0.1))
            return seen[0], seen[1]

    assert play(story) == (True, False)


def test_a_change_that_nobody_rings_for_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_feed, "_LOOK_SECONDS", 0.01)

    async def story(feed: ChangeFeed, store: Store) -> bool:
        with feed.reading():
            await feed.look()
            store.write(2, "clicks")
            return await feed.wait(1, 30)

    assert play(story) is True


def test_changes_are_neither_stored_nor_queried_without_readers() -> None:
    async def story(feed: ChangeFeed, store: Store) -> tuple[list[int], bool]:
        with feed.reading():
            await feed.look()
        return numbers(feed.after(0)), feed._tending is None

    assert play(story) == ([], True)


def test_a_control_plane_that_ends_lets_its_readers_go() -> None:
    async def story(feed: ChangeFeed, store: Store) -> bool:
        control_plane = Changes(feed=feed)
        with feed.reading():
            await feed.look()
            waiting = asyncio.create_task(feed.wait(1, 30))
            await asyncio.sleep(0)
            control_plane.close()
            return await waiting

    assert play(story) is False


def test_a_reader_that_takes_nothing_is_let_go(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_SEND_SECONDS", 0.01)

    async def pieces() -> Any:
        yield "a"
        yield "b"

    async def never(message: Any) -> None:
        if message["type"] == "http.response.body":
            await asyncio.sleep(3600)

    async def receive() -> Any:
        await asyncio.sleep(3600)

    asyncio.run(asyncio.wait_for(changes.EventStream(pieces())({"type": "http"}, receive, never), 30))


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux gives such connections up")
@pytest.mark.parametrize("count", [1, 40])
def test_a_reader_that_takes_nothing_leaves_no_connection(
    count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(changes, "_SEND_SECONDS", 0.1)
    monkeypatch.setattr(server, "_UNREAD_LIMIT", timedelta(seconds=0.5))

    async def pieces() -> Any:
        for _ in range(count):
            yield "a" * 8_000_000

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await changes.EventStream(pieces())(scope, receive, send)

    listener = server._listen(ApiSettings(port=0), DataDirectory(tmp_path))
    serving = uvicorn.Server(uvicorn.Config(app, interface="asgi3", lifespan="off", log_level="critical"))
    thread = threading.Thread(target=serving.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        with socket.create_connection(listener.getsockname()) as reader:
            reader.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
            assert soon(lambda: bool(serving.server_state.connections))
            assert soon(lambda: not serving.server_state.connections)
    finally:
        serving.should_exit = serving.force_exit = True
        thread.join()


def soon(is_so: Callable[[], bool]) -> bool:
    end = time.monotonic() + 60
    while not is_so() and time.monotonic() < end:
        time.sleep(0.01)
    return is_so()


def test_a_stream_ends_when_its_time_is_over(plane: Plane) -> None:
    plane.http.app.state.context = replace(plane.context, stream_max=timedelta(0))  # type: ignore[attr-defined]

    assert [event["event"] for event in stream(plane, seconds=600)] == ["ready"]
