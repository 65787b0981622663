"""Whatever is killed in the middle of a request, the job ends in the state that was asked for."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kills.stories import ArmedPlane, Kill, play

pytestmark = [pytest.mark.system, pytest.mark.timeout(600)]
STAND_IN = shlex.join([sys.executable, "-m", "tests.kills.driver"])


def _server(verb: str, *faults: str) -> list[Kill]:
    return [Kill(verb, fault) for fault in faults]


def _driver(verb: str, *faults: str) -> list[Kill]:
    return [Kill(verb, fault, is_server=False) for fault in faults]


_CHANGE = ("before_change", "after_change")
_LAUNCH = ("before_intent:Launch", "after_intent:Launch", "after_assignment", "after_spawn", "after_action:Launch")
_DRAIN = ("before_intent:Drain", "after_intent:Drain", "after_action:Drain")
_STOPPED = ("before_intent:MarkStopped", "after_intent:MarkStopped")
_ACCEPT = ("before_intent:AcceptMaintenance", "after_intent:AcceptMaintenance", "after_action:AcceptMaintenance")
_EPOCH = ("before_write", "while_writing", "after_write", "after_ledger", "after_sinks", "after_commit")
_SWAP = ("before_swap", "after_swap_decision", "while_swapping", "after_swap")
_MAINTENANCE = ("before_maintenance", "after_maintenance")

KILLS = [
    *_server("deploy", *_CHANGE, *_LAUNCH, "before_intent:MarkRunning", "after_intent:MarkRunning"),
    *_driver("deploy", "before_hello", "after_offsets", *_EPOCH),
    *_server("redeploy", *_CHANGE, *_DRAIN, *_LAUNCH),
    *_driver("redeploy", "before_goodbye", "before_hello"),
    *_server("stop", *_CHANGE, *_DRAIN, *_STOPPED),
    *_driver("stop", "before_goodbye", "after_commit"),
    *_server("stop-now", "after_intent:Drain", "before_intent:MarkStopped"),
    *_driver("stop-now", "before_goodbye"),
    *_server("stop-by-force", "before_intent:Kill", "after_intent:Kill", "after_action:Kill"),
    *_server("savepoint", *_CHANGE, "while_copying", "after_copying", "after_savepoint"),
    *_driver("savepoint", "after_sinks", "after_commit"),
    *_server("stop-with-savepoint", *_CHANGE, *_DRAIN[:2], *_STOPPED, "while_copying", "after_copying"),
    *_driver("stop-with-savepoint", "before_goodbye"),
    *_server("restore", *_CHANGE, *_DRAIN[:2], "before_intent:RestoreSavepoint", "after_intent:RestoreSavepoint"),
    *_server("restore", "after_action:RestoreSavepoint", *_ACCEPT, "after_intent:Launch", "after_spawn"),
    *_driver("restore", "before_goodbye", *_MAINTENANCE, *_SWAP),
    *_server("restore-at-rest", "after_action:RestoreSavepoint", "before_intent:AcceptMaintenance"),
    *_driver("restore-at-rest", "after_maintenance"),
    *_server("rescale", *_CHANGE, *_DRAIN[:2], "before_intent:Repartition", "after_intent:Repartition"),
    *_server("rescale", "after_action:Repartition", *_ACCEPT, "after_intent:Launch"),
    *_driver("rescale", "before_goodbye", *_MAINTENANCE),
    *_server("delete", *_CHANGE, "while_removing", "after_removal"),
    *_server("rollback", *_CHANGE, *_DRAIN[:2], "before_intent:RestoreSavepoint", "after_intent:RestoreSavepoint"),
    *_server("rollback", "after_action:RestoreSavepoint", *_ACCEPT, "after_intent:Launch", "after_spawn"),
    *_driver("rollback", "before_goodbye", *_MAINTENANCE, "while_copying", "after_copying", *_SWAP),
    *_server("fork", *_CHANGE, "before_intent:RestoreSavepoint", "after_intent:RestoreSavepoint"),
    *_server("fork", "after_action:RestoreSavepoint", *_ACCEPT, *_LAUNCH),
    # Nothing is set aside for a fork, whose state directory is empty: no `while_swapping`.
    *_driver("fork", *_MAINTENANCE, "before_swap", "after_swap_decision", "after_swap", "before_hello"),
]
"""Kills of the control plane, and of drivers and work between runs that need no Spark."""
SHORT = (
    "deploy-after_spawn",
    "stop-with-savepoint-while_copying",
    "restore-while_swapping",
    "rescale-after_intent:Repartition",
    "delete-while_removing",
)
"""What every run plays."""
CHOSEN = KILLS if os.environ.get("KILLS") == "all" else [kill for kill in KILLS if str(kill) in SHORT]


@pytest.fixture(scope="module")
def armed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArmedPlane]:
    """A control plane that all stories share: each kill leaves it as good as new."""
    plane = ArmedPlane(tmp_path_factory.mktemp("armed"), {"HEARTBEAT_LIMIT": "30s"}, STAND_IN)
    plane.start()
    yield plane
    plane.close()


@pytest.mark.parametrize("kill", CHOSEN, ids=str)
def test_a_job_ends_in_the_state_asked_for_whatever_is_killed(armed: ArmedPlane, kill: Kill, tmp_path: Path) -> None:
    play(armed, tmp_path, kill)
