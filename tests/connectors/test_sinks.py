from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.connectors import kind_of, sink_kind_of
from engine.connectors.base import Table
from engine.connectors.options import read_table_options
from engine.connectors.preview import PreviewRows, read_preview
from engine.errors import EngineError, ScriptRefused
from engine.schema import Field, Schema
from engine.types import BIGINT, TEXT, TIMESTAMP
from tests.connectors.tables import NUMBERS, batch, connector, epoch, given, sink, table, take

TIMED = Schema((*NUMBERS.fields, Field("_timestamp", TIMESTAMP)))


def at(hour: int) -> datetime:
    return datetime(2024, 5, 6, hour, 30, tzinfo=UTC)


def files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def directory(folder: Path, **options: Any) -> Table:
    return table("filesystem", NUMBERS, path=folder, type="sink", **{"format": "json"} | options)


def test_rows_are_spread_over_directories_by_time_and_value(tmp_path: Path) -> None:
    of = directory(tmp_path / "out", partitioning__fields=("name",), partitioning__time_pattern="%Y-%m-%d/%H")
    some = batch(TIMED, (1, "a", at(1)), (2, "b/.. c", at(1)), (3, None, at(2)), (4, "a", at(1)))

    take(sink(of, tmp_path / "s" / "sinks" / "t"), epoch(0, "0123456789abcdef"), [some])

    assert files(tmp_path / "out") == [
        "2024-05-06/01/name=a/0000000000-0123456789ab.json",
        "2024-05-06/01/name=b%2F.. c/0000000000-0123456789ab.json",
        "2024-05-06/02/name=__HIVE_DEFAULT_PARTITION__/0000000000-0123456789ab.json",
    ]
    lines = (tmp_path / "out/2024-05-06/01/name=a/0000000000-0123456789ab.json").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [{"n": 1, "name": "a"}, {"n": 4, "name": "a"}]


def test_a_sink_asks_for_the_event_time_only_for_a_time_pattern(tmp_path: Path) -> None:
    asks = sink_kind_of(directory(tmp_path)).needs_event_time

    assert asks(directory(tmp_path, partitioning__time_pattern="%Y").options)
    assert not asks(directory(tmp_path).options)


def test_the_tasks_of_an_epoch_share_one_file_per_partition(tmp_path: Path) -> None:
    of = directory(tmp_path / "out", format="parquet", filename__prefix="part-")

    take(sink(of, tmp_path / "s" / "sinks" / "t"), epoch(0), [batch(NUMBERS, (1, "a"))], [batch(NUMBERS, (2, None))])

    [name] = files(tmp_path / "out")
    assert name == "part-0000000000-one.parquet"
    assert pq.ParquetFile(tmp_path / "out" / name).read().to_pylist() == [{"n": 1, "name": "a"}, {"n": 2, "name": None}]


def test_compressed_files_of_json_can_be_read(tmp_path: Path) -> None:
    of = directory(tmp_path / "out", json__compression="gzip")

    take(sink(of, tmp_path / "s" / "sinks" / "t"), epoch(0), [batch(NUMBERS, (1, "a"))], [batch(NUMBERS, (2, "b"))])

    [name] = files(tmp_path / "out")
    text = pa.CompressedInputStream(pa.OSFile(str(tmp_path / "out" / name)), "gzip").read()
    assert text == b'{"n":1,"name":"a"}\n{"n":2,"name":"b"}\n'


def test_an_epoch_without_rows_makes_no_file(tmp_path: Path) -> None:
    take(sink(directory(tmp_path / "out"), tmp_path / "s" / "sinks" / "t"), epoch(0), [batch(NUMBERS)])

    assert files(tmp_path / "out") == []


def test_columns_that_are_not_there_cannot_make_directories(tmp_path: Path) -> None:
    of = directory(tmp_path, partitioning__fields=("name", "town"))

    assert kind_of(of).check(of) == ("'partitioning.fields' names 'town'; the table's columns are n, name")
    assert kind_of(directory(tmp_path)).check(directory(tmp_path)) is None


@pytest.mark.parametrize("options", [{"partitioning__time_pattern": "../%Y"}, {"filename__prefix": "a/b"}])
def test_files_stay_inside_their_directory(options: dict[str, str]) -> None:
    with pytest.raises(ScriptRefused):
        read_table_options(connector("filesystem"), given(type="sink", path="x", format="json", **options), table="t")


def test_a_target_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    of = table("single_file", NUMBERS, path=tmp_path / "taken" / "out.json", type="sink", format="json")

    with pytest.raises(EngineError) as refused:
        take(sink(of, tmp_path / "s" / "sinks" / "t"), epoch(0), [batch(NUMBERS, (1, "a"))])

    assert refused.value.code == "data.unwritable_target"
    assert str(tmp_path / "taken" / "out.json") in refused.value.message


def test_stdout_prints_an_epoch_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of = table("stdout", Schema((Field("n", BIGINT),)))
    some = batch(of.schema, (1,), (2,))

    for _ in range(2):
        take(sink(of, tmp_path / "sinks" / "t"), epoch(0), [some])

    assert capsys.readouterr().out == '{"n":1}\n{"n":2}\n'


def test_stdout_may_print_raw_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of = table("stdout", Schema((Field("value", TEXT),)), format="raw_string")

    take(sink(of, tmp_path / "sinks" / "t"), epoch(0), [batch(of.schema, ("hello",))])

    assert capsys.readouterr().out == "hello\n"


def test_a_preview_keeps_the_newest_rows(tmp_path: Path) -> None:
    of = table("preview", NUMBERS, rows=3)

    for number in range(3):
        take(sink(of, tmp_path), epoch(number), [batch(NUMBERS, (2 * number, "a"), (2 * number + 1, "b"))])

    rows = read_preview(tmp_path)
    assert [[json.loads(line)["n"] for line in lines] for lines in (rows.lines, rows.after(4), rows.after(0))] == [
        [3, 4, 5],
        [4, 5],
        [3, 4, 5],
    ]
    assert (rows.total, rows.after(6), rows.after(7)) == (6, (), rows.lines)


def test_a_preview_keeps_as_many_rows_as_fit_into_its_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.connectors.preview.MOST_BYTES", 100)
    of = table("preview", NUMBERS, rows=1_000_000_000)

    take(sink(of, tmp_path), epoch(0), [batch(NUMBERS, *((number, "a") for number in range(50)))])
    rows = read_preview(tmp_path)
    assert [json.loads(line)["n"] for line in rows.lines] == [45, 46, 47, 48, 49]
    take(sink(of, tmp_path), epoch(1), [batch(NUMBERS, (50, "a"), (51, "b" * 50))])

    rows = read_preview(tmp_path)
    assert rows.total == 52
    assert sum(len(line) + 1 for line in rows.lines) <= 100
    assert [json.loads(line)["n"] for line in rows.lines] == [50, 51]
    take(sink(of, tmp_path), epoch(2), [batch(NUMBERS, (52, "c" * 200))])
    assert (read_preview(tmp_path).total, read_preview(tmp_path).lines) == (53, ()), "no row may be longer than that"


def test_a_long_preview_of_an_earlier_version_is_not_read_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.connectors.preview.MOST_BYTES", 20)
    text = "".join(f'{{"n": {number}}}\n' for number in range(9))

    for head, total in (("", 9), ("#30\n", 30)):
        (tmp_path / "preview.jsonl").write_text(head + text)
        assert read_preview(tmp_path) == PreviewRows(total, (b'{"n": 7}', b'{"n": 8}'))


def test_a_preview_of_an_earlier_version_is_read_and_one_without_rows_is_empty(tmp_path: Path) -> None:
    assert read_preview(tmp_path) == PreviewRows(0, ())

    (tmp_path / "preview.jsonl").write_text('{"n": 1}\n{"n": 2}\n')

    assert read_preview(tmp_path).after(1) == (b'{"n": 2}',)
