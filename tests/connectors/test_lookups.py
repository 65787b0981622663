"""Looking rows up: in files, through the cache, and as a column of structs."""

from __future__ import annotations

import gzip
import os
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine import types
from engine.connectors import connector_of
from engine.connectors.base import Cache, Lookup, LookupResult, Table
from engine.connectors.lookup_cache import CachedLookup
from engine.connectors.lookups import LookupSpec, look_up, narrow_table, open_lookup
from engine.errors import BadRecordError, DuplicateKeyError, MissingFileError, UnreadableFileError
from engine.schema import Field, Schema, arrow_schema
from tests.connectors.tables import table

NAMES = Schema((Field("id", types.BIGINT, nullable=False), Field("name", types.TEXT)))
MANY = Schema(
    (
        Field("id", types.Text(), nullable=False),
        Field("flag", types.BOOLEAN),
        Field("small", types.Integer(32, signed=False)),
        Field("size", types.DOUBLE),
        Field("price", types.Decimal(10, 2)),
        Field("at", types.TIMESTAMP),
        Field("absent", types.BIGINT),
    )
)


def lookup_table(path: Path, schema: Schema = NAMES, form: str = "json", **options: Any) -> Table:
    plain_table = table("filesystem", schema, type="lookup", path=path, format=form, **options)
    return narrowed_key(plain_table)


def narrowed_key(plain_table: Table) -> Table:
    return replace(plain_table, primary_key=(plain_table.schema.names[0],), cache=Cache(1 << 20, None))


def opened(of: Table) -> Lookup:
    kind = connector_of(of).lookup
    assert kind is not None
    lookup = kind.open(of)
    lookup.refresh()
    return lookup


def rows_of(lookup: Lookup, schema: Schema, keys: list[Any], kind: pa.DataType | None = None) -> list[Any]:
    return look_up(lookup, schema, pa.array(keys, kind or pa.int64())).to_pylist()


def write(path: Path, text: str, *, at: int) -> Path:
    """A file that was last changed at a time of our choosing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    os.utime(path, ns=(at, at))
    return path


def test_each_key_has_its_row_and_null_has_none(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", '{"id": 1, "name": "one"}\n{"id": 2, "name": null}\n', at=1)

    records = rows_of(opened(lookup_table(path)), NAMES, [2, None, 1, 3, 1])

    first_row = {"id": 1, "name": "one"}
    assert records == [{"id": 2, "name": None}, None, first_row, None, first_row]


def test_a_table_is_read_again_when_a_file_changes_comes_or_goes(tmp_path: Path) -> None:
    folder = tmp_path / "t"
    write(folder / "a.json", '{"id": 1, "name": "old"}\n', at=1)
    lookup = opened(lookup_table(folder))
    answers = [rows_of(lookup, NAMES, [1, 2])]

    for change in (
        lambda: write(folder / "a.json", '{"id": 1, "name": "new"}\n', at=2),
        lambda: write(folder / "b.json", '{"id": 2, "name": "two"}\n', at=1),
        (folder / "a.json").unlink,
        (folder / "b.json").unlink,
    ):
        change()
        lookup.refresh()
        answers.append(rows_of(lookup, NAMES, [1, 2]))

    old, new, two = ({"id": i, "name": n} for i, n in ((1, "old"), (1, "new"), (2, "two")))
    assert answers == [[old, None], [new, None], [new, two], [None, two], [None, None]]


def test_a_table_that_did_not_change_is_not_read_again(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", '{"id": 1, "name": "one"}\n', at=1)
    lookup = opened(lookup_table(path))
    write(path, '{"id": 1, "name": "two"}\n', at=1)

    lookup.refresh()

    assert rows_of(lookup, NAMES, [1]) == [{"id": 1, "name": "one"}]


def test_two_rows_of_a_key_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", '{"id": 1, "name": "one"}\n{"id": 2}\n{"id": 1, "name": "two"}\n', at=1)

    with pytest.raises(DuplicateKeyError, match="two rows with id = 1"):
        opened(lookup_table(path))


def test_a_row_without_a_key_is_a_bad_record(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", '{"id": null, "name": "one"}\n{"id": 2}\n', at=1)

    with pytest.raises(BadRecordError):
        opened(lookup_table(path))
    assert rows_of(opened(lookup_table(path, bad_data="drop")), NAMES, [2]) == [{"id": 2, "name": None}]


def test_a_table_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        opened(lookup_table(tmp_path / "nothing"))


def test_parquet_and_compressed_files_can_be_looked_up(tmp_path: Path) -> None:
    pq.write_table(pa.table({"NAME": ["one"], "id": pa.array([1], pa.int32())}), tmp_path / "t.parquet")
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(b"id,name\n1,one\n"))

    for name, form in (("t.parquet", "parquet"), ("t.csv.gz", "csv")):
        assert rows_of(opened(lookup_table(tmp_path / name, form=form)), NAMES, [1]) == [{"id": 1, "name": "one"}]


CSV = """\ufeffid,Price,at,flag,size,small,other
a,1.50,2024-01-01T10:00:00Z,true,0.1,4294967295,x
"b, ""c""
d",,,,,,
"",-0.05,2024-01-01 10:00:00.25,0,1e300,0,"y"
"""


def test_csv_has_the_values_that_duckdb_reads_in_it(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", CSV, at=1)
    plain = tmp_path / "plain.csv"
    plain.write_text(CSV.removeprefix("\ufeff"))
    expected = duckdb.sql(
        f"""SELECT id, flag, small, size, price, "at", NULL AS absent FROM read_csv('{plain}', columns = {{
        id: 'VARCHAR', price: 'DECIMAL(10, 2)', 'at': 'TIMESTAMP', flag: 'BOOLEAN', size: 'DOUBLE', small: 'UINTEGER',
        other: 'VARCHAR'}}, header = true, force_not_null = ['id'])"""
    )
    assert expected is not None
    lookup = opened(lookup_table(path, MANY, form="csv"))

    records = rows_of(lookup, MANY, ["a", 'b, "c"\nd', ""], pa.string())

    assert [dict(zip(MANY.names, row, strict=True)) for row in expected.fetchall()] == [
        {**row, "at": None if row["at"] is None else row["at"].replace(tzinfo=None)} for row in records
    ]
    assert records[0]["price"] == Decimal("1.50")
    assert records[2]["at"] == datetime(2024, 1, 1, 10, 0, 0, 250_000, UTC)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("b,2,-1,,,", "record 2: column 'small' cannot be INT UNSIGNED"),
        ("b,maybe,,,,", "record 2: column 'flag' cannot be BOOLEAN"),
        ("b,,,,one,", "record 2: column 'price' cannot be DECIMAL"),
        ("b,,,,,yesterday", "record 2: column 'at' cannot be TIMESTAMP"),
        (",,,,,", "record 2: column 'id' is NOT NULL"),
    ],
)
def test_a_bad_value_in_csv_is_reported_or_dropped(tmp_path: Path, line: str, message: str) -> None:
    path = write(tmp_path / "t.csv", f"id,flag,small,size,price,at\na,1,1,1,1,\n{line}\nc,0,,,,\n", at=1)

    with pytest.raises(BadRecordError, match=message):
        opened(lookup_table(path, MANY, form="csv"))
    lookup = opened(lookup_table(path, MANY, form="csv", bad_data="drop"))
    records = rows_of(lookup, MANY, ["a", "b", "c"], pa.string())
    assert [row and row["id"] for row in records] == ["a", None, "c"]


def test_csv_may_have_no_header_another_delimiter_and_another_null(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", '1;NONE\n2;"NONE"\n3;\n', at=1)
    options = {"csv__header": False, "csv__delimiter": ";", "csv__null": "NONE"}

    records = rows_of(opened(lookup_table(path, form="csv", **options)), NAMES, [1, 2, 3])

    assert [row["name"] for row in records] == [None, "NONE", ""]


@pytest.mark.parametrize("text", ["", "id,name\n"])
def test_csv_may_be_empty(tmp_path: Path, text: str) -> None:
    assert rows_of(opened(lookup_table(write(tmp_path / "t.csv", text, at=1), form="csv")), NAMES, [1]) == [None]


def test_csv_with_lines_of_different_length_is_unreadable(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "id,name\n1\n", at=1)

    with pytest.raises(UnreadableFileError, match="cannot be read as CSV"):
        opened(lookup_table(path, form="csv"))


class Remote:
    """A table far away, whose rows change at every question and which counts the keys that it is asked for."""

    is_local = False

    def __init__(self, ids: set[int], width: int = 0) -> None:
        self.ids, self.width = ids, width
        self.fetched_keys: list[int] = []

    def refresh(self) -> None:
        pass

    def close(self) -> None:
        pass

    def fetch(self, keys: pa.Array) -> LookupResult:
        values = keys.to_pylist()
        assert len(set(values)) == len(values)
        assert None not in values
        self.fetched_keys += values
        hits = [at for at, key in enumerate(values) if key in self.ids]
        rows = [{"id": values[at], "name": f"{len(self.fetched_keys)}" + "x" * self.width} for at in reversed(hits)]
        return LookupResult(
            pa.RecordBatch.from_pylist(rows, schema=arrow_schema(NAMES)), pa.array(list(reversed(hits)), pa.int64())
        )


class Clock:
    """Moved by hand."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def cached(remote: Remote, clock: Clock, max_bytes: int = 1 << 20, ttl: timedelta | None = None) -> CachedLookup:
    return CachedLookup(remote, NAMES, Cache(max_bytes, ttl), clock)


def test_cached_row_is_not_looked_up_again() -> None:
    remote = Remote({1, 2})
    lookup = cached(remote, Clock())

    first = rows_of(lookup, NAMES, [1, 2, 1])
    again = rows_of(lookup, NAMES, [2, 1])

    assert remote.fetched_keys == [1, 2]
    assert again == [first[1], first[0]]


def test_that_there_is_no_row_is_believed_only_as_long_as_the_ttl_says() -> None:
    remote, clock = Remote({1}), Clock()
    for_ever, for_a_minute = cached(remote, clock), cached(remote, clock, ttl=timedelta(minutes=1))

    for lookup in (for_ever, for_ever, for_a_minute, for_a_minute):
        assert rows_of(lookup, NAMES, [1, 5])[1] is None
    assert remote.fetched_keys == [1, 5, 5, 1, 5]
    clock.now = 60.0
    remote.ids = {5}

    assert [row and row["id"] for row in rows_of(for_a_minute, NAMES, [1, 5])] == [None, 5]
    assert [row and row["id"] for row in rows_of(for_ever, NAMES, [1, 5])] == [1, 5]


@pytest.mark.parametrize("seed", range(5))
def test_the_cache_gives_what_the_table_had_at_most_a_ttl_ago_and_stays_small(seed: int) -> None:
    dice = random.Random(seed)
    remote, clock = Remote(set(range(0, 400, 2)), width=50), Clock()
    lookup = cached(remote, clock, max_bytes=20_000, ttl=timedelta(seconds=30))
    known_at: dict[int, float] = {}

    for _ in range(300):
        clock.now += dice.random()
        keys = [int(dice.paretovariate(0.3)) % 400 for _ in range(dice.choice([1, 20, 60]))]
        before = len(remote.fetched_keys)
        records = rows_of(lookup, NAMES, keys)
        for key in remote.fetched_keys[before:]:
            known_at[key] = clock.now
        assert [row and row["id"] for row in records] == [key if key in remote.ids else None for key in keys]
        assert all(clock.now - known_at[key] < 30 for key in keys)
        assert lookup.bytes <= 20_000

    assert len(remote.fetched_keys) < 300 * 27 / 2


def test_a_cache_forgets_what_was_not_used_for_the_longest() -> None:
    remote = Remote(set(range(1000)))
    lookup = cached(remote, Clock(), max_bytes=30_000)
    rows_of(lookup, NAMES, [0, 1])

    for key in range(2, 1000):
        rows_of(lookup, NAMES, [0, key])

    assert remote.fetched_keys.count(0) == 1
    assert len(remote.fetched_keys) == 1000
    rows_of(lookup, NAMES, [1])
    assert remote.fetched_keys.count(1) == 2


def test_a_worker_opens_a_table_once_for_each_start_of_a_query(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", '{"id": 1, "name": "one"}\n', at=1)
    spec = LookupSpec(lookup_table(path), NAMES, "first")

    assert open_lookup(spec) is open_lookup(spec)
    assert open_lookup(LookupSpec(spec.table, NAMES, "second")) is not open_lookup(spec)


def test_only_the_wanted_columns_and_the_key_are_decoded(tmp_path: Path) -> None:
    of = lookup_table(tmp_path, MANY)

    assert narrow_table(of, Schema((MANY.fields[3],))).schema.names == ("id", "size")


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        (types.BOOLEAN, [True, False]),
        (types.Integer(32, signed=False), [0, 4_000_000_000]),
        (types.DOUBLE, [0.5, -0.0]),
        (types.Decimal(10, 2), [Decimal("1.50"), Decimal("-2.00")]),
        (types.TIMESTAMP, [datetime(2024, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)]),
        (types.Bytes(), [b"", b"\xff"]),
    ],
)
def test_a_key_may_be_of_any_type_that_has_no_parts(tmp_path: Path, kind: types.Type, keys: list[Any]) -> None:
    schema = Schema((Field("id", kind, nullable=False), Field("n", types.BIGINT)))
    whole = pa.table([pa.array(keys, arrow_schema(schema).field("id").type), [1, 2]], schema=arrow_schema(schema))
    pq.write_table(whole, tmp_path / "t.parquet")
    lookup = opened(lookup_table(tmp_path / "t.parquet", schema, form="parquet"))

    records = look_up(lookup, schema, pa.array([keys[1], None, keys[0]], whole.schema.field("id").type)).to_pylist()

    assert [row and row["n"] for row in records] == [2, None, 1]
