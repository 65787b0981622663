"""The slices of long tests are the whole, and nothing is played by chance alone."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from engine.connectors import CONNECTORS
from engine.delivery.faults import Point
from tests.chaos.targets import TARGETS, Place
from tests.slices import COLLECTED, LONG, ONLY_IN_ALL, SLICES, deal, is_long, is_only_in_all, played

pytestmark = pytest.mark.system
FILES = sorted({f"tests/{place.partition('::')[0]}" for place in (*LONG, *ONLY_IN_ALL)})
KILL, PAUSE = (
    f"tests/chaos/test_points.py::test_a_{name}"
    for name in ("kill_at_any_point_loses_and_doubles_nothing", "pause_at_any_point_does_no_harm_afterwards")
)


def run_pytest(*arguments: str) -> list[str]:
    """What a pytest of its own prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "SLICE"))}
    process = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", *arguments],
        cwd=Path(__file__).parents[1],
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout.splitlines()


def collected(*arguments: str) -> list[str]:
    return [line for line in run_pytest("--collect-only", *arguments) if "::" in line]


@pytest.fixture(scope="module")
def nodeids(pytestconfig: pytest.Config) -> list[str]:
    """Every test of the files in which there are long ones; a run of all tests has them already."""
    known = [nodeid for nodeid in pytestconfig.stash[COLLECTED] if nodeid.partition("::")[0] in FILES]
    return known if {nodeid.partition("::")[0] for nodeid in known} == set(FILES) else collected(*FILES)


def test_the_slices_together_are_the_whole_and_share_only_what_is_not_long(nodeids: list[str]) -> None:
    slices = [played(nodeids, str(number + 1)) for number in range(SLICES)]
    counts = Counter(nodeid for tests in slices for nodeid in tests)

    dealt = [nodeid for nodeid in nodeids if not is_only_in_all(nodeid)]
    assert counts == {nodeid: 1 if is_long(nodeid) else SLICES for nodeid in dealt}
    assert played(nodeids, "all") == nodeids
    sizes = [len(tests) for tests in slices]
    assert max(sizes) - min(sizes) <= len(nodeids) / 50, sizes


def test_every_long_test_that_is_declared_is_there(nodeids: list[str]) -> None:
    places = (*LONG, *ONLY_IN_ALL)
    assert [place for place in places if not any(nodeid.startswith(f"tests/{place}") for nodeid in nodeids)] == []


def test_every_exactly_once_sink_and_fault_point_is_in_one_slice(nodeids: list[str]) -> None:
    dealt = {nodeid.rpartition("-")[0] if nodeid.startswith(KILL) else nodeid.rstrip("]") for nodeid in deal(nodeids)}
    kills = {(name, point): f"{KILL}[{name}-{point}" for name, kind in TARGETS.items() for point in Point}
    pauses = {(name, point): f"{PAUSE}[{name}-{point}" for name, kind in TARGETS.items() for point in Point}
    reached = {(name, point) for name, kind in TARGETS.items() for point in set(Point) - kind.lacks}

    assert {case for case, nodeid in kills.items() if nodeid in dealt} == reached
    assert {case for case, nodeid in pauses.items() if nodeid in dealt} == {
        (name, point) for name, point in reached if TARGETS[name].has_zombies
    }


def test_every_connector_that_promises_exactly_once_is_killed_at_fault_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARROYO_NET_ALLOW", "127.0.0.1")
    address = {"s3": "http://127.0.0.1:9"}
    killed = {kind.table(Place(tmp_path, address.get(name, "127.0.0.1:9"))).connector for name, kind in TARGETS.items()}

    assert killed == {each.name for each in CONNECTORS if each.sink and each.sink.guarantee == "exactly-once"}


def test_a_run_plays_the_slice_that_is_chosen_and_a_file_that_is_named_as_a_whole() -> None:
    whole = collected("tests/chaos/test_chaos.py")

    assert collected("tests/chaos/test_chaos.py", "--slice=2") == played(whole, "2") != whole


def test_the_last_lines_say_which_slice_was_played_when_several_processes_play() -> None:
    arguments = ["tests/chaos/test_chaos.py", "-k", "changed_is_foreign", "-n2", "--dist=loadgroup"]

    *_, slice_, advice, _ = run_pytest(*arguments, "--slice=3")
    *_, followed, _, _ = run_pytest(*arguments, "--slice=commit")

    assert slice_.startswith("slice 3 of 10, since it was asked for: ")
    assert slice_.endswith(" of 12 long tests")
    assert "SLICE=all" in advice
    assert "follows from commit" in followed
