"""What the provider gives to authors of DAGs for their tests. The page's own example is run as it stands there."""

from __future__ import annotations

import os
import re
import socket
import struct
import sys
import threading
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest

from airflow_provider_arroyo.errors import TrialError
from airflow_provider_arroyo.hooks.arroyo import ArroyoHook
from airflow_provider_arroyo.sensors.watermark import WatermarkSensor
from airflow_provider_arroyo.testing import FakeControlPlane, TurnableClock, run_pipeline
from airflow_provider_arroyo.testing.rows import Tables, from_lines, to_lines

from .tasks import Run

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "test-your-pipelines.md"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SELECT = """
CREATE TABLE a (n BIGINT) WITH (connector = 'single_file', type = 'source', path = '/x', format = 'json');
SELECT n FROM a;
"""


def blocks() -> list[str]:
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_the_example_of_a_script_holds() -> None:
    names: dict[str, Any] = {}
    exec(compile(blocks()[0], str(PAGE), "exec"), names)

    names["test_an_order_belongs_to_the_hour_it_was_made_in"]()


@pytest.mark.parametrize(
    ("sql", "inputs", "code", "words"),
    [
        (SELECT, {}, "trial.refused", "table a is read, and the test has no rows for it"),
        (SELECT, {"a": [], "b": []}, "trial.refused", "rows for table b, which the script does not read"),
        ("SELECT m FROM a;", {"a": []}, "trial.refused", "sql.unknown_table"),
        (SELECT, {"../a": []}, "trial.bad_rows", "'../a' is no name of a table"),
        (SELECT, {"a": [{"n": datetime(2026, 1, 1)}]}, "trial.bad_rows", "row 1 of table 'a'"),  # noqa: DTZ001
        (SELECT, {"a": [{"n": float("nan")}]}, "trial.bad_rows", "row 1 of table 'a'"),
        (SELECT, {"a": [3]}, "trial.bad_rows", "row 1 of table 'a' is a int"),
    ],
)
def test_a_script_that_cannot_run_is_explained_in_the_users_words(
    sql: str, inputs: dict[str, Any], code: str, words: str
) -> None:
    with pytest.raises(TrialError, match=re.escape(words)) as refused:
        run_pipeline(sql, inputs)

    assert refused.value.code == code


def test_a_run_that_takes_too_long_leaves_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noted = tmp_path / "pid"
    program = tmp_path / "engine"
    program.write_text(f"#!/bin/sh\ntrap '' TERM\necho $$ > {noted}\nwhile :; do sleep 1; done\n")
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setattr("airflow_provider_arroyo.testing.rows.END_TIME", timedelta(milliseconds=100))

    with pytest.raises(TrialError, match="did not end within"):
        run_pipeline(SELECT, {"a": []}, within=timedelta(seconds=1))

    with pytest.raises(ProcessLookupError):
        os.kill(int(noted.read_text()), 0)


def test_without_the_engine_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)

    with pytest.raises(TrialError, match=r"\[engine\]"):
        run_pipeline(SELECT, {"a": []})


def test_invalid_row_count_starts_nothing() -> None:
    with pytest.raises(ValueError, match=r"^rows_per_epoch has to be 1 or more, and is 0$"):
        run_pipeline("SELECT 1", {}, rows_per_epoch=0)
    with pytest.raises(ValueError, match=r"^parallelism has to be 1 or more, and is -1$"):
        run_pipeline("SELECT 1", {}, parallelism=-1)


def test_rows_go_out_and_come_back_as_python_has_them() -> None:
    row = {"at": NOON, "day": date(2026, 1, 1), "sold": Decimal("3.10"), "raw": b"\x00", "part": {"x": 1.5}, "no": None}
    types = {"at": "TIMESTAMP", "day": "DATE", "sold": "DECIMAL(5, 2)", "raw": "BYTEA", "part": "STRUCT", "no": "DATE"}

    [back] = from_lines(to_lines("t", [row], NOON), types, are_changes=False)

    assert back.pop("__event_time") == NOON.isoformat()
    assert back == row


def test_an_exact_number_is_not_rounded_on_its_way() -> None:
    [back] = from_lines('{"a": 12345678901234567.01, "b": 0.5}\n', {"a": "DECIMAL(19, 2)"}, are_changes=False)

    assert back == {"a": Decimal("12345678901234567.01"), "b": 0.5}


def test_changes_are_folded_into_what_is_left() -> None:
    lines = (
        '{"before": null, "after": {"id": 1, "n": 1}, "op": "c"}',
        '{"before": null, "after": {"id": 2, "n": 1}, "op": "c"}',
        '{"before": {"id": 1, "n": 1}, "after": {"id": 1, "n": 2}, "op": "u"}',
        '{"before": {"id": 2, "n": 1}, "after": null, "op": "d"}',
    )

    assert from_lines("\n".join(lines), {}, are_changes=True) == [{"id": 1, "n": 2}]


def test_a_table_that_is_not_written_is_asked_for_in_vain() -> None:
    with pytest.raises(TrialError, match="It writes hours"):
        Tables({"hours": []})["huors"]


def test_a_clock_does_what_is_due_in_its_order_and_at_its_time() -> None:
    clock = TurnableClock(NOON)
    seen: list[tuple[str, datetime]] = []
    clock.after(timedelta(minutes=20), lambda: seen.append(("late", clock.now)))
    clock.after(timedelta(minutes=10), lambda: seen.append(("early", clock.now)))
    clock.after(timedelta(minutes=40), lambda: seen.append(("never", clock.now)))

    clock.turn(timedelta(minutes=30))

    assert seen == [("early", NOON + timedelta(minutes=10)), ("late", NOON + timedelta(minutes=20))]
    assert clock.now == NOON + timedelta(minutes=30)


def test_a_clock_wants_a_zone_and_is_not_turned_back() -> None:
    with pytest.raises(ValueError, match="zone"):
        TurnableClock(datetime(2026, 1, 1))  # noqa: DTZ001 - that is what is refused
    with pytest.raises(ValueError, match="turned back"):
        TurnableClock().turn(timedelta(seconds=-1))


def test_a_gate_that_is_held_turns_the_clock_until_its_hour_is_complete(airflow_run: Run) -> None:
    with FakeControlPlane(TurnableClock(NOON)) as plane, plane.as_connection():
        plane.add("orders", behind=timedelta(seconds=10))
        gate = WatermarkSensor(task_id="gate", pipeline="orders", past=NOON + timedelta(hours=5), deferrable=True)

        airflow_run.execute(gate)

    assert plane.clock.now == NOON + timedelta(hours=5, seconds=10)
    assert airflow_run.pauses == []  # nobody waits in a test


def test_a_pipeline_fails_when_the_clock_says_so(airflow_run: Run) -> None:
    with FakeControlPlane(TurnableClock(NOON)) as plane, plane.as_connection():
        pipeline = plane.add("orders", behind=timedelta(0), failure=("source.gone", "the topic is not there"))
        plane.clock.after(timedelta(seconds=40), lambda: pipeline.become("Failed"))
        gate = WatermarkSensor(task_id="gate", pipeline="orders", past=NOON + timedelta(hours=1), deferrable=True)

        with pytest.raises(Exception, match="the topic is not there"):
            airflow_run.execute(gate)


def test_the_connection_is_as_it_was_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SHOP", "before")
    with FakeControlPlane() as plane:
        with plane.as_connection("shop"):
            assert ArroyoHook("shop").test_connection()[0]
        assert httpx.get(f"{plane.url}/api/v1/ping", trust_env=False).is_success

    assert os.environ["AIRFLOW_CONN_SHOP"] == "before"


@pytest.mark.parametrize("body", ["", "Content-Length: 100\r\n"], ids=["in the answer", "in its request"])
def test_a_client_that_disconnects_is_not_logged(body: str, capfd: pytest.CaptureFixture[str]) -> None:
    with FakeControlPlane() as plane:
        plane.gate = threading.Event()
        client = socket.create_connection(("127.0.0.1", httpx.URL(plane.url).port))
        client.sendall(f"GET /api/v1/ping HTTP/1.1\r\n{body}\r\n".encode())
        assert body or plane.waiting.wait(30)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # what is written to it fails
        client.close()
        plane.gate.set()

        assert httpx.get(f"{plane.url}/api/v1/ping", trust_env=False).is_success  # it comes in behind the other one
        end_requests()
    assert capfd.readouterr().err == ""


def test_errors_of_the_fake_itself_are_reported(capfd: pytest.CaptureFixture[str]) -> None:
    with FakeControlPlane() as plane:
        plane.on_head = lambda _: 1 // 0
        with pytest.raises(httpx.RemoteProtocolError):
            httpx.get(f"{plane.url}/api/v1/ping", trust_env=False)
        end_requests()

    assert "ZeroDivisionError" in capfd.readouterr().err


def end_requests() -> None:
    """Wait until each request that has come in is answered, or given up."""
    for thread in threading.enumerate():
        if "process_request_thread" in thread.name:
            thread.join(30)
