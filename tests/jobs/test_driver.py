"""A driver from hello to goodbye, whose work is what the test says and whose control plane does not answer."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any, Literal

import pytest

from engine.delivery.disk_errors import has_no_room
from engine.driver.control_plane_client import Home, StopMode
from engine.driver.main import main, outcome_of
from engine.driver.run_log import RunListener, RunLog
from engine.errors import (
    Cause,
    DiskFullError,
    DriverCrashedError,
    EngineError,
    JavaStartError,
    SourceUnavailableError,
    StateBusyError,
)
from engine.jobs.processes import processes
from engine.jobs.processes.assignment import Assignment
from engine.jobs.processes.runner import NO_ROOM
from tests.jobs.builders import assigned


class FailingWork:
    """Raises as soon as it is run."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def stop(self, mode: StopMode) -> None:
        """Never asked for."""

    def hold(self, lock: IO[str]) -> None:
        """Work under that lock alone."""

    def run(self, assignment: Assignment, listener: RunListener) -> Literal["finished", "stopped"]:
        """Fail."""
        raise self.error

    def rescale(self, state: Path, parallelism: int) -> None:
        """Never asked for."""

    def restore(
        self, savepoint: Path, state: Path, allow_replay: bool, save_as: str | None, is_fork: bool = False
    ) -> None:
        """Fail."""
        raise self.error


FAILURES = pytest.mark.parametrize(
    ("error", "code", "cause"),
    [
        (SourceUnavailableError("no broker", hint="look"), SourceUnavailableError.code, Cause.OUTAGE),
        (EngineError("a mistake"), EngineError.code, Cause.MISTAKE),
        (OSError(errno.ENOSPC, "No space left on device", "/state/generation"), DiskFullError.code, Cause.OUTAGE),
        (OSError(errno.EIO, "Input/output error"), DriverCrashedError.code, Cause.UNKNOWN),
        (ValueError("nobody has thought of this"), DriverCrashedError.code, Cause.UNKNOWN),
    ],
)


@FAILURES
def test_a_failure_is_reported_with_its_cause(error: Exception, code: str, cause: Cause, tmp_path: Path) -> None:
    assignment = assigned(tmp_path)
    home = Home(assignment, lambda _: None, lambda: None)

    goodbye = outcome_of(assignment, FailingWork(error), RunLog.of(assignment, home))

    assert goodbye.failure is not None
    assert (goodbye.failure.code, goodbye.failure.cause) == (code, cause)


def test_a_full_disk_at_the_start_is_one_line_of_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assignment = assigned(tmp_path)
    home = Home(assignment, lambda _: None, lambda: None)
    error = OSError(errno.ENOSPC, "No space left on device", "/state/generation")

    outcome_of(assignment, FailingWork(error), RunLog.of(assignment, home))

    (record,) = caplog.records
    assert (record.getMessage(), record.exc_info) == (
        "/state/generation cannot be written: No space left on device",
        None,
    )


@FAILURES
def test_work_between_runs_that_goes_wrong_says_its_cause(
    error: Exception, code: str, cause: Cause, tmp_path: Path
) -> None:
    result = tmp_path / "result.json"

    assert main(restore(tmp_path, result), FailingWork(error)) == 3

    report = json.loads(result.read_text())
    assert (report["code"], report["cause"]) == (code, cause)


def test_a_state_on_which_another_process_works_for_too_long_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.driver.main._LOCK_PATIENCE", 0.0)
    result, lock = tmp_path / "result.json", processes.try_lock(tmp_path / "lock")
    assert lock is not None

    assert main(restore(tmp_path, result), FailingWork(AssertionError())) == 3

    report = json.loads(result.read_text())
    assert (report["code"], report["cause"]) == (StateBusyError.code, Cause.UNKNOWN)
    lock.close()


def test_an_unexplained_failure_on_a_full_disk_is_attributed_to_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.driver.main.has_no_room", lambda state: state == tmp_path)
    causes = []
    for number, error in enumerate((JavaStartError("Java ended"), ValueError("?"), EngineError("a mistake"))):
        result = tmp_path / f"{number}.json"
        assert main(restore(tmp_path, result), FailingWork(error)) == 3
        causes.append(json.loads(result.read_text())["cause"])

    assert causes == ["outage", "outage", "mistake"]


@pytest.mark.parametrize(
    ("free", "files", "free_files", "is_full"),
    [(10, 100, 5, True), (1000, 100, 5, False), (1000, 100, 0, True), (1000, 0, 0, False)],
)
def test_a_disk_has_no_room_when_blocks_or_files_are_used_up(
    free: int, files: int, free_files: int, is_full: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = SimpleNamespace(f_bavail=free, f_frsize=4096, f_files=files, f_favail=free_files)
    monkeypatch.setattr(os, "statvfs", lambda place: usage if place == tmp_path else None)

    assert has_no_room(tmp_path / "not" / "there") == is_full


def test_work_that_has_no_room_to_say_why_it_fails_says_so_by_its_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, _: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_text", full)

    assert main(restore(tmp_path, tmp_path / "result.json"), FailingWork(ValueError())) == NO_ROOM


def test_a_driver_that_finds_its_state_held_says_so_in_its_goodbye(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[tuple[str, Any]] = []
    monkeypatch.setattr("engine.driver.main._LOCK_PATIENCE", 0.0)
    monkeypatch.setattr("engine.driver.control_plane_client._post", lambda _, path, __, body: said.append((path, body)))
    assignment = assigned(tmp_path)
    assignment.server_file.write_text('{"url": "http://127.0.0.1:9"}')
    assignment.write(tmp_path / "assignment.json")
    lock = processes.try_lock(assignment.lock)
    assert lock is not None

    assert main(["run", str(tmp_path / "assignment.json")], FailingWork(AssertionError())) == 3

    [(path, body)] = said
    assert (path.rpartition("/")[2], body["error"]["code"]) == ("goodbye", StateBusyError.code)
    lock.close()


def restore(folder: Path, result: Path) -> list[str]:
    """The arguments of a restore."""
    return ["restore", str(folder), str(folder), "--lock", str(folder / "lock"), "--result", str(result)]
