"""Programs are told as OpenLineage's own client would tell them."""

from __future__ import annotations

import json

import pytest
from openlineage.client.facet_v2 import column_lineage_dataset, schema_dataset
from openlineage.client.serde import Serde

from engine.compile import compile_script
from engine.openlineage.datasets import Dataset, Datasets, JobName, datasets_of

SCRIPT = """
CREATE TABLE orders (id BIGINT, city TEXT, price DOUBLE, part INT METADATA FROM 'partition')
WITH ({source}, type = 'source');
CREATE TEMPORARY TABLE cities (name TEXT PRIMARY KEY, country TEXT) WITH (
    connector = 'filesystem', path = '/in/cities.json', format = 'json'
);
CREATE TABLE out (country TEXT, total DOUBLE, buyers BIGINT) WITH ({sink}, type = 'sink');
INSERT INTO out
SELECT country, sum(price), count(DISTINCT o.id) FROM orders o JOIN cities c ON c.name = o.city GROUP BY 1;
"""
TOPIC = "connector = 'kafka', bootstrap_servers = 'B:9093, a', topic = '{topic}', format = '{format}'"
ORDERS = TOPIC.format(topic="orders", format="json")
NOWHERE = "connector = 'blackhole'"


def datasets(source: str = ORDERS, sink: str = NOWHERE) -> Datasets:
    return datasets_of(compile_script(SCRIPT.format(source=source, sink=sink)), JobName("prod", "hourly"))


def written(sink: str) -> Dataset:
    (output,) = datasets(sink=sink).outputs
    return output


@pytest.mark.parametrize(
    ("sink", "name"),
    [
        ("connector = 'single_file', path = '/out/a b.json', format = 'debezium_json'", ("file", "/out/a b.json")),
        (TOPIC.format(topic="by country", format="debezium_json"), ("kafka://a:9092", "by country")),
        (TOPIC.format(topic="{{ ARROYO_VAR_X }}", format="debezium_json"), ("prod", "hourly.out")),
        (NOWHERE, ("prod", "hourly.out")),
    ],
)
def test_a_place_has_the_name_that_all_tools_give_it(sink: str, name: tuple[str, str]) -> None:
    assert (written(sink).namespace, written(sink).name) == name


@pytest.mark.parametrize(
    "sink", ["connector = 'filesystem', path = '{}', format = 'json'", "connector = 'delta', path = '{}'"]
)
@pytest.mark.parametrize(
    ("path", "name"),
    [("s3://lake/a/b/", ("s3://lake", "a/b")), ("s3://lake", ("s3://lake", "/")), ("/lake/a", ("file", "/lake/a"))],
)
def test_files_and_tables_are_named_by_where_they_are(sink: str, path: str, name: tuple[str, str]) -> None:
    source = "CREATE TABLE n WITH (connector = 'impulse', event_rate = 1);"
    script = f"{source} CREATE TABLE out (n BIGINT) WITH ({sink.format(path)}, type = 'sink');"
    program = compile_script(f"{script} INSERT INTO out SELECT counter FROM n")
    (output,) = datasets_of(program, JobName("prod", "hourly")).outputs

    assert (output.namespace, output.name) == name


def test_read_and_looked_up_tables_have_their_columns() -> None:
    columns = {
        dataset.facets.arroyo_table.table: [(field.name, field.type) for field in dataset.facets.columns.fields]
        for dataset in datasets().inputs
    }

    assert columns == {
        "orders": [
            ("id", "BIGINT"),
            ("city", "TEXT"),
            ("price", "DOUBLE"),
            ("part", "INT"),
            ("__event_time", "TIMESTAMP"),
        ],
        "cities": [("name", "TEXT"), ("country", "TEXT")],
    }


def test_the_facets_are_those_that_the_client_of_openlineage_makes() -> None:
    """With its own classes, and so with its own addresses of schemas."""
    (output,) = datasets().outputs
    facets = json.loads(output.model_dump_json(by_alias=True))["facets"]

    def used(field: str, kind: str, subtype: str, *, dataset: str = "orders", masking: bool = False) -> object:
        namespace = "kafka://a:9092" if dataset == "orders" else "prod"
        how = column_lineage_dataset.Transformation(kind, subtype, "", masking)
        return column_lineage_dataset.InputField(namespace, dataset, field, [how])

    fields = {
        "country": [used("country", "DIRECT", "IDENTITY", dataset="hourly.cities")],
        "total": [used("price", "DIRECT", "AGGREGATION")],
        "buyers": [used("id", "DIRECT", "AGGREGATION", masking=True)],
    }
    rows = [
        column_lineage_dataset.InputField(
            "prod",
            "hourly.cities",
            "country",
            [column_lineage_dataset.Transformation("INDIRECT", "GROUP_BY", "", False)],
        ),
        used("name", "INDIRECT", "JOIN", dataset="hourly.cities"),
        used("city", "INDIRECT", "JOIN"),
    ]
    theirs = column_lineage_dataset.ColumnLineageDatasetFacet(
        {name: column_lineage_dataset.Fields(inputs) for name, inputs in fields.items()}, rows
    )

    assert _without_producer(facets["columnLineage"]) == _without_producer(json.loads(Serde.to_json(theirs)))


def test_the_schema_is_the_one_that_the_client_of_openlineage_makes() -> None:
    (output,) = datasets().outputs
    facets = json.loads(output.model_dump_json(by_alias=True))["facets"]
    fields = [("country", "TEXT"), ("total", "DOUBLE"), ("buyers", "BIGINT")]
    theirs = schema_dataset.SchemaDatasetFacet([schema_dataset.SchemaDatasetFacetFields(*field) for field in fields])

    shown = json.loads(Serde.to_json(theirs))
    for column in shown["fields"]:
        assert column.pop("fields") == []  # the members of a struct

    assert _without_producer(facets["schema"]) == _without_producer(shown)


def _without_producer(facet: dict[str, object]) -> dict[str, object]:
    assert str(facet["_producer"]).startswith("https://")
    return {name: value for name, value in facet.items() if name != "_producer"}
