"""Rehearsals as processes of their own: killed, and several at once; the pipeline and each other they leave alone."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.cli.base import RefusedError
from tests.dag_runs import play
from tests.system.conftest import Served, until

SCRIPT = """
CREATE TABLE clicks (ts TIMESTAMP NOT NULL, user TEXT, id BIGINT, WATERMARK FOR ts)
WITH (connector = 'single_file', path = '{folder}/clicks', format = 'json', type = 'source');
CREATE TABLE counts (start TIMESTAMP, user TEXT, n BIGINT)
WITH (connector = 'single_file', path = '{folder}/counts', format = 'json', type = 'sink');
INSERT INTO counts SELECT w.start, user, n FROM (
  SELECT tumble(INTERVAL '1 minute') AS w, user, count(*) AS n FROM clicks GROUP BY w, user
);
"""
ROWS = 3_000


def write_clicks(folder: Path) -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    with (folder / "clicks").open("w") as file:
        for number in range(ROWS):
            at = (start + timedelta(seconds=number)).isoformat().replace("+00:00", "Z")
            file.write(json.dumps({"ts": at, "user": f"u{number % 7}", "id": number}) + "\n")


def begin_run(folder: Path) -> None:
    """Run the pipeline for two epochs, and stop it in order: what it leaves does not change by itself."""
    command = [sys.executable, "-m", "engine", "run", str(folder / "old.sql"), "--state-dir", str(folder / "state")]
    command += ["--max-epoch-rows", "500", "--json-progress", "--set", "quick=true"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        next(line for line in run.stderr if line.startswith('{"epoch": 1,'))
        run.send_signal(signal.SIGINT)
        run.communicate()


def start(folder: Path, script: str, scratch: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "engine", "rehearse", str(folder / script), "--state-dir", str(folder / "state")]
    command += ["--scratch", str(scratch), "--format", "json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def digest(folder: Path) -> str:
    files = [path for path in sorted((folder / "state").rglob("*")) if path.is_file()]
    return "\n".join(hashlib.sha256(path.read_bytes()).hexdigest() for path in [*files, folder / "counts"])


@pytest.mark.timeout(600)
def test_killed_rehearsal_leaves_nothing_and_two_rehearsals_are_independent(tmp_path: Path) -> None:
    write_clicks(tmp_path)
    (tmp_path / "old.sql").write_text(SCRIPT.format(folder=tmp_path))
    even = "SELECT w.start, user, n FROM (", "SELECT w.start, user, n + CAST(user = 'u6' AS INT) AS n FROM ("
    (tmp_path / "new.sql").write_text(SCRIPT.format(folder=tmp_path).replace(*even))
    begin_run(tmp_path)
    before, scratch = digest(tmp_path), tmp_path / "scratch"

    with start(tmp_path, "new.sql", scratch) as killed:
        assert killed.stderr is not None
        next(line for line in killed.stderr if "running the old query" in line)
        killed.kill()
    assert digest(tmp_path) == before
    [left] = [path for path in scratch.iterdir() if path.is_dir()]

    same, other = start(tmp_path, "old.sql", scratch), start(tmp_path, "new.sql", scratch)
    answers = [(json.loads(process.communicate()[0]), process.returncode) for process in (same, other)]

    assert [(answer["differs"], code) for answer, code in answers] == [(False, 0), (True, 2)]
    assert answers[0][0]["rows_in"] == answers[1][0]["rows_in"]
    assert {json.loads(row["row"])["user"] for row in answers[1][0]["sinks"][0]["examples"]} == {"u6"}
    assert digest(tmp_path) == before
    assert not left.exists()
    assert list(scratch.iterdir()) == []


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    (tmp_path / "data").mkdir()
    control_plane = Served(tmp_path / "data", driver=None).start()
    try:
        yield control_plane
        with suppress(RefusedError):
            control_plane.patch(stop="force")
            control_plane.until(state="Stopped")
    finally:
        control_plane.end()


@pytest.mark.timeout(600)
def test_a_control_plane_plays_one_and_goes_on_with_it_when_it_was_killed(served: Served, tmp_path: Path) -> None:
    write_clicks(tmp_path)
    (tmp_path / "watched").mkdir()
    (tmp_path / "clicks").rename(tmp_path / "watched" / "clicks")
    source = f"connector = 'single_file', path = '{tmp_path}/clicks'"
    watched = f"connector = 'filesystem', path = '{tmp_path}/watched', 'source.watch' = true"
    old = SCRIPT.format(folder=tmp_path).replace(source, watched)
    served.client.send("PUT", "/pipelines/by-name/orders", {"query": old, "settings": {"quick": "true"}})
    job = served.until_epoch(1, within=300)
    new = old.replace("SELECT w.start, user, n FROM", "SELECT w.start, user, n + CAST(user = 'u6' AS INT) AS n FROM")

    asked: Any = served.client.send("POST", "/pipelines/orders/rehearsals", {"query": new, "examples": 3})

    def look() -> Any:
        return served.client.get(f"/pipelines/orders/rehearsals/{asked['id']}")

    until(look, lambda seen: str(seen["step"]).startswith("running"), 300)
    served.end(signal.SIGKILL)
    served.start()
    seen = until(look, lambda seen: seen["state"] not in ("waiting", "running"), 300)

    assert (seen["state"], seen["differs"]) == ("done", True)
    [counts] = seen["report"]["sinks"]
    assert {json.loads(row["row"])["user"] for row in counts["examples"]} == {"u6"}
    assert list((served.data_dir / "rehearsals").iterdir()) == []
    now = served.job()
    assert (now["run_id"], now["state"]) == (job["run_id"], "Running")


def test_the_example_rehearses_what_it_then_deploys(tmp_path: Path) -> None:
    run = play("rehearse_then_upgrade", tmp_path)

    assert set(run.states.values()) == {"success"}
    [totals] = run.returned["rehearse"]["sinks"]
    assert run.returned["rehearse"]["rows_in"] == {"orders": 60}
    assert (totals["only_old"], totals["only_new"]) == (6, 6)
    assert run.returned["upgrade"]["version"] == 2
