"""What the planners show of themselves."""

from __future__ import annotations

import gzip
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from engine.compile import compile_script
from engine.connectors.base import LONGEST_SEARCH, HasPatience
from engine.schema import Field, Schema
from engine.spark.read.planner import PlanSpec
from engine.spark.read.pulses import Pulses, announce, beat
from engine.spark.read.scan_spec import BARE, ScanSpec
from engine.spark.read.source import Reader
from engine.types import TEXT
from tests.connectors.tables import source, table
from tests.kafka.tables import kafka_source


def test_run_is_idle_only_if_every_planner_found_nothing(tmp_path: Path) -> None:
    first, second = tmp_path / "pulses" / "a", tmp_path / "pulses" / "b"
    pulses = Pulses([first, second])
    pulses.clear()

    beat(first, is_planned=False)
    assert not pulses.found_nothing()
    beat(second, is_planned=True)
    assert not pulses.found_nothing()
    beat(second, is_planned=False)
    assert pulses.found_nothing()

    pulses.clear()
    assert not pulses.found_nothing()


def test_a_planner_that_gives_no_answer_stops_beating(tmp_path: Path) -> None:
    now, file = [0.0], tmp_path / "a"
    pulses = Pulses([file], rest=timedelta(seconds=30), clock=lambda: now[0])
    announce(file, timedelta(0))
    assert pulses.is_beating()

    now[0] += 29
    assert pulses.is_beating()
    beat(file, is_planned=False)
    assert pulses.is_beating()

    now[0] += 30
    assert not pulses.is_beating()


def test_a_planner_may_wait_for_an_outage_that_it_will_name(tmp_path: Path) -> None:
    now, file = [0.0], tmp_path / "a"
    pulses = Pulses([file, tmp_path / "b"], clock=lambda: now[0])
    announce(tmp_path / "b", timedelta(0))
    announce(file, timedelta(seconds=90))
    assert pulses.is_beating()
    assert not pulses.found_nothing()

    now[0] += 89
    assert pulses.is_beating()
    now[0] += 1
    assert not pulses.is_beating()

    beat(file, is_planned=True)
    assert pulses.is_beating()
    now[0] += 89
    assert pulses.is_beating()


def test_a_planner_announces_itself_also_where_the_query_is_new(tmp_path: Path) -> None:
    file, pulse = tmp_path / "in.json.gz", tmp_path / "pulse"
    file.write_bytes(gzip.compress(b'{"value": "a"}\n'))
    sql = f"""
    CREATE TABLE t (value TEXT) WITH (connector = 'single_file', path = '{file}', format = 'json', type = 'source');
    SELECT value FROM t;
    """
    program = compile_script(sql, default_sink="stdout")
    plan = PlanSpec("t", tmp_path / "notes", pulse=pulse, linger=timedelta(milliseconds=250))
    reader = Reader(ScanSpec(program.tables["t"], program.scans["t"], plan, BARE))

    reader.latestOffset(reader.initialOffset(), ReadAllAvailable())

    assert pulse.read_bytes() == f"1{LONGEST_SEARCH.total_seconds()}".encode()
    assert (tmp_path / "first").read_text() == "t"


def test_a_kafka_planner_may_wait_for_its_brokers() -> None:
    options = {"bootstrap_servers": "one:9092", "topic": "t", "format": "raw_string", "type": "source"}
    of = table("kafka", Schema((Field("value", TEXT),)), **options, source__broker_timeout="90 seconds")

    opened = kafka_source(of)

    assert isinstance(opened, HasPatience)
    assert opened.patience == timedelta(seconds=90)


@pytest.mark.parametrize(("name", "patience"), [("in.json", timedelta(0)), ("in.json.gz", LONGEST_SEARCH)])
def test_a_compressed_file_may_be_searched_for_long(name: str, patience: timedelta, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    of = table("single_file", Schema((Field("value", TEXT),)), path=tmp_path / name, type="source", format="json")

    opened = source(of)

    assert isinstance(opened, HasPatience)
    assert opened.patience == patience
