"""A state directory as a run leaves it, made by hand: two operators' worth of files and no Spark."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from engine.checkpoints.claim import StatefulQuery, claim
from engine.checkpoints.layout import StatePaths

CONF = {"spark.sql.shuffle.partitions": "2"}


def state_id(version: int) -> str:
    """The id in the names of the state files of a version."""
    return f"{version:08x}-0000"


def commit(checkpoint: Path, epoch: int, *, snapshot_every: int = 4) -> None:
    """Commit one more epoch, as Spark would."""
    plan(checkpoint, epoch)
    version = epoch + 1
    store = checkpoint / "state" / "0" / "0"
    (store / "SSTs").mkdir(parents=True, exist_ok=True)
    (checkpoint / "state" / "0" / "_metadata").mkdir(exist_ok=True)
    (checkpoint / "state" / "0" / "_metadata" / "metadata").write_text("v1")
    (store / f"{version}_{state_id(version)}.changelog").write_text(f"changes {version}")
    (store / f".{version}_{state_id(version)}.changelog.crc").write_text("crc")
    if version % snapshot_every == 0:
        table = f"{version:06}.sst"
        (store / "SSTs" / table).write_text(f"table {version}")
        with zipfile.ZipFile(store / f"{version}_{state_id(version)}.zip", "w") as snapshot:
            snapshot.writestr("metadata", "v1\n" + json.dumps({"sstFiles": [{"dfsSstFileName": table}]}))
    content = {"nextBatchWatermarkMs": 0, "stateUniqueIds": {"0": [[state_id(version)]]}}
    (checkpoint / "commits").mkdir(exist_ok=True)
    (checkpoint / "commits" / str(epoch)).write_text("v2\n" + json.dumps(content))


def plan(checkpoint: Path, epoch: int) -> None:
    """Plan an epoch and no more."""
    (checkpoint / "offsets").mkdir(parents=True, exist_ok=True)
    (checkpoint / "metadata").write_text('{"id":"query"}')
    about = {"batchWatermarkMs": epoch * 1000, "batchTimestampMs": 1, "conf": CONF}
    source = json.dumps({"table": "t", "wm": epoch * 1_000_000 + 7})
    (checkpoint / "offsets" / str(epoch)).write_text(f"v1\n{json.dumps(about)}\n{source}")


@pytest.fixture
def paths(tmp_path: Path) -> StatePaths:
    """A state with the epochs 0 to 9."""
    state = StatePaths(tmp_path / "state")
    claim(state, StatefulQuery("clicks", "SELECT 1", "f1", 2), new_lineage=lambda: "L1").release()
    for epoch in range(10):
        commit(state.checkpoint, epoch)
    (state.watermarks / "t").mkdir(parents=True)
    (state.watermarks / "t" / "note-0.json").write_text("{}")
    return state


@pytest.fixture
def clock() -> Callable[[], datetime]:
    """Time that moves by a second whenever somebody looks."""
    moments = (datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=step) for step in range(1000))
    return lambda: next(moments)
