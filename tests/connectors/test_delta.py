"""Delta tables, read back with deltalake."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from engine.connectors import sink_kind_of
from engine.connectors.base import Table
from engine.connectors.delta.log import DataFile, DeltaLog
from engine.delivery.epoch import Epoch
from engine.errors import EngineError, LedgerLostError, TargetUnavailableError, UnwritableTargetError
from engine.schema import Field, Schema, arrow_schema
from engine.types import BIGINT, BOOLEAN, INT, TEXT, TIMESTAMP, Array, Date, Interval
from tests.connectors.tables import NUMBERS, batch, epoch, sink, table, take

KEYED = Schema((Field("n", BIGINT), Field("day", Date()), Field("shop", TEXT), Field("paid", BOOLEAN)))


def place(root: Path) -> Path:
    return root / "state" / "sinks" / "t"


def delta(root: Path, schema: Schema = NUMBERS, **options: Any) -> Table:
    return table("delta", schema, path=root / "out", **options)


def rows(root: Path) -> list[dict[str, Any]]:
    written = DeltaTable(root / "out").to_pyarrow_table().to_pylist()
    return sorted(written, key=lambda row: row["n"])


def test_each_epoch_with_rows_is_a_version(tmp_path: Path) -> None:
    for number in range(3):
        some = [batch(NUMBERS, (number, "a"))] if number != 1 else []
        take(sink(delta(tmp_path), place(tmp_path)), epoch(number), some, some)

    assert [row["n"] for row in rows(tmp_path)] == [0, 0, 2, 2]
    versions = DeltaTable(tmp_path / "out").history()
    assert [version["operation"] for version in versions] == ["WRITE", "WRITE", "CREATE TABLE"]
    assert versions[0]["epoch"] == "2"
    assert len(DeltaTable(tmp_path / "out").file_uris()) == 2


def test_files_are_in_directories_of_event_time_that_are_no_partition_columns(tmp_path: Path) -> None:
    timed = Schema((*NUMBERS.fields, Field("_timestamp", TIMESTAMP)))
    of = delta(tmp_path, partitioning__time_pattern="day=%d/%H", partitioning__fields=("name",))
    times = [datetime(2024, 5, 6, hour, 30, tzinfo=UTC) for hour in (1, 2)]
    some = batch(timed, (1, "a", times[0]), (2, None, times[1]), (3, "a", times[0]))

    take(sink(of, place(tmp_path)), epoch(0), [some])

    assert rows(tmp_path) == [{"n": 1, "name": "a"}, {"n": 2, "name": None}, {"n": 3, "name": "a"}]
    found = DeltaTable(tmp_path / "out")
    assert found.metadata().partition_columns == ["name"]
    assert sorted(uri.partition("/out/")[2].rpartition("/")[0] for uri in found.file_uris()) == [
        "day=06/01/name=a",
        "day=06/02/name=__HIVE_DEFAULT_PARTITION__",
    ]
    assert sink_kind_of(of).needs_event_time(of.options)
    assert not sink_kind_of(of).needs_event_time(delta(tmp_path).options)


def test_a_version_is_made_when_files_become_final(tmp_path: Path) -> None:
    of = delta(tmp_path, rolling_policy__interval="1 hour")
    take(sink(of, place(tmp_path)), epoch(0), [batch(NUMBERS, (1, "a"))])
    assert DeltaTable(tmp_path / "out").version() == 0

    last = Epoch(1, "one", 1, "offsets-1", is_last=True)
    take(sink(of, place(tmp_path)), last, [batch(NUMBERS, (2, "a"))])

    assert DeltaTable(tmp_path / "out").version() == 1
    assert [row["n"] for row in rows(tmp_path)] == [1, 2]


def test_rows_are_divided_by_columns_that_are_in_no_file(tmp_path: Path) -> None:
    of = delta(tmp_path, KEYED, partitioning__fields=("day", "shop", "paid"))
    records = [
        (1, date(2024, 5, 6), "a/b c=%d", True), (2, date(2024, 5, 6), "ä", False),
        (3, None, None, None), (4, date(2024, 5, 7), "x", None),
    ]  # fmt: skip

    take(sink(of, place(tmp_path)), epoch(0), [batch(KEYED, *records)])

    assert [tuple(row.values()) for row in rows(tmp_path)] == records
    assert DeltaTable(tmp_path / "out").metadata().partition_columns == ["day", "shop", "paid"]
    assert all("shop" not in pa.parquet.read_schema(path).names for path in (tmp_path / "out").rglob("*.parquet"))


def test_all_kinds_of_values_come_back(tmp_path: Path) -> None:
    schema = Schema((Field("n", INT), Field("at", TIMESTAMP), Field("some", Array(BIGINT))))
    some = batch(schema, (1, 1_700_000_000_000_000, [1, None]), (2, None, None))

    take(sink(delta(tmp_path, schema), place(tmp_path)), epoch(0), [some])

    assert rows(tmp_path) == some.to_pylist()


def log(root: Path) -> DeltaLog:
    return DeltaLog(str(root / "out"), {}, arrow_schema(NUMBERS), (), "job/t")


def data_file(root: Path, name: str) -> DataFile:
    rows = pa.Table.from_batches([batch(NUMBERS, (1, "a"))])
    pa.parquet.write_table(rows, root / "out" / name)
    return DataFile(name, 1, (root / "out" / name).stat().st_size, {})


def test_an_epoch_that_is_committed_is_not_committed_again(tmp_path: Path) -> None:
    log(tmp_path).create()
    file = data_file(tmp_path, "a.parquet")

    for _ in range(2):
        log(tmp_path).add(epoch(3), [file], 0)
    log(tmp_path).add(epoch(2), [data_file(tmp_path, "b.parquet")], 0)

    assert DeltaTable(tmp_path / "out").version() == 1
    assert DeltaTable(tmp_path / "out").transaction_version("job/t/one") == 3


def test_only_one_of_two_simultaneous_commits_of_an_epoch_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log(tmp_path).create()
    file = data_file(tmp_path, "a.parquet")
    original = DeltaTable.create_write_transaction
    competing_commits = []

    def meanwhile(self: DeltaTable, *args: Any, **more: Any) -> None:
        if not competing_commits:
            competing_commits.append(self)
            log(tmp_path).add(epoch(0), [file], 0)
        original(self, *args, **more)

    monkeypatch.setattr(DeltaTable, "create_write_transaction", meanwhile)
    log(tmp_path).add(epoch(0), [file], 0)

    assert competing_commits
    assert DeltaTable(tmp_path / "out").version() == 1
    assert len(rows(tmp_path)) == 1


def test_a_history_that_was_left_commits_no_more(tmp_path: Path) -> None:
    log(tmp_path).create()
    log(tmp_path).remove(epoch(1, "two", parents=(("one", 0),)), "one", (), 0)

    log(tmp_path).add(epoch(1), [data_file(tmp_path, "a.parquet")], 0)

    assert rows(tmp_path) == []


def test_files_added_by_others_are_unchanged(tmp_path: Path) -> None:
    for number in range(2):
        take(sink(delta(tmp_path), place(tmp_path)), epoch(number), [batch(NUMBERS, (number, "a"))])
    write_deltalake(tmp_path / "out", pa.Table.from_batches([batch(NUMBERS, (100, "theirs"))]), mode="append")

    restored = epoch(1, "two", generation=2, parents=(("one", 0),))
    take(sink(delta(tmp_path), place(tmp_path)), restored, [batch(NUMBERS, (7, "a"))])

    assert [row["n"] for row in rows(tmp_path)] == [0, 7, 100]


def test_a_table_with_other_columns_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    write_deltalake(tmp_path / "out", pa.table({"n": [1.5]}))

    with pytest.raises(UnwritableTargetError, match="n double") as refused:
        take(sink(delta(tmp_path), place(tmp_path)), epoch(0), [batch(NUMBERS, (1, "a"))])

    assert refused.value.hint
    assert DeltaTable(tmp_path / "out").version() == 0


MORE = Schema((*NUMBERS, Field("extra", TEXT)))


def test_a_table_gets_a_column_that_is_new_and_keeps_it_when_an_earlier_version_writes_again(tmp_path: Path) -> None:
    take(sink(delta(tmp_path), place(tmp_path)), epoch(0), [batch(NUMBERS, (1, "a"))])

    changed = epoch(1, "two", generation=2, parents=(("one", 0),))
    take(sink(delta(tmp_path, MORE), place(tmp_path)), changed, [batch(MORE, (2, "b", "x"))])

    assert [row.get("extra") for row in rows(tmp_path)] == [None, "x"]
    assert [version["operation"] for version in DeltaTable(tmp_path / "out").history()].count("ADD COLUMN") == 1

    back = epoch(1, "three", generation=3, parents=(("two", 0), ("one", 0)))
    take(sink(delta(tmp_path), place(tmp_path)), back, [batch(NUMBERS, (3, "c"))])

    assert [(row["n"], row["extra"]) for row in rows(tmp_path)] == [(1, None), (3, None)]
    assert DeltaTable(tmp_path / "out").schema().to_arrow().names == list(MORE.names)


def test_rows_in_files_that_are_open_when_a_column_comes_have_null_there(tmp_path: Path) -> None:
    narrow, wide = (delta(tmp_path, columns, rolling_policy__interval="1 hour") for columns in (NUMBERS, MORE))
    take(sink(narrow, place(tmp_path)), epoch(0), [batch(NUMBERS, (1, "a"))])
    assert rows(tmp_path) == []

    last = Epoch(1, "two", 2, "offsets-1", parents=(("one", 0),), is_last=True)
    take(sink(wide, place(tmp_path)), last, [batch(MORE, (2, "b", "x"))])

    assert [(row["n"], row["extra"]) for row in rows(tmp_path)] == [(1, None), (2, "x")]
    assert len(DeltaTable(tmp_path / "out").file_uris()) == 1


def test_a_table_that_is_gone_is_missed(tmp_path: Path) -> None:
    take(sink(delta(tmp_path), place(tmp_path)), epoch(0), [batch(NUMBERS, (1, "a"))])
    (tmp_path / "out").rename(tmp_path / "elsewhere")

    with pytest.raises(LedgerLostError) as lost:
        take(sink(delta(tmp_path), place(tmp_path)), epoch(1, generation=2), [batch(NUMBERS, (2, "a"))])
    assert lost.value.hint

    (tmp_path / "elsewhere").rename(tmp_path / "out")
    take(sink(delta(tmp_path), place(tmp_path)), epoch(1, generation=2), [batch(NUMBERS, (2, "a"))])
    assert [row["n"] for row in rows(tmp_path)] == [1, 2]


def test_a_log_that_refuses_every_commit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from deltalake.exceptions import CommitFailedError

    def refuse(*_: Any, **__: Any) -> None:
        raise CommitFailedError("no")

    log(tmp_path).create()
    monkeypatch.setattr(DeltaTable, "create_write_transaction", refuse)

    with pytest.raises(TargetUnavailableError) as refused:
        log(tmp_path).add(epoch(0), [], 0)

    assert refused.value.retryable


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")

    with pytest.raises(EngineError) as refused:
        take(sink(delta(tmp_path), place(tmp_path)), epoch(0), [batch(NUMBERS, (1, "a"))])

    assert refused.value.code in {"data.unwritable_target", "delivery.unavailable"}
    assert refused.value.hint


@pytest.mark.parametrize(
    ("schema", "fields", "message"),
    [
        (NUMBERS, ("town",), "names 'town'; the table's columns are n, name"),
        (Schema((Field("n", BIGINT), Field("at", TIMESTAMP))), ("at",), "'at' is TIMESTAMP"),
        (NUMBERS, ("n", "name"), "no column is left for the files"),
        (Schema((Field("n", BIGINT), Field("gap", Interval()))), (), "cannot hold column 'gap' of type INTERVAL"),
        (NUMBERS, ("name",), None),
    ],
)
def test_tables_that_cannot_be_are_refused(
    schema: Schema, fields: tuple[str, ...], message: str | None, tmp_path: Path
) -> None:
    table = delta(tmp_path, schema, partitioning__fields=fields)
    complaint = sink_kind_of(table).check(table)

    assert (complaint is None) == (message is None)
    assert message is None or message in str(complaint)
