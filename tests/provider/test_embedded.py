"""An embedded control plane: one per directory, adopted while it lives, started when it does not."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_provider_arroyo import embedded
from airflow_provider_arroyo.embedded import read_server, start_or_adopt
from airflow_provider_arroyo.errors import EmbeddedError

SERVER = """
import http.server, json, os, pathlib, sys, uuid
data_dir = pathlib.Path(sys.argv[1]); instance = uuid.uuid4().hex
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"pong": True, "version": "0", "instance": instance}).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(body))); self.end_headers()
        self.wfile.write(body)
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
(data_dir / "starts").open("a").write(f"{os.getpid()} {os.environ.get('AIRFLOW_CONN_SECRET')}\\n")
(data_dir / "token").write_text("a token")
note = data_dir / "note"
note.write_text(json.dumps({"url": f"http://127.0.0.1:{server.server_port}", "pid": os.getpid(), "instance": instance}))
note.rename(data_dir / "server.json")
server.serve_forever()
"""


def command(data_dir: Path) -> Sequence[str]:
    return (sys.executable, "-c", SERVER, str(data_dir))


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "data"
    yield folder
    for pid in _starts(folder):
        _kill(pid)


def test_a_missing_control_plane_is_started_and_a_living_one_adopted(data_dir: Path) -> None:
    first = start_or_adopt(data_dir, command=command)
    second = start_or_adopt(data_dir, command=command)

    assert first == second
    assert first.token == "a token"
    assert len(_starts(data_dir)) == 1


def test_a_start_is_logged_from_its_beginning(
    data_dir: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "_SAY_EVERY", 0.0)
    caplog.set_level("INFO", embedded.__name__)

    endpoint = start_or_adopt(data_dir, command=command)

    lines = [record.getMessage() for record in caplog.records]
    assert lines[0] == f"No control plane runs in {data_dir}: starting one, with its log in {data_dir / 'server.log'}"
    assert lines[1].startswith("Waiting for the control plane, for ")
    assert lines[-1].startswith(f"The control plane answers at {endpoint.url}, after ")
    caplog.clear()
    start_or_adopt(data_dir, command=command)
    assert caplog.records == []


def test_many_at_once_start_one(data_dir: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        endpoints = set(pool.map(lambda _: start_or_adopt(data_dir, command=command), range(6)))

    assert len(endpoints) == 1
    assert len(_starts(data_dir)) == 1


def test_a_killed_control_plane_is_started_again(data_dir: Path) -> None:
    first = start_or_adopt(data_dir, command=command)
    _kill(_starts(data_dir)[0])

    second = start_or_adopt(data_dir, command=command)

    assert second.url != first.url or len(_starts(data_dir)) == 2


def test_another_server_on_the_old_port_is_not_taken_for_ours(data_dir: Path) -> None:
    start_or_adopt(data_dir, command=command)
    note = data_dir / "server.json"
    server = read_server(data_dir)
    assert server is not None
    note.write_text(note.read_text().replace(server.instance, "somebody else"))

    start_or_adopt(data_dir, command=command)

    assert len(_starts(data_dir)) == 2


def test_connections_in_the_environment_stay_with_airflow(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SECRET", "postgres://me:password@host")

    start_or_adopt(data_dir, command=command)

    assert "password" not in (data_dir / "starts").read_text()


def test_failed_start_of_an_embedded_control_plane_is_reported_with_its_log(data_dir: Path) -> None:
    def broken(_: Path) -> Sequence[str]:
        return (sys.executable, "-c", "raise SystemExit('no room left')")

    with pytest.raises(EmbeddedError, match="no room left"):
        start_or_adopt(data_dir, command=broken)


def test_slow_embedded_control_plane_is_ended(data_dir: Path) -> None:
    def slow(_: Path) -> Sequence[str]:
        return (sys.executable, "-c", "import signal; signal.pause()")

    with pytest.raises(EmbeddedError, match="did not answer within"):
        start_or_adopt(data_dir, command=slow, within=timedelta(seconds=0.2))
    assert embedded._started[-1].wait(60) == -signal.SIGTERM


@pytest.mark.parametrize("content", ["", "{", "[]", '{"url": "http://x"}', '{"url": 1, "pid": "x", "instance": 2}'])
def test_a_broken_note_is_no_control_plane(tmp_path: Path, content: str) -> None:
    (tmp_path / "server.json").write_text(content)

    assert read_server(tmp_path) is None


def _starts(data_dir: Path) -> list[int]:
    noted = data_dir / "starts"
    return [int(line.split()[0]) for line in noted.read_text().splitlines()] if noted.exists() else []


def _kill(pid: int) -> None:
    for child in embedded._started:
        if child.pid == pid and child.poll() is None:
            os.kill(pid, signal.SIGKILL)
            child.wait(60)
