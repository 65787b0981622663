"""Runs whose whole state is in a bucket: nothing of the job is on the disk of a driver that is gone."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.cli.main import main
from engine.compile import compile_script
from engine.errors import NotInBucketError, SupersededError
from engine.spark.run.journaled_run import in_bucket
from engine.spark.run.lifecycle import run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS, RunSpec
from engine.spark.run.stop_control import Control
from engine.values.epoch_report import EpochReport
from tests.s3.faulty_store import FaultyStore, Request, faulty
from tests.s3.store import Store
from tests.streams.play import play

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = """
CREATE TABLE ticks WITH (
  connector = 'impulse', event_rate = '1000', message_count = '{ticks}', event_time_interval = '1 second',
  start_time = '2024-01-01T00:00:00Z'
);
"""
SINK = """
CREATE TABLE windows WITH (
  connector = 'filesystem', path = '{out}', format = 'json', type = 'sink', 'rolling_policy.file_size' = '60b'
);
INSERT INTO windows SELECT tumble(INTERVAL '10 seconds') AS w, count(*) AS ticks FROM ticks GROUP BY w;
"""
WINDOWS = 12
MOST_REQUESTS = 16


def script(bucket: Store, ticks: int = 10 * WINDOWS) -> str:
    return SOURCE.format(ticks=ticks) + SINK.format(out=f"s3://{bucket.bucket}/out")


def spec_of(bucket: Store) -> RunSpec:
    settings = replace(PLAIN_SETTINGS, max_epoch_rows=10)
    return RunSpec("ticks", script(bucket), Path(), parallelism=2, settings=settings)


def play_elsewhere(
    spark: SparkSession, bucket: Store, *, stop_after: int | None = None
) -> tuple[str, list[EpochReport], Path]:
    """Run in a folder that is empty at first and gone afterwards."""
    spec = spec_of(bucket)
    with in_bucket(f"s3://{bucket.bucket}/state", compile_script(spec.sql), spec) as placed:
        folder = placed.state_dir
        outcome, reports = play(spark, placed, stop_after=stop_after)
    assert not folder.exists()
    return outcome, reports, folder


def is_whole(bucket: Store, windows: int = WINDOWS) -> bool:
    """Whether every window is there once."""
    lines = [json.loads(line) for name in bucket.keys() for line in bucket.read(name).splitlines()]  # noqa: SIM118
    counts = Counter(line["w"]["start"] if isinstance(line["w"], Mapping) else line["w"] for line in lines)
    return len(counts) == windows and set(counts.values()) == {1} and {line["ticks"] for line in lines} == {10}


def test_run_continues_from_an_empty_folder(spark: SparkSession, bucket: Store) -> None:
    assert play_elsewhere(spark, bucket, stop_after=3)[0] == "stopped"
    outcome, reports, _ = play_elsewhere(spark, bucket, stop_after=7)
    assert outcome == "stopped"
    assert reports[0].epoch == 4
    outcome, reports, _ = play_elsewhere(spark, bucket)

    assert outcome == "finished"
    assert reports[0].epoch == 8
    assert is_whole(bucket)


def test_run_that_another_one_has_replaced_writes_nothing(
    spark: SparkSession, bucket: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first run wakes after the second has finished."""
    spec, opened = spec_of(bucket), ExitStack()
    placed = opened.enter_context(in_bucket(f"s3://{bucket.bucket}/state", compile_script(spec.sql), spec))
    assert play(spark, placed, stop_after=3)[0] == "stopped"
    monkeypatch.setattr("engine.checkpoints.journal.wait_until_free", lambda _: None)
    assert play_elsewhere(spark, bucket)[0] == "finished"
    written = sorted(bucket.keys())
    assert is_whole(bucket)

    with pytest.raises(SupersededError):
        play(spark, placed)

    with pytest.raises(SupersededError):
        opened.close()
    assert sorted(bucket.keys()) == written


def test_an_epoch_sends_few_requests(spark: SparkSession, bucket: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    marks: list[int] = []
    with faulty(bucket.endpoint) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        spec = spec_of(bucket)
        with in_bucket(f"s3://{bucket.bucket}/state", compile_script(spec.sql), spec) as placed:
            run_in(spark, placed, Control(), lambda _: marks.append(len(proxy.requests)))
        kinds = requests_of(proxy, bucket, marks[2], marks[-2])
    epochs = len(marks) - 4
    print({kind: count / epochs for kind, count in kinds.items()})  # noqa: T201 - the figures of the docs
    assert sum(kinds.values()) / epochs <= MOST_REQUESTS
    assert is_whole(bucket)


def requests_of(proxy: FaultyStore, bucket: Store, first: int, last: int) -> Mapping[str, int]:
    """The requests of epochs by kind; those of maintenance and of the lease depend on the time."""

    def kind_of(request: Request) -> str:
        name = request.path.partition("?")[0].removeprefix(f"/{bucket.bucket}/")
        return f"{request.method} {'/'.join(name.split('/')[:2]) if name.startswith('state') else 'out'}"

    timed = ("state/lease", ".owners", "list-type", "state/operators")
    sent = [each for each in proxy.requests[first:last] if not any(part in each.path for part in timed)]
    changelogs = [each for each in proxy.requests[first:last] if each.kind == "PUT changelog"]
    return Counter([*map(kind_of, sent), *("PUT changelog" for _ in changelogs)])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda spec: replace(spec, force=True), "--force"),
        (lambda spec: replace(spec, stand_ins=Path("rows")), "--stand-ins"),
        (lambda spec: replace(spec, settings=replace(spec.settings, master="spark://host:7077")), "spark://host:7077"),
    ],
)
def test_options_that_do_not_work_with_a_bucket_are_named(bucket: Store, change, reason: str) -> None:  # type: ignore[no-untyped-def]
    spec = change(spec_of(bucket))
    with (
        pytest.raises(NotInBucketError, match=reason),
        in_bucket(f"s3://{bucket.bucket}/state", compile_script(spec.sql), spec),
    ):
        pass
    assert bucket.client.list_objects_v2(Bucket=bucket.bucket).get("Contents", []) == []


@pytest.mark.parametrize(
    ("sink", "reason"),
    [
        ("connector = 'single_file', path = '/tmp/out', format = 'json', type = 'sink'", "the sink single_file"),
        ("connector = 'filesystem', path = '/tmp/out', format = 'json', type = 'sink'", "disk of this machine"),
        ("connector = 'stdout', format = 'json', type = 'sink'", "the sink stdout"),
    ],
)
def test_tables_that_do_not_work_with_a_bucket_are_named(bucket: Store, sink: str, reason: str) -> None:
    sql = (
        f"{SOURCE.format(ticks=120)} CREATE TABLE o (n BIGINT) WITH ({sink}); INSERT INTO o SELECT counter FROM ticks;"
    )
    spec = replace(spec_of(bucket), sql=sql)
    with (
        pytest.raises(NotInBucketError, match=reason),
        in_bucket(f"s3://{bucket.bucket}/state", compile_script(sql), spec),
    ):
        pass


@pytest.mark.parametrize("verb", [["state", "show", "--state-dir"], ["state", "ls", "--state-dir"]])
def test_tools_that_read_a_folder_refuse_a_bucket(verb: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([*verb, "s3://bucket/state"])
    assert "is in a bucket, and must be on this machine" in capsys.readouterr().err


def test_killed_drivers_whose_disk_is_gone_lose_and_double_nothing(bucket: Store, tmp_path: Path) -> None:
    """Five times: kill -9 of the driver with its JVM, deletion of its folder, a start in another one."""
    (tmp_path / "q.sql").write_text(script(bucket, 600))
    for cycle in range(5):
        assert run_elsewhere(bucket, tmp_path, f"machine-{cycle}", kill_after=2) == -signal.SIGKILL
    assert run_elsewhere(bucket, tmp_path, "last", kill_after=None) == 0
    assert is_whole(bucket, 60)


def run_elsewhere(bucket: Store, folder: Path, machine: str, *, kill_after: int | None) -> int:
    """Run `arroyo run` with a temporary directory of its own, which is removed afterwards."""
    scratch = folder / machine
    scratch.mkdir()
    command = [sys.executable, "-m", "engine", "run", str(folder / "q.sql"), "--json-progress", "--parallelism", "2"]
    command += ["--state-dir", f"s3://{bucket.bucket}/state", "--max-epoch-rows", "10", "--set", "linger=0 seconds"]
    environment = {**os.environ, "TMPDIR": str(scratch), "ARROYO_STATE_LEASE": "3"}
    with (folder / f"{machine}.log").open("wb") as log:
        driver = subprocess.Popen(
            command, env=environment, stdout=log, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        assert driver.stderr is not None
        epochs, said = 0, []
        for line in driver.stderr:
            said.append(line)
            epochs += line.startswith("{")
            if epochs == kill_after:
                os.killpg(driver.pid, signal.SIGKILL)
        code = driver.wait()
        driver.stderr.close()
    # what the JVM still deletes at its end may be gone meanwhile
    shutil.rmtree(scratch, ignore_errors=True)
    assert code in (0, -signal.SIGKILL), "".join(said)
    return code
