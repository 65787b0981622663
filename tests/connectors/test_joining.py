"""One file of many segments: the same rows in the same order, in groups of a good size, the same bytes every time."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.connectors.files import joining as file_joining
from engine.connectors.files.joining import join_segments
from engine.connectors.files.parquet_footer import Footer
from engine.formats.json.options import JsonOptions
from engine.formats.parquet import ParquetOptions
from engine.schema import Field, Schema, arrow_schema
from engine.types import BIGINT, BOOLEAN, DOUBLE, TEXT, TIMESTAMP, Array, Member, Struct

KINDS = Schema((
    Field("n", BIGINT), Field("name", TEXT), Field("at", TIMESTAMP), Field("yes", BOOLEAN), Field("x", DOUBLE),
    Field("some", Array(TEXT)), Field("both", Struct((Member("a", BIGINT), Member("b", TEXT)))),
))  # fmt: skip


def row(number: int) -> dict[str, object]:
    if number % 7 == 0:
        return dict.fromkeys(KINDS.names) | {"n": number}
    return {
        "n": number, "name": f"name {number % 5}", "at": datetime(2024, 1, 1, number % 24, tzinfo=UTC),
        "yes": number % 2 == 0, "x": number / 3, "some": [str(number)] * (number % 3),
        "both": {"a": number, "b": None if number % 2 else "b"},
    }  # fmt: skip


def segments(folder: Path, sizes: list[int], *, group: int = 1000) -> tuple[list[Path], list[dict[str, object]]]:
    rows = [row(number) for number in range(sum(sizes))]
    paths, first = [], 0
    for index, size in enumerate(sizes):
        some = pa.Table.from_pylist(rows[first : first + size], schema=arrow_schema(KINDS))
        paths.append(folder / f"{index}.parquet")
        pq.write_table(some, paths[-1], row_group_size=group, write_page_index=index % 2 == 0, compression="zstd")
        first += size
    return paths, rows


@pytest.mark.parametrize("large", [4 * 1024 * 1024, 2000])
@pytest.mark.parametrize("sizes", [[10, 20], [3000, 1, 500], [5] * 20, [5] * 9 + [4000] + [7] * 3 + [4000], [0, 4, 0]])
def test_the_rows_of_all_segments_are_there_in_their_order(
    sizes: list[int], large: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_joining, "_LARGE", large)
    paths, rows = segments(tmp_path, sizes)

    for name in ("one", "two"):
        join_segments(ParquetOptions(), KINDS, paths, tmp_path / name)

    with pq.ParquetFile(tmp_path / "one") as file:
        assert file.read().to_pylist() == rows
        assert file.metadata.num_rows == len(rows)
    assert duckdb.execute("SELECT n FROM read_parquet($1)", [str(tmp_path / "one")]).fetchall() == [
        (row["n"],) for row in rows
    ]
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix != ".parquet") == ["one", "two"]


def test_filters_find_what_they_look_for_by_the_footer(tmp_path: Path) -> None:
    paths, _ = segments(tmp_path, [3000, 3000], group=500)

    join_segments(ParquetOptions(), KINDS, paths, tmp_path / "one")

    assert [row["n"] for row in pq.read_table(tmp_path / "one", filters=[("n", ">", 5997)]).to_pylist()] == [
        5998,
        5999,
    ]
    groups = pq.ParquetFile(tmp_path / "one").metadata
    assert [groups.row_group(at).column(0).statistics.max for at in (0, 6, 11)] == [499, 3499, 5999]


def test_many_small_segments_become_large_groups(tmp_path: Path) -> None:
    paths, rows = segments(tmp_path, [100] * 30)

    join_segments(ParquetOptions(), KINDS, paths, tmp_path / "all")
    join_segments(ParquetOptions.model_validate({"parquet.row_group_size": 50_000}), KINDS, paths, tmp_path / "some")

    assert pq.ParquetFile(tmp_path / "all").num_row_groups == 1
    assert 1 < pq.ParquetFile(tmp_path / "some").num_row_groups < 10
    assert pq.read_table(tmp_path / "some").to_pylist() == rows


def test_a_footer_is_written_as_it_was_read(tmp_path: Path) -> None:
    [path], _ = segments(tmp_path, [2000], group=90)
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")

    assert Footer.read(content[-8 - length : -8]).to_bytes() == content[-8 - length :]


def test_no_segment_makes_an_empty_file(tmp_path: Path) -> None:
    join_segments(ParquetOptions(), KINDS, [], tmp_path / "marker")

    assert (tmp_path / "marker").read_bytes() == b""


def test_lines_are_put_behind_each_other(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"{name}\n")

    join_segments(JsonOptions(), KINDS, [tmp_path / "a", tmp_path / "b"], tmp_path / "c")

    assert (tmp_path / "c").read_text() == "a\nb\n"
