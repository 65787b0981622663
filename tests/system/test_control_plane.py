from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.cli.main import main
from engine.jobs.processes import processes
from tests.system.conftest import Served, until


@pytest.fixture(name="shared")
def ending_what_runs(shared: Served) -> Iterator[Served]:
    """The control plane of several tests. What a test has left running ends with it: six drivers that count take half a
    processor from those behind it."""
    yield shared
    listed: Any = shared.client.get("/pipelines")
    for pipeline in listed["data"]:
        if pipeline["state"] not in ("Stopped", "Failed", "Finished"):
            shared.patch(pipeline["name"], stop="immediate")


def test_a_killed_control_plane_does_not_hurt_its_jobs_and_adopts_them_when_it_is_back(plane: Served) -> None:
    pipeline = plane.start().deploy()
    plane.until_epoch(3)
    before = plane.holder()

    plane.end(signal.SIGKILL)
    reached = plane.count(pipeline)["epoch"]
    until(lambda: plane.count(pipeline)["epoch"], lambda epoch: epoch > reached + 5)
    plane.start()

    job = plane.until_epoch(reached + 5)
    assert (job["state"], job["run_id"], job["restarts"]) == ("Running", 1, 0)
    assert plane.holder() == before
    plane.patch(stop="checkpoint")
    plane.until(state="Stopped")


def test_an_ended_control_plane_leaves_its_drivers_and_comes_back_at_the_same_address(plane: Served) -> None:
    pipeline = plane.start().deploy()
    plane.until_epoch(1)
    url = plane.client.url

    assert plane.end(signal.SIGTERM) == 0
    assert processes.is_locked(plane.lock(pipeline["id"]))

    plane.start()
    assert plane.client.url == url
    assert plane.until(state="Running")["run_id"] == 1


def test_a_job_that_finishes_while_nobody_listens_has_finished(plane: Served) -> None:
    pipeline = plane.start().deploy(says="-- epochs: 10 -- holds: 5")
    plane.until(state="Running")
    plane.end(signal.SIGKILL)
    (Path(pipeline["state_dir"]) / "go").touch()
    until(lambda: plane.count(pipeline)["epoch"], lambda epoch: epoch == 10)

    plane.start()

    job = plane.until(state="Finished")
    assert (job["run_id"], job["epoch"]) == (1, 10)


def test_a_job_has_finished_though_its_driver_was_killed_before_anybody_heard_of_it(plane: Served) -> None:
    pipeline = plane.start().deploy(says="-- epochs: 10 -- holds: 5")
    plane.until(state="Running")
    driver = plane.holder()["pid"]
    plane.end(signal.SIGKILL)
    (Path(pipeline["state_dir"]) / "go").touch()
    until(lambda: list(plane.lock(pipeline["id"]).parent.glob("*.goodbye")), bool)
    os.kill(driver, signal.SIGKILL)

    plane.start()

    job = plane.until(state="Finished")
    assert (job["run_id"], job["epoch"], job["restarts"]) == (1, 10, 0)


def test_a_driver_that_cannot_call_home_for_its_lease_ends_itself(plane: Served) -> None:
    plane.settings = {"LEASE": "1s"}
    pipeline = plane.start().deploy()
    plane.until_epoch(1)
    plane.end(signal.SIGKILL)

    until(lambda: processes.is_locked(plane.lock(pipeline["id"])), lambda locked: not locked)
    reached = plane.count(pipeline)["epoch"]
    plane.start()

    plane.until(run_id=2, state="Running")
    assert plane.until_epoch(reached + 1)["run_id"] == 2


def test_a_killed_driver_is_replaced_and_goes_on_from_its_last_epoch(shared: Served) -> None:
    pipeline = shared.deploy("killed")
    shared.until_epoch(3, "killed")

    os.kill(shared.holder("killed")["pid"], signal.SIGKILL)

    reached = shared.until("killed", run_id=2, state="Running")["epoch"]
    assert shared.until_epoch(reached + 3, "killed")["run_id"] == 2
    assert shared.count(pipeline)["epoch"] > reached
    assert [error["code"] for error in _errors(shared, "killed")] == ["run.died"]


def test_a_driver_that_hangs_is_replaced(plane: Served) -> None:
    plane.settings = {"HEARTBEAT_LIMIT": "1s"}
    plane.start().deploy()
    plane.until_epoch(1)
    pid = plane.holder()["pid"]

    os.kill(pid, signal.SIGSTOP)

    plane.until(run_id=2, state="Running")
    assert processes.born(pid) is None
    assert [error["code"] for error in _errors(plane, "orders")] == ["run.silent"]


def test_a_rescale_that_hangs_is_ended_and_made_again(plane: Served) -> None:
    plane.settings = {"START_LIMIT": "5s"}
    plane.start().deploy()
    plane.until_epoch(1)

    plane.patch(parallelism=14)

    assert plane.until(tasks=14, state="Running")["run_id"] == 2
    assert [error["code"] for error in _errors(plane, "orders")] == ["run.maintenance_stuck"]


def test_a_driver_that_crashes_early_is_started_again(shared: Served) -> None:
    shared.deploy("crashes", says="-- crash: 2 -- epochs: 5")

    assert shared.until("crashes", state="Finished")["run_id"] == 2


def test_a_failure_that_another_try_cannot_mend_is_final(shared: Served) -> None:
    shared.deploy("fails", says="-- fail: state.broken")

    job = shared.until("fails", state="Failed")

    assert (job["run_id"], job["failure_code"], job["failure_message"]) == (1, "state.broken", "it was told to fail")


def test_a_failure_that_may_pass_is_tried_again(shared: Served) -> None:
    shared.deploy("flaky", says="-- fail: run.error")

    job = until(lambda: shared.job("flaky"), lambda job: job["run_id"] >= 3)

    assert job["failure_code"] == "run.error"
    shared.patch("flaky", stop="checkpoint")
    shared.until("flaky", state="Stopped")


def test_a_stopped_job_goes_on_from_where_it_stood(shared: Served) -> None:
    pipeline = shared.deploy("stopped")
    shared.until_epoch(2, "stopped")

    shared.patch("stopped", stop="checkpoint")
    stopped = shared.until("stopped", state="Stopped")
    assert not processes.is_locked(shared.lock(pipeline["id"]))
    assert shared.count(pipeline)["epoch"] == stopped["epoch"]
    shared.patch("stopped", stop="none")

    assert shared.until_epoch(stopped["epoch"] + 2, "stopped")["run_id"] == 2


def test_a_driver_that_does_not_listen_is_killed_in_the_end(plane: Served) -> None:
    plane.settings = {"STOP_GRACE": "500ms"}
    plane.start().deploy(says="-- deaf")
    plane.until_epoch(1)

    plane.patch(stop="checkpoint")

    plane.until(state="Stopped")


def test_a_rescaled_job_goes_on_wider(shared: Served) -> None:
    pipeline = shared.deploy("rescaled")
    shared.until_epoch(2, "rescaled")

    shared.patch("rescaled", parallelism=2)

    job = shared.until("rescaled", run_id=2, state="Running", tasks=2)
    shared.until_epoch(job["epoch"] + 2, "rescaled")
    assert shared.count(pipeline)["parallelism"] == 2


def test_a_rescale_that_fails_leaves_the_job_running_as_it_was(shared: Served) -> None:
    shared.deploy("unlucky")
    shared.until_epoch(1, "unlucky")

    shared.patch("unlucky", parallelism=13)

    shared.until("unlucky", run_id=2, state="Running", tasks=1)
    assert [error["code"] for error in _errors(shared, "unlucky")] == ["state.unlucky"]
    pipeline: Any = shared.client.get("/pipelines/unlucky")
    assert pipeline["parallelism"] == 1


def test_a_held_request_is_answered_when_the_watermark_has_passed(shared: Served) -> None:
    shared.deploy("held")

    answer: Any = shared.client.get(
        "/pipelines/held/watermark", {"past": "2026-01-01T00:20:00Z", "timeout_seconds": 30}, 30
    )

    assert answer["passed"] is True


def test_a_data_directory_has_one_control_plane(shared: Served) -> None:
    second = subprocess.run(
        shared.command(), env=shared.environment(), capture_output=True, text=True, timeout=600, check=False
    )

    assert second.returncode == 2
    assert "server.locked" in second.stderr
    assert shared.client.url in second.stderr


def test_an_address_that_others_can_reach_needs_a_token_of_ones_own(plane: Served) -> None:
    refused = subprocess.run(
        plane.command("--host", "0.0.0.0"),
        env=plane.environment(),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )

    assert refused.returncode == 2
    assert "server.insecure" in refused.stderr


def test_the_token_is_for_its_owners_eyes(shared: Served) -> None:
    for name in ("token", "server.json"):
        assert (shared.data_dir / name).stat().st_mode & 0o077 == 0


@pytest.fixture
def arroyo(shared: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """The command line, pointed at the shared control plane."""

    def run(*words: str) -> tuple[int, str, str]:
        code = main([*words, "--data-dir", str(shared.data_dir)])
        output = capsys.readouterr()
        return code, output.out, output.err

    return run


def test_the_command_line_follows_a_pipeline_through_its_life(shared: Served, arroyo: Any, tmp_path: Path) -> None:
    query = tmp_path / "clicks.sql"
    query.write_text(
        "CREATE TABLE impulse WITH (connector = 'impulse', event_rate = '10');"
        "CREATE TABLE out (counter BIGINT UNSIGNED) WITH (connector = 'blackhole', type = 'sink');"
        "INSERT INTO out SELECT counter FROM impulse;"
    )

    code, output, _ = arroyo("deploy", str(query))
    assert (code, output.split()[0]) == (0, "clicks")
    code, output, _ = arroyo("watermark", "clicks", "--past", "2026-01-01T00:05:00Z")
    assert (code, "passed" in output) == (0, True)
    shared.until("clicks", state="Running")  # the first epoch may be heard of before the start is noted
    code, output, _ = arroyo("show", "clicks")
    assert (code, "Running" in output) == (0, True)
    code, output, _ = arroyo("list", "--json")
    assert (code, '"name": "clicks"' in output) == (0, True)
    assert arroyo("rescale", "clicks", "2")[0] == 0
    shared.until("clicks", run_id=2, state="Running")
    assert arroyo("delete", "clicks")[0] == 2
    assert arroyo("stop", "clicks")[0] == 0
    shared.until("clicks", state="Stopped")
    assert arroyo("logs", "clicks")[0] == 0
    assert arroyo("delete", "clicks")[1] == "clicks is deleted\n"
    code, _, complaint = arroyo("show", "clicks")
    assert (code, "pipeline.not_found" in complaint) == (2, True)


def test_the_command_line_says_every_complaint_about_a_query(arroyo: Any, tmp_path: Path) -> None:
    query = tmp_path / "bad.sql"
    query.write_text("SELECT a FROM nowhere;\nSELECT b FROM elsewhere;")

    code, _, complaint = arroyo("deploy", str(query))

    assert code == 2
    assert "nowhere" in complaint
    assert "elsewhere" in complaint


def test_without_a_control_plane_the_command_line_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--url", "http://127.0.0.1:9", "--data-dir", str(tmp_path)]) == 3
    assert "server.unreachable" in capsys.readouterr().err


def _errors(served: Served, name: str) -> list[dict[str, Any]]:
    answer: Any = served.client.get(f"/pipelines/{name}/jobs/{served.job(name)['id']}/errors")
    errors: list[dict[str, Any]] = answer["data"]
    return errors
