"""A pipeline that moves from one machine to a cluster, is upgraded there, and moves back."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.restore import restore
from engine.checkpoints.savepoints import take
from engine.checkpoints.state_pointer import read_pointer
from engine.values.instants import now
from tests.cluster.parts import Cluster
from tests.cluster.play import run, start
from tests.cluster.stores import ObjectStore
from tests.cluster.test_story import ROWS, commits, script, until, written

pytestmark = pytest.mark.timeout(1800)

_BEFORE, _AFTER = "GROUP BY w, k\n);", "GROUP BY w, k\n) WHERE n > 0;"
"""Equal windows, with a condition after them that all rows meet: an upgrade keeps their state."""


def _begun(text: Path, state: Path, cluster: Cluster | None, epochs: int, **others: object) -> None:
    """Run a script for so many epochs more, and stop it."""
    target = commits(state) + epochs
    process = start(text, state, cluster, max_epoch_rows=500, **others)
    until(process, lambda: commits(state) >= target)
    process.send_signal(signal.SIGTERM)
    said = process.communicate()[1]
    assert process.returncode == 130, said  # stopped


def test_output_is_whole_after_moves_to_a_cluster_with_an_upgrade_and_back(
    cluster: Cluster, moto_store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, state = script(tmp_path / "moved"), tmp_path / "moved" / "state"
    environment = {**moto_store.environment, "ARROYO_NET_ALLOW": "127.0.0.1"}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    asked = {"environment": environment, "state_url": f"{moto_store.url}/jobs"}
    paths = StatePaths(state)

    _begun(text, state, None, 2)
    take(state, "to-the-cluster", label=None, clock=now)
    restore(state / "savepoints" / "to-the-cluster", state, allow_replay=False)
    _begun(text, state, cluster, 2, **asked)
    assert read_pointer(paths.checkpoint) is not None
    text.write_text(text.read_text().replace(_BEFORE, _AFTER))
    _begun(text, state, cluster, 2, **asked, upgrade=True)
    assert read_pointer(paths.checkpoint) is not None
    take(state, "back", label=None, clock=now)
    restore(state / "savepoints" / "back", state, allow_replay=False)

    status, said = run(text, state)

    assert status == 0, said
    lines, numbers = written(tmp_path / "moved")
    assert [json.loads(line)["n"] for line in lines] == [20] * (ROWS // 20)
    assert numbers == list(range(0, ROWS, 2))
    assert _AFTER in paths.pipeline.read_text().encode().decode("unicode_escape")
