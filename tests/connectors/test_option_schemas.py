"""The options of connectors as JSON Schema say what WITH clauses may say."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from engine.connectors import CONNECTORS, find_connector
from engine.connectors.base import Direction
from engine.connectors.kinds import Connector
from engine.connectors.option_schemas import JsonSchema, connection_schema, direction_schema, table_schema
from engine.connectors.options import known_names

DIRECTIONS = [(connector, direction) for connector in CONNECTORS for direction in connector.options]


def connector(name: str) -> Connector:
    found = find_connector(name)
    assert found is not None
    return found


def names(schema: JsonSchema, before: str = "") -> set[str]:
    """The options of a schema, as SQL spells them."""
    found: set[str] = set()
    for name, inner in schema["properties"].items():
        found |= names(inner, f"{before}{name}.") if inner.get("type") == "object" else {f"{before}{name}"}
    return found


@pytest.mark.parametrize(("each", "direction"), DIRECTIONS, ids=lambda part: getattr(part, "name", part))
def test_a_schema_has_the_options_of_its_direction_and_no_other(each: Connector, direction: Direction) -> None:
    schema = direction_schema(each, direction)

    Draft202012Validator.check_schema(schema)
    assert names(schema) == known_names(each.options[direction])


@pytest.mark.parametrize("each", CONNECTORS, ids=lambda each: each.name)
def test_a_table_and_its_connection_share_the_options_of_all_directions(each: Connector) -> None:
    table, connection = table_schema(each), connection_schema(each)
    shared = set() if connection is None else names(connection)

    assert not names(table) & shared
    assert names(table) | shared | {"type"} == set().union(*map(known_names, each.options.values())) | {"type"}
    assert all(shared <= known_names(model) for model in each.options.values())


def test_words_before_a_dot_are_objects_unless_they_are_options() -> None:
    connection, table = connection_schema(connector("kafka")), table_schema(connector("redis"))

    assert connection is not None
    assert connection["required"] == ["bootstrap_servers"]
    assert connection["properties"]["auth"]["sensitive"] == ["password"]
    assert connection["properties"]["auth"]["properties"]["mechanism"]["enum"][0] == "PLAIN"
    assert {"target", "target.operation"} <= set(table["properties"])


def test_option_required_in_one_direction_is_optional_in_the_schema() -> None:
    table = table_schema(connector("kafka"))

    assert table["required"] == ["type"]
    assert table["properties"]["type"]["enum"] == ["source", "sink"]
    assert "minLength" not in table["properties"]["topic"]
    assert direction_schema(connector("kafka"), "sink")["required"] == ["bootstrap_servers", "topic"]


def test_lengths_of_time_are_written_as_sql_has_them() -> None:
    source = direction_schema(connector("kafka"), "source")["properties"]["source"]

    assert source["properties"]["discovery_interval"]["default"] == "10 seconds"
    assert "format" not in source["properties"]["discovery_interval"]
