"""What takes the room on the disk is said once, and nothing is missing from it."""

from __future__ import annotations

import os
from pathlib import Path

from engine.jobs.disk import DataDirectory, PipelineUse, other_use, pipeline_use, size_of

FIRST, SECOND = "pl_" + "a" * 16, "pl_" + "b" * 16


def _write(path: Path, size: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    return path


def _link(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    os.link(path, to)


def test_files_shared_by_savepoints_and_state_count_once_for_the_state(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    state = directory.state(FIRST)
    shared = _write(state / "checkpoint" / "state" / "9.delta", 400)
    _link(shared, state / "savepoints" / "sp_1" / "9.delta")
    of_both = _write(state / "savepoints" / "sp_1" / "3.delta", 30)
    _link(of_both, state / "savepoints" / "sp_2" / "3.delta")
    _write(state / "savepoints" / ".sp_3.deleted" / "1.delta", 5)
    _write(state / "logs" / "scratch-1" / "rows", 7)
    _write(directory.runs(FIRST) / "000001.log", 2)

    assert pipeline_use(directory, FIRST) == PipelineUse(state=400, savepoints=35, savepoint_count=2, logs=9)


def test_all_of_a_data_directory_is_of_a_pipeline_or_of_something_else(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    for size, path in enumerate(
        (
            directory.database,
            tmp_path / "arroyo.db-wal",
            directory.backups / "1" / "arroyo.db",
            directory.spares / "one" / "log",
            directory.drills / "x",
            directory.rehearsal("reh_" + "c" * 16) / "rows",
            directory.state(FIRST) / "owner.json",
            directory.state(SECOND) / "lineage.json",
        ),
        start=1,
    ):
        _write(path, 10**size)

    use, others = pipeline_use(directory, FIRST), other_use(directory, [FIRST])

    assert others["states of no pipeline"] == 10**8
    assert others["records"] == 110
    assert use.all + sum(others.values()) == size_of(tmp_path)


def test_a_pipeline_that_has_written_nothing_takes_nothing(tmp_path: Path) -> None:
    assert pipeline_use(DataDirectory(tmp_path), FIRST) == PipelineUse(0, 0, 0, 0)
    assert other_use(DataDirectory(tmp_path), []) == {}
