"""What `arroyo run --warm` leaves for the next run, as processes that only print what they are told to."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

import pytest

from engine.cli.scripts.warm import fits_spare, hand_over, leave_spare, read_order, write_order
from engine.driver.handover import SOCKET, TOKEN, Line, call, digest_of_surroundings, end_spare, find_spare, is_private
from engine.errors import DriverCrashedError
from engine.jobs.processes import processes
from engine.spark.run.run_spec import PLAIN_SETTINGS, RunSpec, StateUpgrade
from engine.udf.declared import UdfFile
from engine.values.cluster import ClusterSettings
from engine.values.run_settings import RunSettings
from engine.values.start_positions import LATEST, Backfill

SPARE = """
import pathlib, signal, sys, time
from engine.cli.scripts import run_spare

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has its background jobs ignore it

def run(order):
    print("to standard error", file=sys.stderr)
    print(order, flush=True)  # last: whoever reads it interrupts at once
    if order == "waits":
        time.sleep(60)
    if order == "fails":
        raise ValueError(order)
    return 7

work = run_spare.WarmProcess(lambda home: None, lambda: None, lambda: {is_warm}, run)
sys.exit(run_spare.RunSpare(pathlib.Path(sys.argv[1]), work, {lifetime}, memory=lambda: {memory}).serve())
"""
CALLER = """
import os, pathlib, sys
from engine.cli.scripts.warm import hand_over
from engine.driver.handover import call
from engine.driver.handover import digest_of_surroundings
line = call(pathlib.Path(sys.argv[1]), digest_of_surroundings(os.environ))
assert line is not None
sys.exit(hand_over(line, sys.argv[2]))
"""


@dataclass
class Left:
    """The directory of spares, and those that were started."""

    directory: Path
    spares: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def spare(self, lifetime: float = 600.0, memory: int = 2**40, *, is_warm: bool = True) -> subprocess.Popen[bytes]:
        """A spare, once it can be called or has ended."""
        self.directory.mkdir(mode=0o700, exist_ok=True)
        before = self._socket()
        text = SPARE.format(lifetime=lifetime, memory=memory, is_warm=is_warm)
        spare = subprocess.Popen([sys.executable, "-c", text, str(self.directory)], start_new_session=True)
        self.spares.append(spare)
        until(lambda: self._socket() not in (None, before) or spare.poll() is not None, bool)
        return spare

    def _socket(self) -> int | None:
        try:
            return (self.directory / SOCKET).stat().st_ctime_ns
        except FileNotFoundError:
            return None

    def call(self) -> Line | None:
        return call(self.directory, digest_of_surroundings(os.environ))

    def caller(self, order: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", CALLER, str(self.directory), order]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def left(tmp_path: Path) -> Iterator[Left]:
    made = Left(tmp_path / "spare")
    yield made
    for spare in made.spares:
        processes.kill_group(spare.pid)
        spare.wait()


def until(look: Callable[[], object], holds: Callable[[object], bool]) -> None:
    end, pause = time.monotonic() + 120, threading.Event()
    while not holds(seen := look()):
        assert time.monotonic() < end, seen
        pause.wait(0.01)


def test_a_run_is_done_by_the_spare_and_prints_where_the_caller_does(left: Left) -> None:
    spare = left.spare()

    caller = left.caller("say")

    assert caller.communicate(timeout=120) == ("say\n", "to standard error\n")
    assert caller.returncode == 7
    spare.wait(120)
    assert {path.name for path in left.directory.iterdir()} == {"lock"}


def test_a_spare_does_one_run_and_never_two_at_once(left: Left) -> None:
    left.spare()

    caller = left.caller("waits")
    assert caller.stdout is not None
    assert caller.stdout.readline() == "waits\n"

    assert left.call() is None
    caller.kill()
    caller.communicate()


def test_a_second_spare_ends_at_once(left: Left) -> None:
    left.spare()

    assert left.spare().wait(120) == 1


def test_a_spare_whose_caller_is_killed_ends(left: Left) -> None:
    spare = left.spare()
    caller = left.caller("waits")
    assert caller.stdout is not None
    assert caller.stdout.readline() == "waits\n"

    caller.kill()
    caller.communicate()

    assert spare.wait(120) == -signal.SIGKILL


def test_a_caller_whose_spare_is_killed_says_so(left: Left) -> None:
    spare = left.spare()
    line = left.call()
    assert line is not None
    os.kill(spare.pid, signal.SIGKILL)

    with pytest.raises(DriverCrashedError, match="has ended without a word"):
        hand_over(line, "waits")


def test_killed_spare_is_not_used(left: Left) -> None:
    spare = left.spare()
    os.kill(spare.pid, signal.SIGKILL)
    spare.wait()

    assert left.call() is None
    left.spare()
    assert left.caller("say").communicate(timeout=120)[0] == "say\n"


def test_an_interrupt_of_the_caller_is_one_of_the_run(left: Left) -> None:
    left.spare()
    caller = left.caller("waits")
    assert caller.stdout is not None
    assert caller.stdout.readline() == "waits\n"

    caller.send_signal(signal.SIGINT)

    _, complaint = caller.communicate(timeout=120)
    assert (caller.returncode, complaint) == (130, "to standard error\ninterrupted\n")


def test_an_error_of_its_own_is_shown_as_in_a_process_of_its_own(left: Left) -> None:
    left.spare()

    caller = left.caller("fails")

    _, complaint = caller.communicate(timeout=120)
    assert caller.returncode == 1
    assert complaint.endswith("ValueError: fails\n")


@pytest.mark.parametrize("variable", ["ARROYO_SECRET_SHOP", "JAVA_TOOL_OPTIONS", "SOMETHING"])
def test_a_spare_of_another_environment_is_not_used_and_ends(
    left: Left, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spare = left.spare()
    monkeypatch.setenv(variable, "other")

    assert left.call() is None

    assert spare.wait(120) == -signal.SIGKILL
    assert {path.name for path in left.directory.iterdir()} == {"lock"}


def test_a_spare_of_another_directory_is_not_used(left: Left, monkeypatch: pytest.MonkeyPatch) -> None:
    left.spare()
    monkeypatch.chdir(left.directory)

    assert left.call() is None


def test_variables_that_change_with_every_command_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    before = digest_of_surroundings(os.environ)
    monkeypatch.setenv("COLUMNS", "77")
    monkeypatch.setenv("_", "/bin/arroyo")
    assert digest_of_surroundings(os.environ) == before


def test_another_mask_of_files_is_another_surrounding() -> None:
    before, mask = digest_of_surroundings(os.environ), os.umask(0o027)
    try:
        assert digest_of_surroundings(os.environ) != before
    finally:
        os.umask(mask)


def test_spare_in_a_directory_open_to_others_is_not_used(left: Left) -> None:
    left.spare()
    left.directory.chmod(0o755)

    assert left.call() is None
    left.directory.chmod(0o700)
    assert (left.directory / TOKEN).stat().st_mode & 0o777 == 0o600


def test_a_directory_of_another_user_or_a_link_is_not_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ours").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "ours")
    assert is_private(tmp_path / "ours")
    assert not is_private(tmp_path / "link")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert not is_private(tmp_path / "ours")


def test_caller_without_the_token_is_refused(left: Left) -> None:
    left.spare()
    (left.directory / TOKEN).write_text("a guess")

    assert left.call() is None


@pytest.mark.parametrize("of", [{"lifetime": 0.0}, {"memory": 2**20}, {"is_warm": False}])
def test_a_spare_ends_after_its_time_where_memory_is_short_or_java_is_gone(left: Left, of: dict[str, float]) -> None:
    spare = left.spare(**of)

    assert spare.wait(120) == -signal.SIGKILL
    assert {path.name for path in left.directory.iterdir()} == {"lock"}


def test_a_spare_whose_token_is_deleted_ends(left: Left) -> None:
    spare = left.spare()

    (left.directory / TOKEN).unlink()

    assert spare.wait(120) == -signal.SIGKILL


def test_a_caller_that_thinks_better_of_it_leaves_the_spare_to_the_next(left: Left) -> None:
    left.spare()
    line = left.call()
    assert line is not None
    line.connection.close()

    caller = left.caller("say")

    assert caller.communicate(timeout=120)[0] == "say\n"


def test_none_is_left_where_memory_is_short(left: Left, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.cli.scripts.warm.free_memory", lambda: 2**30)

    leave_spare(left.directory, {}, ["touch", str(tmp_path / "started")])

    assert list(left.directory.iterdir()) == []


def test_an_order_says_all_that_a_run_is() -> None:
    spec = RunSpec(
        "n",
        "SELECT 'é'",
        Path("state"),
        force=True,
        epoch_interval=timedelta(milliseconds=1500),
        udfs=(UdfFile("f.py", "x = 1"),),
        connections="CREATE CONNECTION c",
        keeps_state=False,
        settings=replace(
            PLAIN_SETTINGS, max_epoch_rows=5, linger=timedelta(microseconds=7), fuse=True, count_state=True
        ),
    )

    assert read_order(write_order(spec, as_json=True)) == (spec, True)
    assert json.loads(write_order(RunSpec("n", "", Path()), as_json=False))["as_json"] is False


@pytest.mark.parametrize(
    "change",
    [
        {"settings": RunSettings(memory="4g")},
        {"parallelism": 2},
        {"settings": RunSettings(master="local[2]")},
        {"settings": RunSettings(quick=True)},
        {"settings": RunSettings(cluster=ClusterSettings(state_url="s3://bucket/jobs"))},
        {"upgrade": StateUpgrade()},
        {"settings": RunSettings(start_from={"t": LATEST})},
        {"settings": RunSettings(backfill=Backfill(goes_on=True))},
    ],
)
def test_a_run_of_another_kind_does_its_work_itself(change: dict[str, object]) -> None:
    spec = RunSpec("n", "", Path())
    assert fits_spare(spec)
    assert not fits_spare(replace(spec, **change))


def warm(left: Left, action: str) -> str:
    """What `arroyo warm` says."""
    environment = {**os.environ, "ARROYO_CACHE": str(left.directory.parent)}
    command = [sys.executable, "-m", "engine", "warm", action]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=True)
    return answer.stdout


def test_waiting_spare_is_listed_and_can_be_ended(left: Left) -> None:
    spare = left.spare()

    assert warm(left, "show").startswith(f"spare {spare.pid} waits since ")
    assert spare.poll() is None
    assert warm(left, "stop") == f"ended: spare {spare.pid}\n"
    assert spare.wait(120) == -signal.SIGKILL
    assert warm(left, "show") == warm(left, "stop") == "no spare waits for a run\n"


def test_a_spare_that_has_a_run_is_not_ended(left: Left) -> None:
    spare = left.spare()
    caller = left.caller("waits")
    assert caller.stdout is not None
    assert caller.stdout.readline() == "waits\n"

    assert warm(left, "stop") == "no spare waits for a run\n"

    assert spare.poll() is None
    caller.kill()
    caller.communicate()


def test_a_spare_that_does_not_obey_is_killed(left: Left) -> None:
    spare = left.spare()
    spare.send_signal(signal.SIGSTOP)
    seconds = iter(range(0, 10_000, 100))

    ended = end_spare(left.directory, lambda: next(seconds))

    assert ended is not None
    assert ended.pid == spare.pid
    assert spare.wait(120) == -signal.SIGKILL


def test_directory_open_to_others_is_not_searched(left: Left) -> None:
    left.spare()
    left.directory.chmod(0o755)

    assert find_spare(left.directory) is None
    assert end_spare(left.directory) is None
