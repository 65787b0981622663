"""Files that span epochs: what readers see, and when."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow.parquet as pq
import pytest

from engine.connectors.base import SinkContext, Table
from engine.connectors.files.names import stem
from engine.connectors.files.rolling_sink import RollingFilesSink
from engine.connectors.files.time_folders import end_of
from engine.connectors.filesystem.options import FilesystemSinkOptions
from engine.connectors.filesystem.sink import open_filesystem_sink
from engine.delivery.file_ledger import WritePermit
from engine.errors import EngineError, LedgerLostError, RewindTooFarError, ScriptRefused
from engine.schema import Field, Schema
from engine.types import TIMESTAMP
from tests.connectors.tables import NUMBERS, batch, epoch, sink, table, take

TIMED = Schema((*NUMBERS.fields, Field("_timestamp", TIMESTAMP)))
MINUTES = {"partitioning__time_pattern": "%H-%M"}


def at(minute: int) -> datetime:
    return datetime(2024, 5, 6, 12, minute, 30, tzinfo=UTC)


def micros(instant: datetime) -> int:
    return int(instant.timestamp() * 1_000_000)


class Stream:
    """A sink that is fed epoch after epoch, by a clock of its own that counts seconds."""

    def __init__(self, root: Path, *, schema: Schema = NUMBERS, **options: Any) -> None:
        self.root = root
        self.schema = schema
        self.now = 0
        self.number = 0
        with_clause = {"path": root / "out", "type": "sink", "format": "json"} | options
        self.table: Table = table("filesystem", NUMBERS, **with_clause)

    def sink(self) -> RollingFilesSink:
        (self.root / "state" / "sinks" / "t").mkdir(parents=True, exist_ok=True)
        assert isinstance(self.table.options, FilesystemSinkOptions)
        place = SinkContext(self.root / "state" / "sinks" / "t")
        opened = open_filesystem_sink(self.table, self.table.options, place)
        opened._clock = lambda: self.now * 1_000_000
        return opened

    def take(self, *rows: Sequence[object], watermark: datetime | None = None, is_last: bool = False) -> list[str]:
        """Take an epoch; the files that readers see afterwards."""
        mark = None if watermark is None else micros(watermark)
        current_epoch = replace(epoch(self.number), watermark=mark, is_last=is_last)
        self.number += 1
        take(self.sink(), current_epoch, [batch(self.schema, *map(tuple, rows))])
        return self.files()

    def files(self) -> list[str]:
        out = self.root / "out"
        return sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())

    def numbers(self) -> list[int]:
        lines = [line for name in self.files() for line in (self.root / "out" / name).read_text().splitlines()]
        return sorted(json.loads(line)["n"] for line in lines)


def test_a_file_grows_over_epochs_until_it_is_old_enough(tmp_path: Path) -> None:
    stream = Stream(tmp_path, rolling_policy__interval="10 seconds")

    assert stream.take((1, "a")) == []
    stream.now = 9
    assert stream.take((2, "a")) == []
    stream.now = 10
    assert stream.take((3, "a")) == ["0000000002-one.json"]
    assert stream.numbers() == [1, 2, 3]
    assert stream.take((4, "a")) == ["0000000002-one.json"]


def test_a_file_becomes_final_when_it_is_large_or_was_left_alone(tmp_path: Path) -> None:
    stream = Stream(tmp_path, rolling_policy__file_size=50, rolling_policy__inactivity_interval="1 minute")

    assert stream.take((1, "a"), (2, "b")) == []
    assert len(stream.take((3, "c"))) == 1
    assert len(stream.take((4, "d"))) == 1
    stream.now = 60
    assert len(stream.take()) == 2
    assert stream.numbers() == [1, 2, 3, 4]


def test_at_the_end_of_the_input_everything_can_be_seen(tmp_path: Path) -> None:
    stream = Stream(tmp_path, rolling_policy__interval="1 hour", partitioning__fields=("name",))
    stream.take((1, "a"), (2, "b"))

    assert stream.take((3, "a"), is_last=True) == ["name=a/0000000001-one.json", "name=b/0000000001-one.json"]
    assert stream.numbers() == [1, 2, 3]


def test_a_directory_of_time_is_closed_and_marked_when_the_watermark_has_passed_it(tmp_path: Path) -> None:
    stream = Stream(tmp_path, schema=TIMED, rolling_policy__interval="1 hour", **MINUTES)
    stream.take((1, "a", at(1)), (2, "a", at(2)), watermark=at(1))

    assert stream.take((3, "a", at(1)), watermark=at(1).replace(second=59)) == []
    assert stream.take(watermark=at(2)) == ["12-01/0000000002-one.json", "12-01/_SUCCESS"]
    assert stream.take((4, "a", at(2)), watermark=at(4)) == [
        "12-01/0000000002-one.json", "12-01/_SUCCESS", "12-02/0000000003-one.json", "12-02/_SUCCESS",
    ]  # fmt: skip
    assert stream.numbers() == [1, 2, 3, 4]


def test_a_directory_is_marked_only_behind_its_last_file(tmp_path: Path) -> None:
    options: dict[str, Any] = {"rolling_policy__interval": "10 seconds", "rolling_policy__watermark_expiration": False}
    stream = Stream(tmp_path, schema=TIMED, partitioning__fields=("name",), **options, **MINUTES)
    stream.take((1, "a", at(1)))

    assert stream.take(watermark=at(5)) == []
    stream.now = 10
    assert stream.take(watermark=at(5)) == ["12-01/_SUCCESS", "12-01/name=a/0000000002-one.json"]


def test_rows_that_come_behind_the_mark_are_added_and_it_stays(tmp_path: Path) -> None:
    stream = Stream(tmp_path, schema=TIMED, **MINUTES)
    stream.take((1, "a", at(1)), watermark=at(5))

    assert stream.take((2, "a", at(1)), watermark=at(5)) == [
        "12-01/0000000000-one.json", "12-01/0000000001-one.json", "12-01/_SUCCESS",
    ]  # fmt: skip
    take(stream.sink(), epoch(1, "two", generation=2, parents=(("one", 0),)))
    assert stream.files() == ["12-01/0000000000-one.json", "12-01/_SUCCESS"]


def test_marks_can_be_left_out(tmp_path: Path) -> None:
    stream = Stream(tmp_path, schema=TIMED, partitioning__complete_marker=False, **MINUTES)

    assert stream.take((1, "a", at(1)), watermark=at(5)) == ["12-01/0000000000-one.json"]


class Crash(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("strategy", ["uuid", "uuid_v7", "ulid"])
def test_a_random_name_stays_the_same_when_an_epoch_is_run_again(
    strategy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream(tmp_path, filename__strategy=strategy, filename__prefix="p-")

    def crash(*_: object) -> None:
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr(WritePermit, "record", crash)
        with pytest.raises(Crash):
            stream.take((1, "a"))
    [name] = stream.files()
    stream.number = 0

    assert stream.take((1, "a")) == [name]


def test_names_are_what_their_strategy_says() -> None:
    now = micros(datetime(2024, 1, 1, tzinfo=UTC))

    def name(strategy: Any, moment: int = now) -> str:
        return stem(strategy, epoch(7), moment, lambda count: b"\xff" * count)

    assert name("serial") == "0000000007-one"
    assert UUID(name("uuid")).version == 4
    assert UUID(name("uuid_v7")).version == 7
    assert UUID(name("uuid_v7")).int >> 80 == now // 1000
    assert name("ulid") == "01HK153X00ZZZZZZZZZZZZZZZZ"
    assert name("ulid") < name("ulid", now + 1000)


@pytest.mark.parametrize(
    ("pattern", "end"),
    [
        ("%Y", datetime(2025, 1, 1, tzinfo=UTC)),
        ("%Y/%m", datetime(2025, 1, 1, tzinfo=UTC)),
        ("%G-%V", datetime(2024, 12, 30, tzinfo=UTC)),
        ("%Y-%U", datetime(2024, 12, 29, tzinfo=UTC)),
        ("%Y-%m-%d", datetime(2024, 12, 25, tzinfo=UTC)),
        ("%F/%-H", datetime(2024, 12, 24, 19, tzinfo=UTC)),
        ("%F %R", datetime(2024, 12, 24, 18, 31, tzinfo=UTC)),
        ("%s", datetime(2024, 12, 24, 18, 30, 16, tzinfo=UTC)),
    ],
)
def test_a_directory_ends_with_the_finest_unit_of_its_name(pattern: str, end: datetime) -> None:
    assert end_of(datetime(2024, 12, 24, 18, 30, 15, 5, tzinfo=UTC), pattern) == micros(end)


def test_directories_that_do_not_differ_in_time_have_no_end() -> None:
    assert end_of(at(0), "all%%d") is None
    assert end_of(datetime(9999, 12, 31, tzinfo=UTC), "%Y") is None


def test_an_epoch_that_was_not_committed_leaves_no_segment_behind(tmp_path: Path) -> None:
    stream = Stream(tmp_path, rolling_policy__interval="1 hour")
    for number in range(3):
        stream.take((number, "a"))
    stream.number = 2
    stream.take((2, "a"))

    segments = [path for path in (tmp_path / "state").rglob("segments/*/*") if path.is_file()]
    assert len(segments) == 3
    stream.take(is_last=True)
    assert stream.numbers() == [0, 1, 2]
    stream.take()
    assert not list((tmp_path / "state").rglob("segments/*"))


@pytest.mark.parametrize(
    ("damage", "error"), [("segment gone", LedgerLostError), ("manifest cut", LedgerLostError),
                          ("manifest gone", LedgerLostError), ("segment gone and restored", RewindTooFarError)],
)  # fmt: skip
def test_rows_of_open_files_that_are_gone_are_missed(damage: str, error: type[EngineError], tmp_path: Path) -> None:
    stream = Stream(tmp_path, rolling_policy__interval="1 hour")
    stream.take((1, "a"))
    stream.take((2, "a"))
    state = tmp_path / "state" / "sinks" / "t"
    next_epoch = epoch(2)
    if damage.startswith("segment"):
        next(state.glob("segments/000000000000-*/*")).unlink()
    else:
        path = state / "manifests" / "000000000001-one.json"
        path.write_text(path.read_text()[:50]) if damage == "manifest cut" else path.unlink()
    if damage.endswith("restored"):
        next_epoch = epoch(1, "two", generation=2, parents=(("one", 0),))

    with pytest.raises(error) as refused:
        take(stream.sink(), next_epoch, [batch(NUMBERS, (3, "a"))])

    assert refused.value.hint
    assert stream.files() == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rolling_policy__watermark_expiration": True}, "needs 'partitioning.time_pattern'"),
        ({"rolling_policy__interval": "0 seconds"}, "greater than zero"),
        ({"rolling_policy__file_size": "0"}, "greater than 0"),
        ({"filename__strategy": "random"}, "'serial', 'uuid', 'uuid_v7' or 'ulid'"),
    ],
)
def test_rules_that_make_no_sense_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ScriptRefused, match=message):
        table("filesystem", NUMBERS, path="x", type="sink", format="json", **options)


def test_silence_is_not_waited_out_longer_than_a_file_may_wait() -> None:
    def wakes(**options: Any) -> timedelta | None:
        of = table("filesystem", NUMBERS, path="x", type="sink", format="json", **options)
        assert isinstance(of.options, FilesystemSinkOptions)
        return of.options.wakes_after

    assert wakes() is None
    assert wakes(rolling_policy__file_size="1kb") is None
    assert wakes(rolling_policy__interval="1 minute") == timedelta(seconds=30)
    assert wakes(rolling_policy__interval="1 hour", rolling_policy__inactivity_interval="1s") == timedelta(seconds=1)


def test_a_sink_reads_the_clock_of_the_machine(tmp_path: Path) -> None:
    of = table("filesystem", NUMBERS, path=tmp_path / "out", type="sink", format="json", rolling_policy__interval="1h")

    take(sink(of, tmp_path / "s" / "sinks" / "t"), epoch(0), [batch(NUMBERS, (1, "a"))])

    [file] = json.loads(next((tmp_path / "s").rglob("manifests/*.json")).read_text())["open"]
    assert datetime.fromtimestamp(file["since"] / 1e6, UTC).year > 2025


@pytest.mark.parametrize("form", ["json", "parquet"])
def test_a_file_of_many_epochs_stays_a_few_segments(form: str, tmp_path: Path) -> None:
    stream = Stream(tmp_path, format=form, rolling_policy__interval="1 hour")
    most = 0
    for number in range(40):
        stream.take((number, "a"))
        manifest = json.loads((tmp_path / f"state/sinks/t/manifests/{number:012d}-one.json").read_text())
        most = max(most, len(manifest["open"][0]["segments"]))

    assert most <= 20
    stored = [path for path in tmp_path.rglob("segments/*/*") if path.is_file()]
    assert len(stored) <= 20
    [name] = stream.take(is_last=True)
    if form == "json":
        assert stream.numbers() == list(range(40))
    else:
        assert pq.read_table(tmp_path / "out" / name).column("n").to_pylist() == list(range(40))
