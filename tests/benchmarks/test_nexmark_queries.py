"""Nexmark's queries of the benchmark: each compiles in our dialect, and its answer is DuckDB's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.nexmark.answers import fault
from benchmarks.nexmark.events import SIDE, Events
from benchmarks.nexmark.peers import duckdb
from benchmarks.nexmark.peers.ours import read_answer, script
from benchmarks.nexmark.queries import NINE, QUERIES
from benchmarks.nexmark.queries.base import DIALECTS, Query
from benchmarks.nexmark.queries.grouped import GROUPED
from benchmarks.nexmark.queries.joined import JOINED
from benchmarks.nexmark.queries.stateless import STATELESS
from benchmarks.nexmark.queries.windowed import WINDOWED
from benchmarks.nexmark.tables import COLUMNS
from benchmarks.nexmark.turns import PARALLELISM, Topics, Turn
from engine.compile import compile_script
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control
from tests.fusing import IS_FUSED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Events:
    """So few that they are quickly played, and so far apart that they are in ten windows."""
    return Events(tmp_path_factory.mktemp("events"), 10_000, 2, timedelta(milliseconds=10))


def test_every_query_of_nexmark_is_there_but_none_twice() -> None:
    assert list(QUERIES) == [f"q{number}" for number in range(24)]
    assert set(NINE) <= set(QUERIES)


@pytest.mark.parametrize("query", QUERIES.values(), ids=list(QUERIES))
def test_nexmark_query_compiles_with_the_declared_columns(query: Query, few: Events) -> None:
    program = compile_script(script([query], few.turn(query.name, query.tables)))

    columns = program.parts.writes[0].input.schema.names
    assert len([name for name in columns if not name.startswith("_")]) == len(query.kinds.split())


def test_tables_may_be_topics_of_which_a_peer_is_told_with_its_turn(few: Events) -> None:
    turn = few.turn("q8", QUERIES["q8"].tables, topics=Topics("127.0.0.1:9092", "few-"))

    assert Turn.of_line(turn.to_line()) == turn
    tables = compile_script(script([QUERIES["q8"]], turn)).tables
    assert {table.options.model_dump()["topic"] for table in tables.values() if table.connector == "kafka"} == {
        "few-person",
        "few-auction",
    }


@pytest.mark.parametrize("query", QUERIES.values(), ids=list(QUERIES))
@pytest.mark.parametrize("layout", ["json", "parquet"])
def test_duckdb_finds_rows_in_few_events(query: Query, layout: str, few: Events, tmp_path: Path) -> None:
    rows = duckdb.open_peer(tmp_path)(few.turn(query.name, query.tables, layout=layout, shows=True)).rows

    assert rows
    assert len(rows[0]) == len(query.kinds.split())


def test_the_second_column_of_windows_is_an_instant() -> None:
    assert all(query.kinds.startswith("ts ts ") for query in QUERIES.values() if query.is_windowed)


def test_omission_of_a_peer_has_a_reason() -> None:
    left_out = [query.left_out_of(peer) for query in QUERIES.values() for peer in DIALECTS]

    reasons = [query.reason for query in left_out if query is not None]
    assert all(len(reason) > 20 and not reason.endswith(".") for reason in reasons)
    assert not any(query.left_out_of("ours") or query.left_out_of("duckdb") for query in QUERIES.values())
    assert not any(QUERIES[name].left_out_of(peer) for name in NINE for peer in DIALECTS)


def test_all_layouts_have_the_same_rows_and_an_epoch_the_same_share(few: Events) -> None:
    import duckdb as database

    for table in COLUMNS:
        files = sorted((few.made("json") / table).iterdir())
        counts = [len(file.read_text().splitlines()) for file in files]
        assert counts == [few.rows([table]) // few.epochs] * few.epochs
        halves = [(few.made("halves") / table / f"{half}.json").read_text().splitlines() for half in (0, 1)]
        assert sorted(halves[0] + halves[1]) == sorted(line for file in files for line in file.read_text().splitlines())
        path = few.made("parquet") / table / "*.parquet"
        assert database.execute(f"SELECT count(*) FROM '{path}'").fetchall() == [(sum(counts),)]
    assert len((few.made("json") / "side.json").read_text().splitlines()) == len(SIDE)


def test_a_wrong_answer_is_told_and_so_is_an_empty_one(few: Events) -> None:
    query = QUERIES["q2"]

    assert fault(query, "ours", [[1, 2], [3, 4]], [[3, 4], [1, 2]], few) == ""
    assert "1 and 0 rows differ" in fault(query, "ours", [[1, 2], [3, 4]], [[1, 2]], few)
    assert fault(query, "ours", [], [], few) == "the query finds nothing"


def test_only_windows_closed_by_the_last_watermark_of_spark_count(few: Events) -> None:
    query = QUERIES["q7"]
    early, late = (["2024-01-01T00:00:00", f"2024-01-01T{hour}:00:10", 1, 1] for hour in ("00", "23"))

    assert fault(query, "spark", [early], [early, late], few) == ""
    assert fault(query, "spark", [late], [early, late], few) != ""
    assert fault(query, "flink", [early], [early, late], few) != ""


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "queries", [STATELESS, WINDOWED, JOINED, GROUPED], ids=["stateless", "windowed", "joined", "grouped"]
)
def test_ours_gives_the_answer_of_duckdb(
    spark: SparkSession, queries: Sequence[Query], few: Events, tmp_path: Path
) -> None:
    (tmp_path / "answers").mkdir()
    turn = few.turn(queries[0].name, {table for query in queries for table in query.tables})
    sql = script(queries, turn, tmp_path / "answers")
    spec = RunSpec(
        "nexmark",
        sql,
        tmp_path / "state",
        PARALLELISM,
        settings=replace(PLAIN_SETTINGS, max_epoch_rows=turn.epoch_rows, fuse=IS_FUSED),
    )

    assert run_in(spark, spec, Control()) == "finished"

    batch = duckdb.open_peer(tmp_path)
    faults = {}
    for query in queries:
        expected = batch(few.turn(query.name, query.tables, shows=True)).rows
        assert expected is not None
        faults[query.name] = fault(query, "ours", read_answer(query, tmp_path / "answers"), expected, few)
    assert faults == {query.name: "" for query in queries}
