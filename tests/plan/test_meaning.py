"""What makes a script another one to run, and what does not."""

from __future__ import annotations

import pytest

from engine.control.upgrades.plan_query import plan_query

UDF = """
from engine.udf import udf

@udf
def half(x: int) -> float:
    return x / 2
"""
HEADER = """# /// script
# dependencies = ["numpy"]
# ///
"""
CLICKS = """
CREATE TABLE clicks (user BIGINT, at TIMESTAMP) WITH (
    connector = 'kafka', bootstrap_servers = 'localhost:9092', topic = 'clicks', type = 'source', format = 'json',
    event_time_field = 'at', auth.type = 'sasl', auth.username = 'u', auth.password = '{{ secret:KAFKA }}'
);
CREATE TABLE counts (user BIGINT) WITH (
    connector = 'single_file', path = '/tmp/counts', format = 'json', type = 'sink'
);
INSERT INTO counts SELECT user FROM clicks WHERE user > 3;
"""


def meaning(script: str, *udfs: str, connections: str = "") -> str:
    return plan_query(script, udfs, connections, may_hold_secrets=True).meaning


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("INSERT", "-- the new words\nINSERT"),
        ("SELECT user", "SELECT /* one */\n\n   user"),
        ("SELECT user FROM clicks WHERE user > 3", "select c.user from clicks as c where (c.user > 3)"),
    ],
)
def test_comments_layout_and_names_in_between_mean_nothing(old: str, new: str) -> None:
    assert old in CLICKS
    assert meaning(CLICKS.replace(old, new)) == meaning(CLICKS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("user > 3", "user > 4"),
        ("/tmp/counts", "/tmp/others"),
        ("localhost:9092", "kafka:9092"),
        ("{{ secret:KAFKA }}", "{{ secret:OTHER }}"),
        ("{{ secret:KAFKA }}", "hunter2"),
        ("type = 'source',", "type = 'source', bad_data = 'drop',"),
    ],
)
def test_setting_that_changes_a_run_changes_the_canonical_form(old: str, new: str) -> None:
    assert old in CLICKS
    assert meaning(CLICKS.replace(old, new)) != meaning(CLICKS)


def test_two_passwords_are_two_meanings() -> None:
    one, other = (meaning(CLICKS.replace("{{ secret:KAFKA }}", password)) for password in ("hunter2", "hunter3"))

    assert one != other


def test_the_text_of_a_function_counts_and_its_comments_do_not() -> None:
    script = CLICKS.replace("WHERE user > 3", "WHERE half(user) > 3")

    assert meaning(script, UDF) == meaning(script, UDF.replace("return", "# the half\n    return"))
    assert meaning(script, UDF) != meaning(script, UDF.replace("x / 2", "x / 3"))
    assert meaning(script, UDF) != meaning(script, HEADER + UDF)


def test_options_of_a_connection_are_part_of_the_canonical_form() -> None:
    connection = "CREATE CONNECTION broker WITH (connector = 'kafka', bootstrap_servers = '{}');"
    script = CLICKS.replace(
        "connector = 'kafka', bootstrap_servers = 'localhost:9092'", "connection_profile = 'broker'"
    )

    one, other = (meaning(script, connections=connection.format(host)) for host in ("localhost:9092", "kafka:9092"))
    assert one != other
