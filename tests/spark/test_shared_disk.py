"""What the answers of executors say about the disk that they are declared to share with the driver; without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.errors import DiskNotSharedError, NoExecutorsError
from engine.spark.run import shared_disk
from engine.spark.run.shared_disk import ExecutorLook, look_at, probe_executors, refuse_other_disks

SPARK: Any = SimpleNamespace(sparkContext=SimpleNamespace(master="spark://host:7077"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "probe-1"
    folder.mkdir()
    (folder / "driver").write_text(folder.name)
    return folder


def test_one_disk_is_seen_from_both_sides(folder: Path) -> None:
    refuse_other_disks(folder, [look_at(folder, number) for number in range(3)])


def test_an_executor_that_does_not_see_the_file_of_the_driver_is_named_with_the_path(folder: Path) -> None:
    (folder / "driver").unlink()
    answer = look_at(folder, 0)

    with pytest.raises(DiskNotSharedError) as refused:
        refuse_other_disks(folder, [answer])

    assert answer.host in str(refused.value)
    assert str(folder.parent) in str(refused.value)
    assert "No such file" in str(refused.value)


def test_a_file_of_another_disk_is_not_that_of_the_driver(folder: Path) -> None:
    (folder / "driver").write_text("another")

    with pytest.raises(DiskNotSharedError, match="it holds something else"):
        refuse_other_disks(folder, [look_at(folder, 0)])


def test_a_file_of_an_executor_that_the_driver_does_not_see_is_refused(folder: Path) -> None:
    answer = look_at(folder, 0)
    (folder / answer.file).unlink()

    with pytest.raises(DiskNotSharedError, match="the driver does not see the file that the executor on"):
        refuse_other_disks(folder, [answer])


def test_a_cluster_whose_executors_are_not_up_in_time_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_disk, "_executors", lambda _: [])
    times = iter([0.0, 181.0])

    with pytest.raises(NoExecutorsError, match="no executor is up, of spark://host:7077, within 180 s"):
        probe_executors(SPARK, tmp_path, clock=lambda: next(times))

    assert not list(tmp_path.iterdir())


def test_tasks_are_sent_until_every_executor_has_run_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = {"0": 0, "1": 0}
    sent = list[str]()

    def look(_: object) -> Sequence[ExecutorLook]:
        return [ExecutorLook(id_, f"10.0.0.{id_}:1", tasks) for id_, tasks in done.items()]

    def send(_: object, folder: Path) -> None:
        assert (folder / "driver").read_text() == folder.name
        sent.append(str(len(sent)))
        done[sent[-1]] = 3

    monkeypatch.setattr(shared_disk, "_executors", look)
    monkeypatch.setattr(shared_disk, "_send", send)

    probe_executors(SPARK, tmp_path, clock=lambda: 0.0)

    assert sent == ["0", "1"]
    assert not list(tmp_path.iterdir())
