"""Every sink whose tasks see another disk than the driver: the driver commits the same as it does of local tasks."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark import cloudpickle

from engine.compile import compile_script
from engine.connectors.base import Chunk, Epoch, SinkContext, Slice, Table
from engine.connectors.kafka.write.staging import staged_records
from engine.connectors.preview import read_preview
from engine.connectors.rehearsal import RehearsalOptions, rows_directory
from engine.delivery.segments import from_messages
from engine.spark.read import notes
from engine.spark.read.planner import PlanSpec
from engine.spark.read.reading import SliceReading
from engine.spark.read.scan_spec import WITH_WATERMARK, AssignedSlice, EpochMoment, ScanSpec
from engine.spark.run.mailbox import open_mailbox
from engine.spark.write.targets import Target
from engine.spark.write.write_segments import write_task
from tests.connectors.receiver import Receiver
from tests.connectors.redis_server import running
from tests.connectors.tables import NUMBERS, batch, epoch, sink, table
from tests.delivery.remote_workers import ELSEWHERE, environment_of, remote_worker

EPOCHS = 3
PLACE = "sinks/t"
REDIS = {"type": "sink", "format": "json", "target": "list", "target__key_prefix": "rows"}


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for file in sorted(path.rglob("*.json")) for line in file.read_text().splitlines()]


def parquet(path: Path) -> list[Any]:
    return [row for file in sorted(path.rglob("*.parquet")) for row in pq.read_table(file).to_pylist()]


@dataclass(frozen=True)
class Case:
    """A sink with its options, and how to read what it has written below the target, or the sink's own directory."""

    kind: str
    options: Callable[[Path], dict[str, Any]]
    read: Callable[[Path, Path], Any]


CASES = {
    "single_file": Case(
        "single_file",
        lambda target: {"path": target / "out.json", "type": "sink", "format": "json"},
        lambda target, _: lines(target),
    ),
    "gzip": Case(
        "single_file",
        lambda target: {"path": target / "out.json.gz", "type": "sink", "format": "json"},
        lambda target, _: (target / "out.json.gz").read_bytes(),
    ),
    "json": Case(
        "filesystem",
        lambda target: {"path": target, "type": "sink", "format": "json", "partitioning__fields": "name"},
        lambda target, _: lines(target),
    ),
    "parquet": Case(
        "filesystem",
        lambda target: {"path": target, "type": "sink", "format": "parquet"},
        lambda target, _: parquet(target),
    ),
    "rolling": Case(
        "filesystem",
        lambda target: {"path": target, "type": "sink", "format": "json", "rolling_policy__interval": "1 hour"},
        lambda target, _: lines(target),
    ),
    "delta": Case(
        "delta",
        lambda target: {"path": target / "table"},
        lambda target, _: DeltaTable(target / "table").to_pyarrow_table().to_pylist(),
    ),
    "preview": Case("preview", lambda _: {}, lambda _, own: read_preview(own)),
    "rehearsal": Case("rehearsal", lambda _: {}, lambda _, own: parquet(rows_directory(own))),
}


def taken(number: int) -> Epoch:
    return Epoch(number, "one", 1, f"offsets-{number}", is_last=number == EPOCHS - 1)


def run_locally(of: Table, root: Path) -> None:
    (root / PLACE).mkdir(parents=True)
    for number in range(EPOCHS):
        commit(of, root, number, messages_of(of, root, number))


def run_remotely(of: Table, root: Path, scratch: Path) -> None:
    (root / PLACE).mkdir(parents=True)
    with open_mailbox(root, "127.0.0.1", "127.0.0.1", 0) as mailbox:
        for number in range(EPOCHS):
            with remote_worker(mailbox, scratch):
                messages = messages_of(of, ELSEWHERE, number)
            commit(of, root, number, messages)


def messages_of(of: Table, root: Path, number: int) -> list[bytes]:
    """The messages of two tasks of an epoch, for which the state directory is `root`."""
    target = Target(of, SinkContext(root / PLACE))
    rows = [batch(target.schema, *with_time(target, (number, f"task {task}"), (number + 100, None))) for task in (0, 1)]
    answers = [write_task([target], taken(number), [(0, rows[task])], task) for task in (0, 1)]
    return [answer.column("message")[0].as_py() for task in answers for answer in task]


def with_time(target: Target, *rows: tuple[object, ...]) -> list[tuple[object, ...]]:
    return [(*row, datetime(2024, 1, 1, tzinfo=UTC)) for row in rows] if target.has_event_time else list(rows)


def commit(of: Table, root: Path, number: int, messages: list[bytes]) -> None:
    Target(of, SinkContext(root / PLACE)).open().commit(taken(number), messages)


def table_of(case: Case, target: Path) -> Table:
    if case.kind != "rehearsal":
        return table(case.kind, NUMBERS, **case.options(target))
    return replace(table("preview", NUMBERS), connector="rehearsal", options=RehearsalOptions(), format=None)


@pytest.mark.parametrize("name", CASES)
def test_rows_of_remote_tasks_are_those_of_local_tasks(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    here, there = tmp_path / "here", tmp_path / "there"
    run_locally(table_of(case, here), tmp_path / "state-here")
    run_remotely(table_of(case, there), tmp_path / "state-there", tmp_path / "worker")

    expected = case.read(here, tmp_path / "state-here" / PLACE)
    assert expected
    assert case.read(there, tmp_path / "state-there" / PLACE) == expected


def test_stdout_prints_the_rows_of_remote_tasks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of = table("stdout", NUMBERS)
    run_locally(of, tmp_path / "here")
    expected = capsys.readouterr().out
    run_remotely(of, tmp_path / "there", tmp_path / "worker")

    assert capsys.readouterr().out == expected != ""


def test_webhook_posts_the_rows_of_remote_tasks(receiver: Receiver, tmp_path: Path) -> None:
    of = table("webhook", NUMBERS, endpoint=receiver.url, type="sink")
    run_locally(of, tmp_path / "here")
    run_remotely(of, tmp_path / "there", tmp_path / "worker")

    half = len(receiver.seen) // 2
    assert half
    assert sorted(receiver.seen[half:], key=str) == sorted(receiver.seen[:half], key=str)


@pytest.mark.connectors
def test_redis_gets_the_rows_of_remote_tasks(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        of = table("redis", NUMBERS, address=server.address, **REDIS)
        run_locally(of, tmp_path / "here")
        (key,) = server.client.keys()
        expected = server.client.lrange(key, 0, -1)
        server.client.flushall()
        run_remotely(of, tmp_path / "there", tmp_path / "worker")

        assert server.client.lrange(key, 0, -1) == expected != []


def test_staged_records_for_kafka_reach_the_driver(tmp_path: Path) -> None:
    of = table(
        "kafka", NUMBERS, bootstrap_servers="127.0.0.1:1", topic="t", type="sink", format="json",
        sink__commit_mode="exactly_once",
    )  # fmt: skip
    (tmp_path / "state").mkdir()
    with (
        open_mailbox(tmp_path / "state", "127.0.0.1", "127.0.0.1", 0) as mailbox,
        remote_worker(mailbox, tmp_path / "worker"),
    ):
        messages = messages_of(of, ELSEWHERE, 0)

    records = [
        record["value"]
        for segment in from_messages(messages)
        for rows in staged_records(tmp_path / "state" / PLACE / segment.path)
        for record in rows.to_pylist()
    ]
    assert [json.loads(record)["name"] for record in records] == ["task 0", None, "task 1", None]


SCRIPT = """
CREATE TABLE clicks (n BIGINT NOT NULL, name TEXT) WITH (connector = 'single_file', path = '/in', format = 'json',
  type = 'source');
CREATE TABLE t (n BIGINT NOT NULL, name TEXT) WITH (connector = 'single_file', path = '{out}', format = 'json',
  type = 'sink');
INSERT INTO t SELECT n, name FROM clicks;
"""
PROGRAM = """
import pickle, sys
(task,) = [pickle.load(sys.stdin.buffer)]
sys.stdout.buffer.write(pickle.dumps(task()))
"""


def test_worker_process_that_sees_no_state_leaves_notes_and_segments_at_the_driver(tmp_path: Path) -> None:
    program = compile_script(SCRIPT.format(out=tmp_path / "out.json"))
    plan = PlanSpec("clicks", ELSEWHERE / "watermarks/arroyo_clicks")
    spec = ScanSpec(program.tables["clicks"], program.scans["clicks"], plan, WITH_WATERMARK)
    target = Target(program.tables["t"], SinkContext(ELSEWHERE / PLACE))
    rows = batch(NUMBERS, (1, "a"), (2, "b"))
    the_epoch, columns = epoch(0), NUMBERS.names

    def task() -> list[bytes]:
        reading = SliceReading(spec, AssignedSlice(Slice("p", 0, 9), 0, 9), EpochMoment(1_000_000, 5))
        read = reading.take(Chunk(rows))
        reading.close()
        assert read is not None
        answers = write_task([target], the_epoch, [(0, read.select(list(columns)))], 0)
        return [answer.column("message")[0].as_py() for answer in answers]

    root = tmp_path / "state"
    root.mkdir()
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with open_mailbox(root, "127.0.0.1", "127.0.0.1", 0) as mailbox:
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            input=cloudpickle.dumps(task),
            env={
                "PATH": "/usr/bin:/bin",
                "PYTHONPATH": str(Path(__file__).parents[2]),
                **environment_of(mailbox, tmp_path),
            },
            capture_output=True,
            check=False,
            timeout=60,
        )
    assert ended.returncode == 0, ended.stderr.decode()
    messages = pickle.loads(ended.stdout)
    sink(program.tables["t"], root / PLACE).commit(the_epoch, messages)

    assert [row["n"] for row in lines(tmp_path) if "n" in row] == [1, 2]
    (note,) = notes.collect(root / "watermarks/arroyo_clicks", "p", 1, 9)
    assert note.rows == 2
