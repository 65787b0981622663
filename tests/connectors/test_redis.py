"""Lookups in Redis, against a server of our own."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from engine import types
from engine.connectors.base import Cache, Table
from engine.connectors.lookups import look_up
from engine.connectors.redis.connector import REDIS
from engine.connectors.redis.lookup import RedisLookup
from engine.errors import (
    BadRecordError,
    LookupFailedError,
    LookupRefusedError,
    MissingPackageError,
    TargetUnavailableError,
)
from engine.schema import Field, Schema
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control
from tests.connectors.redis_server import Server, running
from tests.connectors.tables import batch, epoch, sink, table, take

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.connectors

NAMES = Schema((Field("name", types.TEXT), Field("n", types.BIGINT)))
SHOWN = Schema((Field("k", types.TEXT, nullable=False), *NAMES))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(autouse=True)
def _empty(request: pytest.FixtureRequest) -> None:
    if "server" in request.fixturenames:
        request.getfixturevalue("server").client.flushall()


def lookup_table(schema: Schema = NAMES, **options: Any) -> Table:
    options.setdefault("format", "json")
    plain_table = table("redis", schema, {"k": "key"}, type="lookup", **options)
    return replace(plain_table, primary_key=("k",), cache=Cache(0, None))


def ask(of: Table, *keys: str | None, columns: Schema = SHOWN) -> list[Any]:
    assert REDIS.lookup is not None
    with closing(REDIS.lookup.open(of)) as lookup:
        return look_up(lookup, columns, pa.array(keys, pa.string())).to_pylist()


def test_each_key_has_the_row_that_its_value_holds(server: Server) -> None:
    server.client.mset({"a": '{"name": "Ann", "n": 1}', "ü": '{"name": null}', "list?": "{}"})
    server.client.lpush("list", "x")

    records = ask(lookup_table(address=server.address), "ü", None, "nobody", "a", "list", "a")

    ann = {"k": "a", "name": "Ann", "n": 1}
    assert records == [{"k": "ü", "name": None, "n": None}, None, None, ann, None, ann]


def test_many_keys_are_asked_for_in_few_questions(server: Server) -> None:
    server.client.mset({f"p:{number}": json.dumps({"n": number}) for number in range(0, 5000, 2)})
    of = lookup_table(address=f"127.0.0.1:{server.port}", target__key_prefix="p:")
    server.client.config_resetstat()

    records = ask(of, *map(str, range(5000)))

    assert [row and row["n"] for row in records] == [None if number % 2 else number for number in range(5000)]
    assert server.client.info("commandstats")["cmdstat_mget"]["calls"] == 3


def test_text_values_and_keys_alone_can_be_looked_up(server: Server) -> None:
    server.client.mset({"a": "some text", "b": b"\xff"})
    value = Schema((Field("value", types.TEXT),))
    text = lookup_table(value, address=server.address, format="raw_string", bad_data="drop")
    only_keys = replace(lookup_table(address=server.address), schema=Schema(()))
    key = Schema((SHOWN.fields[0],))

    assert ask(text, "a", "b", columns=value) == [{"value": "some text"}, None]
    assert ask(only_keys, "b", "c", columns=key) == [{"k": "b"}, None]


def test_a_value_that_is_no_row_is_reported_or_dropped(server: Server) -> None:
    server.client.mset({"a": '{"n": 1}', "b": '{"n": "many"}'})

    with pytest.raises(BadRecordError, match="table t, key 'b'"):
        ask(lookup_table(address=server.address), "a", "b")
    records = ask(lookup_table(address=server.address, bad_data="drop"), "b", "a")
    assert [row and row["n"] for row in records] == [None, 1]


def test_a_password_is_used_and_never_reported(tmp_path: Path) -> None:
    with running(tmp_path, "--requirepass", "open sesame", password="open sesame") as server:
        server.client.set("a", '{"n": 7}')

        assert ask(lookup_table(address=server.address, password="open sesame"), "a")[0]["n"] == 7
        with pytest.raises(LookupRefusedError) as refused:
            ask(lookup_table(address=f"redis://:closed@127.0.0.1:{server.port}"), "a")
        assert "closed" not in str(refused.value)
    assert "open sesame" not in repr(lookup_table(address=server.address, password="open sesame"))


def test_without_the_package_its_name_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)
    monkeypatch.delitem(sys.modules, "engine.connectors.redis.client")

    with pytest.raises(MissingPackageError, match="needs the Python package redis"):
        importlib.import_module("engine.connectors.redis.client")


def test_a_cluster_is_asked_node_by_node(tmp_path: Path) -> None:
    with running(tmp_path, "--cluster-enabled", "yes") as server:
        server.client.execute_command("CLUSTER ADDSLOTS", *range(16384))
        while server.client.execute_command("CLUSTER INFO")["cluster_state"] != "ok":
            pass
        for number in range(50):
            server.client.set(f"key {number}", json.dumps({"n": number}))

        records = ask(
            lookup_table(cluster__addresses=f"{server.address}, redis://127.0.0.1:1"), *map("key {}".format, range(60))
        )

    assert [row and row["n"] for row in records] == [*range(50), *[None] * 10]


def test_a_server_that_is_gone_fails_with_a_code_and_one_that_comes_back_answers(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        of = lookup_table(address=server.address)
        lookup = RedisLookup(of, of.options)
        server.client.set("a", '{"n": 7}')
        assert look_up(lookup, SHOWN, pa.array(["a"])).to_pylist()[0]["n"] == 7
        port = str(server.port)
    with pytest.raises(LookupFailedError, match=f"Redis at redis://127.0.0.1:{port} does not answer"):
        look_up(lookup, SHOWN, pa.array(["a"]))

    with closing(lookup), running(tmp_path, "--port", port):
        assert look_up(lookup, SHOWN, pa.array(["a"])).to_pylist() == [None]


EVENTS = """
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT)
WITH (connector = 'single_file', path = '{folder}/in.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TEMPORARY TABLE customers (id TEXT METADATA FROM 'key' PRIMARY KEY, name TEXT, tier INT)
WITH (connector = 'redis', address = '{address}', format = 'json', 'target.key_prefix' = 'c:',
      'lookup.cache.max_bytes' = '1mb', 'lookup.cache.ttl' = INTERVAL '1 hour');
CREATE TABLE out WITH (connector = 'single_file', path = '{folder}/out.json', format = 'json', type = 'sink');
INSERT INTO out
SELECT coalesce(tier, 0) AS tier, max(name) AS name, count(*) AS n, sum(value) AS total
FROM events LEFT JOIN customers ON key = customers.id WHERE tier IS NULL OR tier > 1
GROUP BY tumble('1 minute'), tier;
"""


def test_a_job_looks_rows_up_and_each_process_asks_for_them_once(
    server: Server, spark: SparkSession, tmp_path: Path
) -> None:
    rows = [{"at": f"2024-01-01T00:{n // 60:02}:{n % 60:02}Z", "key": f"k{n % 5}", "value": n} for n in range(300)]
    (tmp_path / "in.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    server.client.mset({f"c:k{n}": json.dumps({"name": f"name {n}", "tier": n}) for n in range(4)})
    server.client.config_resetstat()
    sql = EVENTS.format(folder=tmp_path, address=server.address)

    assert (
        run_in(
            spark,
            RunSpec("redis", sql, tmp_path / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=40)),
            Control(),
        )
        == "finished"
    )

    lines = sorted((tmp_path / "out.json").read_text().splitlines())
    expected = []
    for minute in range(5):
        for tier, key, name in ((2, 2, "name 2"), (3, 3, "name 3"), (0, 4, None)):
            numbers = [n for n in range(minute * 60, minute * 60 + 60) if n % 5 == key]
            expected.append({"tier": tier, "name": name, "n": len(numbers), "total": sum(numbers)})
    assert lines == sorted(json.dumps(row, separators=(",", ":")) for row in expected)
    # a process keeps its connection and what it was told; which processes have a task is up to Spark
    calls = server.client.info("commandstats")["cmdstat_mget"]["calls"]
    assert 1 <= calls <= server.client.info("stats")["total_connections_received"]


def test_a_server_that_is_not_there_stops_the_job_with_its_address(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('{"at": "2024-01-01T00:00:00Z", "key": "a", "value": 1}\n')
    sql = EVENTS.format(folder=tmp_path, address="redis://127.0.0.1:1")

    with pytest.raises(LookupFailedError, match=r"127\.0\.0\.1:1"):
        run_in(spark, RunSpec("redis", sql, tmp_path / "state"), Control())


PLACED = Schema(
    (Field("k", types.TEXT, nullable=False), Field("f", types.TEXT, nullable=False), Field("n", types.BIGINT))
)
ROWS = [("a", "x", 1), ("b", "x", 2), ("a", "y", 3), ("a", "x", None)]


def write(server: Server, folder: Path, *epochs: list[tuple[str, str, int | None]], **options: Any) -> None:
    """Write epochs into a sink, the last of them twice, as after a crash in between."""
    target = {name.replace("__", "."): value for name, value in options.items()}
    of = table("redis", PLACED, type="sink", address=server.address, format="json", target__key_prefix="p:", **target)
    redis_sink = sink(of, folder / "state" / "sinks" / "t")
    for number, rows in enumerate(epochs):
        take(redis_sink, epoch(number), [batch(PLACED, *rows)])
    take(redis_sink, epoch(len(epochs) - 1), [batch(PLACED, *epochs[-1])])


def line(row: tuple[str, str, int | None]) -> bytes:
    return json.dumps(dict(zip(PLACED.names, row, strict=True)), separators=(",", ":")).encode()


def test_strings_hold_the_last_row_of_their_key_for_their_time(server: Server, tmp_path: Path) -> None:
    write(server, tmp_path, ROWS, target="string", target__key_column="k", target__ttl_secs=100)

    assert sorted(server.client.keys()) == [b"p:a", b"p:b"]
    assert [server.client.get(key) for key in ("p:a", "p:b")] == [line(ROWS[3]), line(ROWS[1])]
    assert 0 < server.client.ttl("p:a") <= 100


def test_hashes_hold_the_last_row_of_their_field(server: Server, tmp_path: Path) -> None:
    write(server, tmp_path, ROWS, target="hash", target__key_column="k", target__field_column="f")

    assert server.client.hgetall("p:a") == {b"x": line(ROWS[3]), b"y": line(ROWS[2])}
    assert server.client.hgetall("p:b") == {b"x": line(ROWS[1])}


def test_lists_hold_their_rows_in_order_and_no_more_than_they_may(server: Server, tmp_path: Path) -> None:
    write(server, tmp_path / "1", ROWS[:2], ROWS[2:], target="list", target__key_column="k")
    write(server, tmp_path / "2", ROWS, target="list", target__operation="prepend", target__max_length=3)

    assert server.client.lrange("p:a", 0, -1) == [line(ROWS[at]) for at in (0, 2, 3)]
    assert server.client.lrange("p:", 0, -1) == [line(ROWS[at]) for at in (3, 2, 1)]


def test_an_epoch_whose_sending_failed_is_sent_again(server: Server, tmp_path: Path) -> None:
    options = {"target": "string", "target__key_column": "k", "target__key_prefix": "p:", "format": "json"}
    unreachable_table = table("redis", PLACED, type="sink", address="redis://127.0.0.1:1", **options)
    reachable_table = table("redis", PLACED, type="sink", address=server.address, **options)
    place = tmp_path / "state" / "sinks" / "t"

    with pytest.raises(TargetUnavailableError, match=r"Redis at redis://127\.0\.0\.1:1 does not answer"):
        take(sink(unreachable_table, place), epoch(0), [batch(PLACED, *ROWS)])
    assert server.client.keys() == []
    take(sink(reachable_table, place), epoch(0), [batch(PLACED, *ROWS)])

    assert server.client.get("p:b") == line(ROWS[1])


COPY = """
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT, value BIGINT)
WITH (connector = 'single_file', path = '{folder}/in.json', format = 'json', type = 'source', event_time_field = 'at');
CREATE TABLE totals (id TEXT NOT NULL, n BIGINT, total BIGINT)
WITH (connector = 'redis', type = 'sink', address = '{address}', format = 'json', target = 'string',
      'target.key_prefix' = 'total:', 'target.key_column' = 'id');
INSERT INTO totals
SELECT coalesce(key, 'nobody'), count(*), sum(value) FROM events GROUP BY tumble('1 day'), key;
"""


def test_a_job_writes_what_another_can_look_up(server: Server, spark: SparkSession, tmp_path: Path) -> None:
    rows = [{"at": "2024-01-01T00:00:00Z", "key": f"k{n % 3}", "value": n} for n in range(9)]
    (tmp_path / "in.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sql = COPY.format(folder=tmp_path, address=server.address)

    assert run_in(spark, RunSpec("redis", sql, tmp_path / "state"), Control()) == "finished"

    totals = Schema((Field("n", types.BIGINT), Field("total", types.BIGINT)))
    of = lookup_table(totals, address=server.address, target__key_prefix="total:")
    assert ask(of, "k1", "k9", columns=totals) == [{"n": 3, "total": 12}, None]
