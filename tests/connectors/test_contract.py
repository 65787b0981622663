"""What every connector owes, over all of CONNECTORS: an option without a description, or a source that reads
differently the second time, fails here without a test of its own."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import BaseModel

from engine.connectors import CONNECTORS
from engine.connectors.base import Direction, Position, Source, Table
from engine.connectors.kinds import Connector
from engine.connectors.options import TableOptions
from engine.formats import FORMATS, make_encoder
from engine.formats.base import Format
from engine.formats.json.options import JsonOptions
from engine.schema import Field, Schema, arrow_schema
from engine.types import TEXT, Bytes
from tests.connectors.tables import (
    NUMBERS,
    batch,
    between,
    epoch,
    positions,
    read_all,
    rows,
    sink,
    source,
    start,
    table,
    take,
)

COUNT = 1234


def lines(first: int, count: int) -> bytes:
    values = [(number, f"name {number}" * (number % 9)) for number in range(first, first + count)]
    return make_encoder(JsonOptions(), NUMBERS).encode_lines(batch(NUMBERS, *values))


def plain_file(folder: Path) -> Table:
    (folder / "in.json").write_bytes(lines(0, COUNT).removesuffix(b"\n"))
    return table("single_file", NUMBERS, {"line": "line"}, path=folder / "in.json", type="source", format="json")


def packed_file(folder: Path, suffix: str, codec: str) -> Table:
    parts = [pa.Codec(codec).compress(lines(first, COUNT // 2), asbytes=True) for first in (0, COUNT // 2)]
    (folder / f"in.json{suffix}").write_bytes(b"".join(parts))
    return table("single_file", NUMBERS, path=folder / f"in.json{suffix}", type="source", format="json")


def json_directory(folder: Path) -> Table:
    (folder / "deep").mkdir()
    for name, first, count in (
        ("b.json", 0, 600),
        ("deep/c.json", 600, 34),
        ("empty.json", 0, 0),
        ("z.json", 634, 600),
    ):
        (folder / name).write_bytes(lines(first, count))
    (folder / "_draft.json").write_bytes(b"nonsense")
    return table("filesystem", NUMBERS, {"file": "filename"}, path=folder, type="source", format="json")


def parquet_directory(folder: Path) -> Table:
    for name, first, count in (("a", 0, 1000), ("b", 1000, 0), ("c", 1000, 234)):
        whole = batch(NUMBERS, *((number, str(number)) for number in range(first, first + count)))
        pq.write_table(pa.Table.from_batches([whole]), folder / f"{name}.parquet", row_group_size=300)
    return table("filesystem", NUMBERS, path=folder, type="source", format="parquet")


SOURCES: dict[str, Callable[[Path], Table]] = {
    "single_file": plain_file,
    "single_file, gzip": lambda folder: packed_file(folder, ".gz", "gzip"),
    "single_file, zstd": lambda folder: packed_file(folder, ".zst", "zstd"),
    "filesystem, json": json_directory,
    "filesystem, parquet": parquet_directory,
    "impulse": lambda folder: table(
        "impulse", None, {"at": "timestamp"}, event_rate=1e9, message_count=COUNT, event_time_interval=1000
    ),
    "nexmark": lambda folder: table("nexmark", None, {"at": "timestamp"}, message_count=COUNT),
}


@pytest.fixture(params=SOURCES, ids=lambda name: name.replace(", ", "-"))
def of(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    return SOURCES[request.param](tmp_path)


def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "single_file.source._SMALLEST_SLICE",
        "filesystem.source._SMALLEST_RANGE",
        "generated._SMALLEST_SLICE",
    ):
        monkeypatch.setattr(f"engine.connectors.{name}", 16)


def test_every_connector_that_reads_is_in_these_tests() -> None:
    with_a_server = {"kafka"}  # in tests/kafka
    readers = {connector.name for connector in CONNECTORS if "source" in connector.options}

    assert readers - with_a_server == {name.split(",")[0] for name in SOURCES}


def models() -> list[type[BaseModel]]:
    by_name: dict[str, type[BaseModel]] = {TableOptions.__name__: TableOptions}
    by_name |= {model.__name__: model for declaration in CONNECTORS for model in declaration.options.values()}
    by_name |= {form.options.__name__: form.options for form in FORMATS}
    return list(by_name.values())


@pytest.mark.parametrize("model", models(), ids=lambda model: model.__name__)
def test_every_option_has_a_description(model: type[BaseModel]) -> None:
    assert model.__doc__
    assert [name for name, info in model.model_fields.items() if not info.description] == []


@pytest.mark.parametrize("declaration", CONNECTORS, ids=lambda declaration: declaration.name)
def test_a_connector_does_what_it_declares(declaration: Connector) -> None:
    assert declaration.summary.endswith(".")
    assert declaration.kinds
    assert declaration.formats <= {form.name for form in FORMATS}
    assert declaration.default_format is None or declaration.default_format in declaration.formats
    assert declaration.event_time is None or declaration.event_time in declaration.metadata


LINES = {"json", "debezium_json", "raw_string"}
FORMATS_OF = {
    "blackhole": set[str](),
    "delta": {"parquet"},
    "filesystem": LINES | {"parquet", "csv"},
    "impulse": set[str](),
    "kafka": LINES | {"raw_bytes", "avro", "protobuf"},
    "nexmark": set[str](),
    "preview": {"json", "debezium_json"},
    "redis": {"json", "raw_string"},
    "single_file": LINES,
    "stdout": LINES,
    "webhook": LINES,
}
NOT_LOOKED_UP = {"debezium_json"}
ONLY_LOOKED_UP = {"csv"}
COLUMNS_OF = {"raw_string": Schema((Field("value", TEXT),)), "raw_bytes": Schema((Field("value", Bytes()),))}


@pytest.mark.parametrize("connector", CONNECTORS, ids=lambda connector: connector.name)
def test_a_connector_carries_these_formats_in_each_direction(connector: Connector) -> None:
    expected = FORMATS_OF[connector.name]

    assert connector.formats == expected
    for direction in connector.options:
        usable = {form.name for form in FORMATS if form.name in connector.formats and is_usable(form, direction)}
        assert usable == expected - (NOT_LOOKED_UP if direction == "lookup" else ONLY_LOOKED_UP)


def is_usable(form: Format, direction: Direction) -> bool:
    options = {"protobuf": {"protobuf.descriptor": "shop.desc", "protobuf.message": "shop.Order"}}.get(form.name, {})
    columns = COLUMNS_OF.get(form.name, NUMBERS)
    return form.check(form.options.model_validate(options), columns, direction, "kafka") is None


def test_rows_have_the_declared_schema(of: Table) -> None:
    expected = arrow_schema(of.schema)

    for chunk in between(source(of), start(source(of)), positions(source(of), None)[-1]):
        assert pa.schema(list(chunk.schema)[: len(expected)]).equals(expected)
        assert chunk.schema.names[len(expected) :] == [name for name, _ in of.metadata]


def test_a_range_reads_the_same_every_time(of: Table) -> None:
    reader = source(of)
    last = positions(reader, None)[-1]

    once = rows(between(reader, start(reader), last))

    assert len(once) == COUNT
    assert rows(between(source(of), start(reader), last)) == once


def test_a_source_gives_at_most_the_rows_it_is_asked_for(of: Table) -> None:
    ends = positions(source(of), 100)
    counts = [len(rows(between(source(of), begin, end))) for begin, end in pairwise(ends)]

    last_count, *full_counts = (count for count in reversed(counts) if count)
    assert last_count == COUNT % 100
    assert full_counts == [100] * (COUNT // 100)


def test_nothing_more_comes_behind_the_end(of: Table) -> None:
    reader = source(of)
    last = positions(reader, None)[-1]

    assert dict(reader.advance(last, None)) == last
    assert all(reader.is_finished(partition, at) for partition, at in last.items())
    assert rows(between(reader, last, last)) == []


@pytest.mark.parametrize("tasks", [1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_any_cut_into_epochs_and_slices_gives_the_same_rows(
    of: Table, tasks: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_slices(monkeypatch)
    chance = random.Random(seed)
    reader = source(of)
    whole = positions(reader, None)
    expected = [strip(row) for row in rows(between(reader, whole[0], whole[-1]))]
    at, records = start(reader), []
    while not finished(reader, at):
        following = dict(reader.advance(at, chance.choice([1, 7, 300, 5000])))
        records += rows(between(source(of), at, following, tasks))
        at = following

    assert [strip(row) for row in records] == expected


@pytest.mark.parametrize("tasks", [2, 3, 8])
def test_a_range_is_cut_into_at_most_as_many_slices_as_there_are_tasks(
    of: Table, tasks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_slices(monkeypatch)
    reader = source(of)
    last = positions(reader, None)[-1]

    for partition, end in last.items():
        assert 1 <= len(reader.slices(partition, reader.start(partition), end, tasks)) <= tasks


def finished(reader: Source, at: Mapping[str, Position]) -> bool:
    return all(reader.is_finished(partition, where) for partition, where in at.items())


def strip(row: dict[str, object]) -> dict[str, object]:
    """A row without what depends on when the source was first started."""
    return {name: value for name, value in row.items() if name not in ("at", "person", "auction")} | {
        "bid": (row.get("bid") or {}) and {k: v for k, v in row["bid"].items() if k != "datetime"}  # type: ignore[attr-defined]
    }


SINKS: dict[str, Callable[[Path], Table]] = {
    "delta": lambda folder: table("delta", NUMBERS, path=folder / "out"),
    "blackhole": lambda folder: table("blackhole", NUMBERS),
    "filesystem": lambda folder: table("filesystem", NUMBERS, type="sink", path=folder / "out", format="json"),
    "preview": lambda folder: table("preview", NUMBERS),
    "single_file": lambda folder: table("single_file", NUMBERS, type="sink", path=folder / "out.json", format="json"),
    "stdout": lambda folder: table("stdout", NUMBERS),
}


def test_every_connector_that_writes_is_in_these_tests() -> None:
    with_a_server = {"kafka", "redis", "webhook"}  # in tests/kafka, test_redis.py and test_webhook.py

    assert {declaration.name for declaration in CONNECTORS if "sink" in declaration.options} - with_a_server == set(
        SINKS
    )


@pytest.mark.parametrize("name", SINKS)
def test_an_epoch_may_be_committed_again_and_may_be_empty(name: str, tmp_path: Path) -> None:
    of = SINKS[name](tmp_path)
    directory = tmp_path / "state" / "sinks" / "t"
    some = batch(NUMBERS, (1, "a"), (2, None))

    take(sink(of, directory), epoch(0), [])
    take(sink(of, directory), epoch(1), [some], [some])
    before = contents(tmp_path)
    take(sink(of, directory), epoch(1), [some], [some])

    assert contents(tmp_path) == before


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_read_all_is_what_the_other_tests_think(tmp_path: Path) -> None:
    assert [row["n"] for row in read_all(source(plain_file(tmp_path)), 100, 3)] == list(range(COUNT))
