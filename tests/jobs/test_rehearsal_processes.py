"""The processes that play rehearsals outlive who has started them, are found again, and end with all that is theirs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.jobs.decisions.rollback import RehearsalFolder, RehearsalOrder, RehearsedChange
from engine.jobs.disk import DataDirectory, make
from engine.jobs.processes import processes
from engine.jobs.processes.rehearsal_processes import LocalRehearsers, folder_of
from tests.system.conftest import until

PLAYER = """
import os, pathlib, subprocess, sys, time
folder = pathlib.Path(sys.argv[1]).parent
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
(folder / "step").write_text(f"{child.pid} {os.environ.get('ARROYO_SECRET_KAFKA')} {os.environ.get('ARROYO_TOKEN')}")
time.sleep(600)
"""


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Callable[[], tuple[LocalRehearsers, str, RehearsalFolder]]]:
    """Begin to play one: a process with another one, in a session of its own, that does nothing."""
    begun: list[tuple[LocalRehearsers, str]] = []

    def start() -> tuple[LocalRehearsers, str, RehearsalFolder]:
        player, name = LocalRehearsers(DataDirectory(tmp_path), command=(sys.executable, "-c", PLAYER)), make("reh")
        begun.append((player, name))
        order = RehearsalOrder(
            change=RehearsedChange("SELECT 1"), state_dir=tmp_path, savepoint=None, limit_seconds=600
        )
        player.start(name, order, "{{ secret.KAFKA }}", {"KAFKA": "hush"})
        folder = folder_of(player.directory, name)
        until(folder.read_step, bool)
        return player, name, folder

    yield start
    for player, name in begun:
        player.end_processes(name)


def born(folder: RehearsalFolder) -> str | None:
    """Whether what it has started lives."""
    return processes.born(int((folder.read_step() or "").split()[0]))


def test_a_rehearsal_ends_with_its_child_processes_and_files(
    begin: Callable[[], tuple[LocalRehearsers, str, RehearsalFolder]],
) -> None:
    player, name, folder = begin()
    assert (player.is_alive(name), list(player.left())) == (True, [name])
    assert born(folder) is not None
    child = int((folder.read_step() or "").split()[0])

    player.end_processes(name)
    until(lambda: processes.born(child), lambda birth: birth is None)
    assert not player.is_alive(name)
    player.remove(name)

    assert list(player.left()) == []


def test_the_next_control_plane_finds_it_and_ends_it(
    begin: Callable[[], tuple[LocalRehearsers, str, RehearsalFolder]],
) -> None:
    first, name, folder = begin()
    successor = LocalRehearsers(first.directory)
    assert successor.is_alive(name)
    # who has started it was killed before it could write that down
    folder.process.unlink()
    assert successor.is_alive(name)

    successor.end_processes(name)
    until(lambda: first.is_alive(name), lambda alive: not alive)  # which also buries it

    assert not successor.is_alive(name)


def test_a_number_that_was_given_to_another_process_is_not_it(tmp_path: Path) -> None:
    player, name = LocalRehearsers(DataDirectory(tmp_path)), make("reh")
    folder = folder_of(player.directory, name)
    folder.root.mkdir(parents=True)
    folder.process.write_text(f'{{"pid": {os.getpid()}, "born": "long ago"}}')

    assert not player.is_alive(name)


def test_a_rehearsal_has_the_secrets_of_its_pipeline_and_not_those_of_the_control_plane(
    begin: Callable[[], tuple[LocalRehearsers, str, RehearsalFolder]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARROYO_TOKEN", "of the control plane")
    _, _, folder = begin()

    assert (folder.read_step() or "").split()[1:] == ["hush", "None"]
    assert all("hush" not in file.read_text() for file in folder.root.iterdir() if file != folder.step)
