"""What many pipelines, drivers and held requests cost: statements and readings, counted."""

from __future__ import annotations

import asyncio
import json
import re
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, cast

import pytest
from sqlalchemy import event

from engine.cli.base import Client, Json, RefusedError
from engine.cli.main import main
from engine.cli.pipelines import list_pipelines
from engine.control.changes import Changes, Reading
from engine.errors import EngineError, PipelineNotFoundError
from engine.jobs.actors import JobRecord
from engine.jobs.decisions.states import State
from engine.jobs.decisions.totals import EpochRows, rows_per_second
from engine.store.pipelines import pipelines
from engine.values.instants import to_micros
from tests.api.conftest import T0, Plane, report
from tests.jobs.builders import status, wanted


@contextmanager
def _statements(plane: Plane) -> Iterator[list[str]]:
    """What the database is asked meanwhile, the bounds of transactions aside."""
    asked: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        if not statement.startswith("BEGIN"):
            asked.append(statement)

    event.listen(plane.context.database.engine, "before_cursor_execute", note)
    yield asked
    event.remove(plane.context.database.engine, "before_cursor_execute", note)


def test_a_list_of_a_hundred_takes_as_many_statements_as_one_of_two(plane: Plane) -> None:
    for number in range(100):
        plane.http.put(f"/api/v1/pipelines/by-name/p{number}", json={"query": "SELECT 1", "stop": "checkpoint"})
        plane.now += timedelta(seconds=1)
    for number in range(20):
        plane.run(f"p{number}")
        _deploy_with_force(plane, f"p{number}")

    with _statements(plane) as for_two:
        plane.get("/pipelines?limit=2")
    with _statements(plane) as for_hundred:
        answer = plane.get("/pipelines?limit=100")

    assert len(answer["data"]) == 100
    assert len(for_hundred) == len(for_two) <= 6


def _deploy_with_force(plane: Plane, name: str) -> None:
    """Ask for another plan, and leave it at that: a list says which certificates it will void."""
    plane.http.put(f"/api/v1/pipelines/by-name/{name}", json={"query": f"SELECT {name}", "force": True})


def test_a_pipeline_a_watermark_and_a_silent_heartbeat_take_few_statements(plane: Plane) -> None:
    plane.run()

    with _statements(plane) as shown:
        plane.get("/pipelines/orders")
    with _statements(plane) as watermark:
        plane.get("/pipelines/orders/watermark")
    with _statements(plane) as looked:
        plane.controller.records.active()
    with _statements(plane) as reported:
        run = plane.runner.launched[-1]
        body = {"state": "running", "reports": [], "signs": 3}
        plane.http.post(
            f"/api/v1/runs/{run.job_id}/{run.generation}/heartbeat",
            json=body,
            headers={"Authorization": f"Bearer {run.key}"},
        )

    assert [len(shown), len(watermark), len(looked), len(reported)] == [2, 1, 1, 1]
    assert not any(statement.startswith(("INSERT", "UPDATE", "DELETE")) for statement in reported)


def test_a_list_carries_texts_and_pictures_only_if_asked(plane: Plane) -> None:
    plane.deploy(query="SELECT 42", udfs=["def f(): ..."])

    (short,) = plane.get("/pipelines")["data"]
    (whole,) = plane.get("/pipelines?with=query&with=graph")["data"]

    assert (short["query"], short["udfs"], short["graph"]) == (None, [], {})
    assert (whole["query"], whole["udfs"]) == ("SELECT 42", [{"definition": "def f(): ...", "language": "python"}])
    assert whole["graph"] == {"nodes": [], "edges": []}
    full = plane.get("/pipelines/orders")
    assert {name: whole[name] for name in full} == full


def test_a_list_says_lag_rate_restarts_and_what_a_run_uses(plane: Plane) -> None:
    plane.run()
    second = {**report(2, 40), "at": report(2, 40)["at"] + 10_000_000, "rows_in": 500}
    plane.call("heartbeat", {"state": "running", "reports": [report(1, 40), second]})
    plane.now = T0 + timedelta(minutes=40, seconds=15)
    for seconds in (10.0, 11.0):
        plane.call(
            "heartbeat", {"state": "running", "usage": {"driver": {"cpu_seconds": seconds, "memory_bytes": 2**20}}}
        )
        plane.now += timedelta(seconds=2)

    (row,) = plane.get("/pipelines")["data"]

    assert (row["lag_micros"], row["rows_per_second"], row["restarts"]) == (19_000_000, 50.0, 0)
    assert (row["cpu_cores"], row["memory_bytes"]) == (0.5, 2**20)


def test_a_list_says_which_java_a_pipeline_shares(plane: Plane) -> None:
    plane.run()
    usage = {"java": {"cpu_seconds": 1.0, "memory_bytes": 2**20}}
    assert plane.get("/pipelines")["data"][0]["shared_java"] is None

    plane.call("heartbeat", {"state": "running", "usage": usage, "shared_java": {"pid": 4711, "drivers": 20}})

    assert plane.get("/pipelines")["data"][0]["shared_java"] == {"pid": 4711, "drivers": 20}


def test_the_command_line_shows_which_java_a_pipeline_shares(
    plane: Plane, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def send(_: Client, method: str, path: str, *__: object, **___: object) -> Json:
        return cast("Json", plane.http.request(method, f"/api/v1{path}").json())

    plane.run()
    usage = {"java": {"cpu_seconds": 1.0, "memory_bytes": 2**20}}
    plane.call("heartbeat", {"state": "running", "usage": usage, "shared_java": {"pid": 4711, "drivers": 20}})
    monkeypatch.setattr(Client, "_send", send)

    assert main(["show", "orders", "--url", "http://x", "--token", "t"]) == 0

    assert re.search(r"shared java +4711, of 20", capsys.readouterr().out)


def test_a_job_says_which_java_its_run_shares_until_there_is_another_run(plane: Plane) -> None:
    plane.run()
    usage = {"java": {"cpu_seconds": 1.0, "memory_bytes": 2**20}}
    plane.call("heartbeat", {"state": "running", "usage": usage, "shared_java": {"pid": 4711, "drivers": 20}})

    shown = [plane.get(path)["data"][0]["shared_java"] for path in ("/pipelines/orders/jobs", "/jobs")]
    plane.end("failed", {"code": "run.shared_java_died", "message": "it has ended", "cause": "outage"})
    plane.now += timedelta(minutes=5)
    plane.settle()
    plane.come_up()

    assert shown == [{"pid": 4711, "drivers": 20}] * 2
    assert plane.get("/pipelines/orders/jobs")["data"][0]["shared_java"] is None


def test_a_pipeline_at_rest_has_no_rate_and_no_lag_at_its_end(plane: Plane) -> None:
    plane.run()
    plane.call("heartbeat", {"state": "running", "reports": [report(1, 40), report(2, 41)]})
    plane.end("finished")

    (row,) = plane.get("/pipelines")["data"]

    assert (row["rows_per_second"], row["lag_micros"], row["cpu_cores"], row["memory_bytes"]) == (None,) * 4


@pytest.mark.parametrize("outcome", ["stopped", "failed"])
def test_a_pipeline_that_stopped_or_failed_has_no_live_figures_and_says_since_when(plane: Plane, outcome: str) -> None:
    plane.run()
    plane.call("heartbeat", {"state": "running", "reports": [report(1, 40), report(2, 41)]})
    plane.now += timedelta(minutes=50)
    if outcome == "stopped":
        plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})
        plane.settle()
        plane.end()
    else:
        plane.end("failed", {"code": "sql.overflow", "message": "too large", "cause": "mistake"})
    plane.now += timedelta(hours=1)

    (row,) = plane.get("/pipelines")["data"]

    assert row["state"] == outcome.capitalize()
    assert (row["rows_per_second"], row["lag_micros"], row["cpu_cores"], row["memory_bytes"]) == (None,) * 4
    assert row["since"] == to_micros(T0 + timedelta(minutes=50))


def test_event_time_ahead_of_the_clock_is_a_negative_lag(plane: Plane) -> None:
    plane.run()
    plane.call("heartbeat", {"state": "running", "reports": [report(1, 40)]})
    plane.now = T0 + timedelta(minutes=30)

    (row,) = plane.get("/pipelines")["data"]

    assert row["lag_micros"] == -600_000_000


def test_the_rate_of_an_epoch_is_that_between_two_commits_whatever_it_took_to_compute(plane: Plane) -> None:
    plane.run()
    first = report(0, 40) | {"rows_in": 900, "duration": 300_000}
    second = first | {"epoch": 1, "rows_in": 500, "rows_per_second": 1500.0, "at": first["at"] + 2_000_000}
    plane.call("heartbeat", {"state": "running", "reports": [first, second]})
    plane.now = T0 + timedelta(minutes=40, seconds=2)
    job = plane.get("/pipelines/orders/jobs")["data"][0]["id"]

    path = f"/pipelines/orders/jobs/{job}/checkpoints"
    newest, oldest = plane.get(path)["data"]
    (row,) = plane.get("/pipelines")["data"]

    assert (newest["rows_per_second"], newest["since_previous_micros"]) == (250.0, 2_000_000)
    assert (oldest["rows_per_second"], oldest["since_previous_micros"]) == (None, None)
    assert plane.get(path + "?limit=1")["data"] == [newest]
    assert row["rows_per_second"] == newest["rows_per_second"]


@pytest.mark.parametrize(
    ("last", "before", "asked", "rate"),
    [(2, 0, 3, 50.0), (2, 0, 12, 10.0), (2, 2, 2, None)],
)
def test_the_rate_falls_while_nothing_is_committed(last: int, before: int, asked: int, rate: float | None) -> None:
    newest = [EpochRows(T0 + timedelta(seconds=last), 100), EpochRows(T0 + timedelta(seconds=before), 7)]

    assert rows_per_second(newest, T0 + timedelta(seconds=asked)) == rate
    assert rows_per_second(newest[:1], T0 + timedelta(seconds=asked)) is None


@pytest.fixture
def arroyo_list(plane: Plane, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """`arroyo list`, what it prints, and what it asks."""
    asked: list[str] = []

    def send(self: Client, method: str, path: str, *_: Any, **__: Any) -> Any:
        asked.append(path)
        return plane.http.request(method, f"/api/v1{path}").json()

    monkeypatch.setattr(Client, "_send", send)
    monkeypatch.setattr(list_pipelines, "_PAGE", 2)

    def call(*arguments: str) -> tuple[str, list[str]]:
        parser = ArgumentParser()
        list_pipelines.LIST.add_arguments(parser)
        assert list_pipelines.LIST.run(parser.parse_args([*arguments, "--url", "http://x", "--token", "t"])) == 0
        return capsys.readouterr().out, asked

    return call


def test_the_command_line_lists_all_pipelines_page_by_page(arroyo_list: Any, plane: Plane) -> None:
    for name in "abcde":
        plane.deploy(name)
        plane.now += timedelta(seconds=1)

    table, asked = arroyo_list()
    content = json.loads(arroyo_list("--json")[0])

    assert [line.split()[0] for line in table.splitlines()] == ["NAME", *"abcde"]
    assert [pipeline["name"] for pipeline in content["data"]] == list("abcde")
    assert [path.partition("&starting_after=")[0] for path in asked[:3]] == ["/pipelines?limit=2"] * 3


def test_a_pipeline_that_is_deleted_between_two_pages_hides_no_other(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abcde":
        plane.deploy(name)
        plane.now += timedelta(seconds=1)
    asked: list[str] = []

    def send(self: Client, method: str, path: str, *_: Any, **__: Any) -> Any:
        asked.append(path)
        answer = plane.http.request(method, f"/api/v1{path}")
        if answer.is_error:
            raise RefusedError(answer.status_code, answer.json())
        if len(asked) == 1:
            with plane.context.database.writing() as connection:
                pipelines.remove(connection, pipelines.get(connection, "b"))
        return answer.json()

    monkeypatch.setattr(Client, "_send", send)
    monkeypatch.setattr(list_pipelines, "_PAGE", 2)

    listed = [str(row["name"]) for row in list_pipelines.all_pipelines(Client("http://x", "t"))]

    assert listed == list("abcde")
    assert len(asked) == 4


def _reading(pipeline_id: str, epoch: int) -> Reading:
    desired = wanted(id=pipeline_id)
    return Reading(JobRecord(desired, status(State.RUNNING, generation=epoch), None), is_state_given_up=False)


class _Readings:
    """Pipelines that are read, and how often each was."""

    def __init__(self) -> None:
        self.epochs = {"orders": 0, "clicks": 0}
        self.reads: list[str] = []

    def read(self, asked: Sequence[str]) -> Mapping[str, Reading | Exception]:
        self.reads += asked
        known = {name: _reading(name, self.epochs[name]) for name in asked if name in self.epochs}
        return {name: known.get(name) or PipelineNotFoundError("gone") for name in asked}


async def _settle(changes: Changes) -> None:
    """Let every look that was asked for come to its end."""
    await asyncio.sleep(0)
    while changes._looks:
        await asyncio.gather(*changes._looks.values())


def _after(epoch: int) -> Any:
    return lambda reading: reading.record.status.generation >= epoch


def test_progress_of_one_job_touches_no_request_that_waits_for_another() -> None:
    async def play() -> None:
        readings, changes, looks = _Readings(), Changes(), []
        changes.attach(asyncio.get_running_loop(), readings.read)

        def never(reading: Reading) -> bool:
            looks.append(reading)
            return False

        orders = [changes.watch("orders", never) for _ in range(25)]
        changes.notify("clicks")
        await _settle(changes)

        assert (readings.reads, looks) == ([], [])
        assert not any(wait.answer.done() for wait in orders)

    asyncio.run(play())


def test_a_change_is_read_once_for_all_and_wakes_those_whose_gate_it_passes() -> None:
    async def play() -> None:
        readings, changes = _Readings(), Changes()
        changes.attach(asyncio.get_running_loop(), readings.read)
        waits = [changes.watch("orders", _after(epoch)) for epoch in range(1, 26)]

        readings.epochs["orders"] = 3
        changes.notify("orders")
        await _settle(changes)

        assert readings.reads == ["orders"]
        assert [wait.answer.done() for wait in waits] == [True] * 3 + [False] * 22

    asyncio.run(play())


def test_a_change_during_a_look_is_looked_at_too() -> None:
    async def play() -> None:
        readings, changes = _Readings(), Changes()

        def read(asked: Sequence[str]) -> Mapping[str, Reading | Exception]:
            found = readings.read(asked)
            if len(readings.reads) == 1:  # while this one is on its way, another epoch is committed
                readings.epochs["orders"] = 5
                changes.notify("orders")
            return found

        changes.attach(asyncio.get_running_loop(), read)
        wait = changes.watch("orders", _after(5))
        changes.notify("orders")
        await _settle(changes)

        assert wait.answer.done()
        assert readings.reads == ["orders", "orders"]

    asyncio.run(play())


def test_waiters_for_a_deleted_pipeline_get_an_error() -> None:
    async def play() -> None:
        readings, changes = _Readings(), Changes()
        changes.attach(asyncio.get_running_loop(), readings.read)
        wait = changes.watch("gone", _after(1))
        changes.notify("gone")
        await _settle(changes)

        with pytest.raises(EngineError, match="gone"):
            wait.answer.result()
        changes.forget("gone", wait)

    asyncio.run(play())


def test_all_waiters_end_with_the_control_plane() -> None:
    async def play() -> None:
        changes = Changes()
        changes.attach(asyncio.get_running_loop(), _Readings().read)
        early = changes.watch("orders", _after(1))
        changes.close()
        late = changes.watch("orders", _after(1))

        assert early.answer.cancelled()
        assert late.answer.cancelled()

    asyncio.run(play())
