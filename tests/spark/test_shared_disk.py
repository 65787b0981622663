"""What the answers of executors say about the disk that they are declared to share with the driver; without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import DiskNotSharedError
from engine.spark.shared_disk import look_at, refuse_other_disks


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
