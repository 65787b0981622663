"""What every connector owes, over all of CONNECTORS: an option without a description, or a source that reads
differently the second time, fails here without a test of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import BaseModel

from engine.connectors import CONNECTORS
from engine.connectors.base import Direction, Table
from engine.connectors.kinds import Connector
from engine.connectors.options import TableOptions
from engine.connectors.testing import SINK_CHECKS, SOURCE_CHECKS, SinkCheck, SourceCheck, check_declaration
from engine.formats import FORMATS, make_encoder
from engine.formats.base import Format
from engine.formats.json.options import JsonOptions
from engine.schema import Field, Schema
from engine.types import TEXT, Bytes
from tests.connectors.tables import (
    NUMBERS,
    batch,
    epoch,
    read_all,
    sink,
    source,
    table,
    take,
)

COUNT = 1234
BEGIN = "2026-01-01T00:00:00Z"


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
        "impulse",
        None,
        {"at": "timestamp"},
        event_rate=1e9,
        message_count=COUNT,
        event_time_interval=1000,
        start_time=BEGIN,
    ),
    "nexmark": lambda folder: table("nexmark", None, {"at": "timestamp"}, message_count=COUNT, start_time=BEGIN),
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
    with_a_server = {"kafka", "kinesis", "mqtt", "polling_http", "sse", "websocket"}  # in tests of their own
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
    check_declaration(declaration)


LINES = {"json", "debezium_json", "raw_string"}
FORMATS_OF = {
    "blackhole": set[str](),
    "delta": {"parquet"},
    "filesystem": LINES | {"parquet", "csv"},
    "impulse": set[str](),
    "kafka": LINES | {"raw_bytes", "avro", "protobuf"},
    "kinesis": LINES | {"raw_bytes", "avro", "protobuf"},
    "mqtt": LINES | {"raw_bytes", "avro", "protobuf"},
    "nexmark": set[str](),
    "polling_http": {"json", "raw_string", "raw_bytes", "avro", "protobuf"},
    "preview": {"json", "debezium_json"},
    "redis": {"json", "raw_string"},
    "single_file": LINES,
    "sse": LINES,
    "stdout": LINES,
    "webhook": LINES,
    "websocket": LINES | {"raw_bytes", "avro", "protobuf"},
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


@pytest.mark.parametrize("check", SOURCE_CHECKS, ids=lambda check: check.__name__)
def test_a_source_keeps_the_contract(check: SourceCheck, of: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    small_slices(monkeypatch)

    check(of, COUNT)


SINKS: dict[str, Callable[[Path], Table]] = {
    "delta": lambda folder: table("delta", NUMBERS, path=folder / "out"),
    "blackhole": lambda folder: table("blackhole", NUMBERS),
    "filesystem": lambda folder: table("filesystem", NUMBERS, type="sink", path=folder / "out", format="json"),
    "preview": lambda folder: table("preview", NUMBERS),
    "single_file": lambda folder: table("single_file", NUMBERS, type="sink", path=folder / "out.json", format="json"),
    "stdout": lambda folder: table("stdout", NUMBERS),
}


def test_every_connector_that_writes_is_in_these_tests() -> None:
    with_a_server = {"kafka", "kinesis", "mqtt", "redis", "webhook"}  # in tests of their own

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


@pytest.mark.parametrize("check", SINK_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", ["delta", "filesystem", "single_file"])
def test_a_sink_keeps_the_contract(check: SinkCheck, name: str, tmp_path: Path) -> None:
    of = SINKS[name](tmp_path)

    check(of, tmp_path / "state", lambda: readable(tmp_path))


def readable(folder: Path) -> dict[str, bytes]:
    """What readers of the target see, who pass over hidden and empty files."""
    files = contents(folder / "out") | contents(folder)
    return {name: content for name, content in files.items() if content and "/state/" not in name and "/_" not in name}


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_read_all_is_what_the_other_tests_think(tmp_path: Path) -> None:
    assert [row["n"] for row in read_all(source(plain_file(tmp_path)), 100, 3)] == list(range(COUNT))
