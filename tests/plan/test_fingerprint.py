"""A fingerprint is that of the plan, and of how its state is written."""

from __future__ import annotations

import pytest

from engine.compile import compile_script
from engine.plan.identity.fingerprint import differ_in_format

TABLES = """
CREATE TABLE rows (at TIMESTAMP NOT NULL, key TEXT, WATERMARK FOR at)
WITH (connector = 'single_file', path = '/rows.json', format = 'json', type = 'source');
"""


@pytest.mark.parametrize(
    "query",
    [
        "SELECT key, count(*) FROM rows GROUP BY key",
        "SELECT one.key FROM rows one JOIN rows other ON one.key = other.key",
        "SELECT * FROM (SELECT key, row_number() OVER (PARTITION BY key ORDER BY at) AS n FROM rows) WHERE n = 1",
        "SELECT count(*) FROM (SELECT max(at) FROM rows GROUP BY key)",
    ],
)
def test_the_format_stands_in_it_where_state_is_kept_in_buckets(query: str) -> None:
    text = compile_script(TABLES + query).fingerprint

    assert differ_in_format(text, text.partition("+")[0])
    assert not differ_in_format(text, text)


def test_windows_have_no_format_of_ours() -> None:
    query = "SELECT key, count(*) FROM rows GROUP BY key, tumble(INTERVAL '1 minute')"

    assert "+" not in compile_script(TABLES + query).fingerprint


def test_another_plan_differs_in_more_than_the_format() -> None:
    counted, greatest = (
        compile_script(f"{TABLES} SELECT {function}(key) FROM rows").fingerprint for function in ("count", "max")
    )

    assert not differ_in_format(counted, greatest)
