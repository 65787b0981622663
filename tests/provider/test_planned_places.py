"""The provider finds in a script's text the places that the control plane finds in its plan."""

from __future__ import annotations

import json

import pytest

from airflow_provider_arroyo.script_places import places_of
from engine.control.upgrades.plan_query import plan_query

from .test_declared_assets import SCRIPT

SCRIPTS = {
    "a topic into a bucket": SCRIPT,
    "comments, quotes and a table that nobody reads": """
        -- CREATE TABLE counts WITH (connector = 'delta', path = '/not/this')
        /* INSERT INTO spare SELECT 1; */
        CREATE TABLE "Clicks" (id BIGINT NOT NULL) WITH ('connector' = 'single_file', 'type' = 'source',
            'format' = 'json', 'path' = '/it''s/a; file.json');
        CREATE TABLE spare (id BIGINT) WITH (connector = 'single_file', path = '/spare', format = 'json',
            type = 'source');
        CREATE TABLE out (id BIGINT) WITH (connector = 'delta', path = 'file:///lake//out/', type = 'sink');
        INSERT INTO out SELECT id FROM "Clicks" WHERE id <> 1 -- FROM spare
    """,
    "views": """
        CREATE TABLE a (id BIGINT NOT NULL, at TIMESTAMP NOT NULL, WATERMARK FOR at) WITH (connector = 'filesystem',
            path = '/in/a', format = 'json', type = 'source');
        CREATE TABLE b (id BIGINT NOT NULL, at TIMESTAMP NOT NULL, WATERMARK FOR at) WITH (connector = 'filesystem',
            path = '/in/b', format = 'json', type = 'source');
        CREATE VIEW both AS SELECT id FROM a UNION ALL SELECT id FROM b;
        CREATE TABLE out (id BIGINT) WITH (
            connector = 'single_file', path = '/out/both.json', format = 'json', type = 'sink');
        CREATE TABLE twice AS SELECT id FROM both;
        INSERT INTO out SELECT id FROM twice;
    """,
    "late rows and dead letters": """
        CREATE TABLE orders (at TIMESTAMP NOT NULL, amount BIGINT, WATERMARK FOR at) WITH (
            connector = 'filesystem', type = 'source', format = 'json', path = '/orders', late_rows = 'late');
        CREATE TABLE late (event_time TIMESTAMP, amount BIGINT) WITH (
            connector = 'single_file', type = 'sink', format = 'json', path = '/late.json');
        CREATE TABLE hours (amount BIGINT) WITH (
            connector = 'single_file', type = 'sink', format = 'json', path = '/hours.json');
        INSERT INTO hours SELECT amount FROM (
            SELECT tumble(INTERVAL '1 hour') AS w, sum(amount) AS amount FROM orders GROUP BY 1);
    """,
    "columns that stand behind another FROM, and are called like tables": """
        CREATE TABLE a (id BIGINT NOT NULL, spare BIGINT, at TIMESTAMP NOT NULL, name TEXT, WATERMARK FOR at) WITH (
            connector = 'filesystem', path = '/in/a', format = 'json', type = 'source');
        CREATE TABLE spare (id BIGINT) WITH (connector = 'single_file', path = '/spare', format = 'json',
            type = 'source');
        CREATE TABLE at (id BIGINT) WITH (connector = 'single_file', path = '/at', format = 'json', type = 'source');
        CREATE TABLE name (id BIGINT) WITH (connector = 'single_file', path = '/name', format = 'json',
            type = 'source');
        CREATE TABLE out (h BIGINT, t TEXT) WITH (connector = 'delta', path = '/out', type = 'sink');
        INSERT INTO out SELECT extract(hour FROM at), trim(BOTH 'x' FROM name) FROM a
            WHERE id IS DISTINCT FROM spare AND (id) IS NOT DISTINCT FROM spare;
    """,
    "places that are nowhere": """
        CREATE TABLE n WITH (connector = 'impulse', event_rate = 1);
        CREATE TABLE s WITH (connector = 'stdout', format = 'json', type = 'sink');
        INSERT INTO s SELECT counter FROM n;
    """,
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_locations_read_from_the_text_equal_those_of_the_plan(script: str) -> None:
    uses = json.loads(plan_query(script, []).graph or "")["tables"]

    places = places_of(script)

    assert set(places.reads) == {use["uri"] for use in uses if use["direction"] == "source"} - {None}
    assert set(places.writes) == {use["uri"] for use in uses if use["direction"] == "sink"} - {None}
