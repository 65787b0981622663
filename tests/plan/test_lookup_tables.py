"""What of a lookup table belongs to a job's state, and what does not."""

from __future__ import annotations

from engine.compile import compile_script

SCRIPT = """
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT)
WITH (connector = 'single_file', path = '/e', format = 'json', type = 'source', event_time_field = 'at');
CREATE TEMPORARY TABLE names (id TEXT {key} PRIMARY KEY, {columns}) WITH ({options});
SELECT name, count(*) FROM events JOIN names ON key = names.id GROUP BY tumble('1 minute'), name;
"""


def fingerprint(
    columns: str = "name TEXT", key: str = "", options: str = "connector = 'filesystem', path = '/a'"
) -> str:
    script = SCRIPT.format(columns=columns, key=key, options=f"{options}, format = 'json'")
    return compile_script(script).fingerprint


def test_a_state_goes_on_when_a_lookup_table_moves() -> None:
    moved = fingerprint(options="connector = 'filesystem', path = '/b', 'lookup.cache.max_bytes' = 0")
    redis = fingerprint(options="connector = 'redis', address = 'r', password = 'x'", key="METADATA FROM 'key'")

    assert {moved, redis} == {fingerprint()}
    assert fingerprint(columns="name TEXT, tier INT") == fingerprint()


def test_a_state_does_not_go_on_when_other_columns_are_looked_up() -> None:
    assert fingerprint(columns="name BIGINT") != fingerprint()
