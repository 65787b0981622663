"""The answers of executors to the probe before the first epoch; without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.errors import DiskNotSharedError, ExecutorUnfitError, NoExecutorsError
from engine.spark.run import executors
from engine.spark.run.executors import (
    ExecutorLook,
    explain_failed_probe,
    look_around,
    probe_executors,
    refuse_other_disks,
    refuse_unfit,
)
from engine.spark.run.mailbox import open_mailbox
from engine.spark.run.stop_control import StopRequested
from engine.udf.declared import UdfFile

LOST = "Job aborted: Lost task 0.3 in stage 0.0 (TID 3) (10.0.0.5 executor 1): org.apache.spark.SparkException: \n"
DRIVER = {"spark.driver.host": "10.0.0.9", "spark.driver.port": "4040"}
SPARK: Any = SimpleNamespace(sparkContext=SimpleNamespace(master="spark://host:7077", getConf=lambda: DRIVER))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "probe-1"
    folder.mkdir()
    (folder / "driver").write_text(folder.name)
    return folder


def test_shared_disk_is_detected(folder: Path) -> None:
    refuse_other_disks(folder, [look_around(folder, (), number) for number in range(3)])


def test_an_executor_that_does_not_see_the_file_of_the_driver_is_named_with_the_path(folder: Path) -> None:
    (folder / "driver").unlink()
    answer = look_around(folder, (), 0)

    with pytest.raises(DiskNotSharedError) as refused:
        refuse_other_disks(folder, [answer])

    assert answer.host in str(refused.value)
    assert str(folder.parent) in str(refused.value)
    assert "No such file" in str(refused.value)


def test_a_file_of_another_disk_is_not_that_of_the_driver(folder: Path) -> None:
    (folder / "driver").write_text("another")

    with pytest.raises(DiskNotSharedError, match="it holds something else"):
        refuse_other_disks(folder, [look_around(folder, (), 0)])


def test_a_file_of_an_executor_that_the_driver_does_not_see_is_refused(folder: Path) -> None:
    answer = look_around(folder, (), 0)
    (folder / str(answer.file)).unlink()

    with pytest.raises(DiskNotSharedError, match="the driver does not see the file that the executor on"):
        refuse_other_disks(folder, [answer])


def test_a_cluster_whose_executors_are_not_up_in_time_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "_executors", lambda _: [])
    times = iter([0.0, 181.0])

    with pytest.raises(NoExecutorsError, match="no executor is up, of spark://host:7077, within 180 s") as refused:
        probe_executors(SPARK, tmp_path, clock=lambda: next(times))

    assert "look for the driver at 10.0.0.9:4040" in str(refused.value.hint)
    assert "set driver_host" in str(refused.value.hint)

    assert not list(tmp_path.iterdir())


def test_tasks_are_sent_until_every_executor_has_run_some(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = {"0": 0, "1": 0}
    sent = list[str]()

    def look(_: object) -> Sequence[ExecutorLook]:
        return [ExecutorLook(id_, f"10.0.0.{id_}:1", tasks) for id_, tasks in done.items()]

    def send(_: object, folder: Path, udfs: object) -> None:
        assert (folder / "driver").read_text() == folder.name
        sent.append(str(len(sent)))
        done[sent[-1]] = 3

    monkeypatch.setattr(executors, "_executors", look)
    monkeypatch.setattr(executors, "_send", send)

    probe_executors(SPARK, tmp_path, clock=lambda: 0.0)

    assert sent == ["0", "1"]
    assert not list(tmp_path.iterdir())


def test_an_executor_like_the_driver_is_fit() -> None:
    answer = look_around(None, (), 0)

    refuse_unfit([answer])

    assert answer.package_fault is None


def test_packages_of_user_functions_are_checked_on_executors() -> None:
    file = UdfFile("f.py", '# /// script\n# dependencies = ["not-there-xyz"]\n# ///\n')

    with pytest.raises(ExecutorUnfitError, match=r"f\.py needs not-there-xyz, which is not installed"):
        refuse_unfit([look_around(None, (file,), 0)])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"engine": "0.0.1"}, "the executor on worker-7 has version 0.0.1 of this package"),
        ({"python": "3.8.1"}, "the executor on worker-7 has Python 3.8, and the driver"),
        ({"package_fault": "the package pyarrow is missing"}, "worker-7 cannot run the pipeline: the package pyarrow"),
        ({"mailbox_fault": "Connection refused"}, "worker-7 cannot hand files to the driver: Connection refused"),
    ],
)
def test_a_difference_is_named_with_the_executor(changed: dict[str, Any], said: str) -> None:
    answer = replace(look_around(None, (), 0), host="worker-7", **changed)

    with pytest.raises(ExecutorUnfitError, match=said) as refused:
        refuse_unfit([answer])

    assert refused.value.hint


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (
            f"{LOST}Error from python worker:\n  arroyo: there is no Python at /nope/python on worker-1\n"
            "PYTHONPATH was:\n  x\nEOFException occurred while reading the port number from x",
            ExecutorUnfitError,
            "the executor on 10.0.0.5 (worker-1) has no Python at /nope/python",
        ),
        (
            f"{LOST}Error from python worker:\n  Traceback\n  No module named pyspark\nPYTHONPATH was:\n  x",
            ExecutorUnfitError,
            "the Python of the executor on 10.0.0.5 ends as soon as it is started: No module named pyspark",
        ),
        (
            f"{LOST}EOFException occurred while reading the port number from x's stdout.",
            ExecutorUnfitError,
            "the Python of the executor on 10.0.0.5 ends as soon as it is started",
        ),
        (
            f"{LOST}[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.8 than that in driver: 3.11",
            ExecutorUnfitError,
            "the executor on 10.0.0.5 has Python 3.8, and the driver",
        ),
        (
            '(10.0.0.5 executor 1): java.io.IOException: Cannot run program "arroyo/bin/python": error=13, Permission',
            ExecutorUnfitError,
            "the executor on 10.0.0.5 cannot start its Python",
        ),
        ("the disk is full", NoExecutorsError, "the executors of spark://m:1 cannot run our tasks: the disk is full"),
    ],
)
def test_a_probe_that_fails_in_spark_is_explained(text: str, kind: type[Exception], said: str) -> None:
    error = explain_failed_probe(text, "spark://m:1")

    assert isinstance(error, kind)
    assert said in str(error)
    assert error.hint


def test_executors_that_come_between_two_looks_are_probed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([[], [ExecutorLook("0", "10.0.0.1:1", 0)], [ExecutorLook("0", "10.0.0.1:1", 3)]])
    sent = list[object]()
    monkeypatch.setattr(executors, "_executors", lambda _: next(looks))
    monkeypatch.setattr(executors, "_send", lambda *arguments: sent.append(arguments))
    monkeypatch.setattr("engine.spark.run.executors.time.sleep", lambda _: None)

    probe_executors(SPARK, None, clock=lambda: 0.0)

    assert len(sent) == 1


def test_the_mailbox_of_the_driver_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_mailbox(tmp_path, "127.0.0.1", "127.0.0.1", 0) as mailbox:
        for name, value in mailbox.environment.items():
            monkeypatch.setenv(name, value)
        assert look_around(None, (), 0).mailbox_fault is None

    answer = look_around(None, (), 0)
    assert f"does not reach the driver at 127.0.0.1:{mailbox.address.port}" in str(answer.mailbox_fault)
    with pytest.raises(ExecutorUnfitError, match="cannot hand files to the driver") as refused:
        refuse_unfit([answer])
    assert "driver_host" in str(refused.value.hint)


def test_a_stop_ends_the_wait_for_executors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "_executors", lambda _: [])

    def stop() -> None:
        raise StopRequested

    with pytest.raises(StopRequested):
        probe_executors(SPARK, tmp_path, on_alive=stop, clock=lambda: 0.0)

    assert not list(tmp_path.iterdir())
