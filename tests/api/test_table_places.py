"""What a pipeline reads and writes is told with the places by which others know it."""

from __future__ import annotations

import json

import pytest

from engine.control.upgrades.plan_query import plan_query
from tests.api.conftest import Plane

SCRIPT = """
CREATE TABLE clicks (n BIGINT) WITH ({source}, format = 'json', type = 'source');
CREATE TABLE seen (n BIGINT) WITH ({sink}, type = 'sink');
INSERT INTO seen SELECT n FROM clicks;
"""
FILE = "connector = 'single_file', path = '/in/clicks.json'"
NOWHERE = "connector = 'blackhole'"
KAFKA = "connector = 'kafka', bootstrap_servers = 'B:9093, a', format = 'json'"


def places(source: str = FILE, sink: str = NOWHERE, end: str = "") -> dict[str, tuple[str, str, str | None]]:
    script = SCRIPT.format(source=source.replace(", format = 'json'", ""), sink=sink) + end
    tables = json.loads(plan_query(script, ()).graph)["tables"]
    return {table["name"]: (table["direction"], table["connector"], table["uri"]) for table in tables}


@pytest.mark.parametrize(
    ("sink", "connector", "uri"),
    [
        ("connector = 'single_file', path = '/out/seen.json', format = 'json'", "single_file", "file:///out/seen.json"),
        ("connector = 'filesystem', path = '/out/seen', format = 'parquet'", "filesystem", "file:///out/seen"),
        ("connector = 'filesystem', path = 's3://lake/seen/', format = 'parquet'", "filesystem", "s3://lake/seen"),
        ("connector = 'delta', path = 's3::https://store.example/lake/seen'", "delta", "s3://lake/seen"),
        (f"{KAFKA}, topic = 'seen'", "kafka", "kafka://a:9092/seen"),
        (NOWHERE, "blackhole", None),
        ("connector = 'single_file', path = '/{{ ARROYO_VAR_X }}/seen.json', format = 'json'", "single_file", None),
    ],
)
def test_a_sink_is_told_by_the_uri_of_its_place(sink: str, connector: str, uri: str | None) -> None:
    assert places(sink=sink) == {
        "clicks": ("source", "single_file", "file:///in/clicks.json"),
        "seen": ("sink", connector, uri),
    }


@pytest.mark.parametrize(
    ("topics", "uri"),
    [
        ("topic = 'clicks'", "kafka://a:9092/clicks"),
        ("topic = 'clicks, more'", None),
        ("'source.topic_pattern' = 'c.*'", None),
    ],
)
def test_a_source_of_one_topic_is_told_by_its_uri(topics: str, uri: str | None) -> None:
    assert places(source=f"{KAFKA}, {topics}")["clicks"] == ("source", "kafka", uri)


def test_a_script_that_writes_elsewhere_is_told_by_where_it_writes() -> None:
    sink = "connector = 'single_file', path = '/out/seen.json', format = 'json'"

    assert places(sink=sink, end="SET sink_prefix = 'january';")["seen"][2] == "file:///out/january/seen.json"


def test_the_answer_to_a_deployment_has_them_beside_the_graph(plane: Plane) -> None:
    table = {"name": "seen", "direction": "sink", "connector": "stdout", "uri": None}

    answer = plane.http.put("/api/v1/pipelines/by-name/orders", json={"query": "SELECT 1 table:seen"}).json()

    assert answer["tables"] == [table]
    assert answer["graph"] == {"nodes": [], "edges": []}
    assert plane.get("/pipelines/orders")["tables"] == [table]


def test_version_from_before_table_locations_reports_none(plane: Plane) -> None:
    plane.deploy(query="SELECT 1")

    assert plane.get("/pipelines/orders")["tables"] is None
