"""A script that writes nowhere: each of its sinks is a preview, and its sources disturb nobody."""

from __future__ import annotations

import pytest

from engine.compile import Program, compile_script
from engine.connectors.kafka.read.options import KafkaSourceOptions
from engine.values.sink_prefix import only_shown

pytestmark = pytest.mark.unit

KAFKA = "connector = 'kafka', bootstrap_servers = 'k'"
SOURCE = f"""CREATE TABLE clicks (a BIGINT NOT NULL, page TEXT) WITH (
    {KAFKA}, type = 'source', topic = 'clicks', format = 'json', 'source.group_id' = 'g',
    bad_data = 'dead_letter', 'dead_letter.path' = '/letters'
);"""


def shown(sink: str, query: str) -> Program:
    return compile_script(only_shown(f"{SOURCE} CREATE TABLE out (a BIGINT, n BIGINT) WITH ({sink}); {query}"))


@pytest.mark.parametrize(
    "sink",
    [
        f"{KAFKA}, type = 'sink', topic = 'out', format = 'avro'",
        f"{KAFKA}, type = 'sink', topic = 'out', format = 'json', 'sink.commit_mode' = 'exactly_once'",
        "connector = 'delta', path = 's3://lake/out'",
        "connector = 'filesystem', type = 'sink', path = '/out', format = 'parquet'",
        "connector = 'webhook', endpoint = 'https://example.com', format = 'json'",
        "connector = 'blackhole'",
    ],
)
def test_no_sink_is_written_to(sink: str) -> None:
    program = shown(sink, "INSERT INTO out SELECT a, a FROM clicks; SELECT page FROM clicks;")

    sinks = {name: table for name, table in program.tables.items() if table.direction == "sink"}
    assert {name: (table.connector, table.format and table.format.format) for name, table in sinks.items()} == {
        "out": ("preview", "json"),
        "select_2": ("preview", "json"),
    }
    assert [names for names in program.target_names.values() if names] == []


@pytest.mark.parametrize(
    "sink", [f"{KAFKA}, type = 'sink', topic = 'out', format = 'debezium_json'", "connector = 'blackhole'"]
)
def test_rows_that_change_are_shown_as_changes(sink: str) -> None:
    program = shown(sink, "INSERT INTO out SELECT a, count(*) FROM clicks GROUP BY a;")

    form = program.tables["out"].format
    assert form is not None
    assert form.format == "debezium_json"


def test_a_source_reads_the_same_and_leaves_nothing_where_others_look() -> None:
    table = shown("connector = 'blackhole'", "INSERT INTO out SELECT a, a FROM clicks;").tables["clicks"]

    assert isinstance(table.options, KafkaSourceOptions)
    assert (table.options.topic, table.options.group_id) == ("clicks", "preview-g")
    assert (table.bad_data, table.dead_letter_directory) == ("drop", None)
