"""Connections that an administrator's file declares."""

from __future__ import annotations

import pytest

from engine.compile import compile_script
from engine.errors import ScriptRefused, SettingError

FILE = "CREATE CONNECTION cache WITH (connector = 'redis', address = 'redis://a', password = '{{ secret:P }}');"
SCRIPT = """
CREATE TABLE events (at TIMESTAMP NOT NULL, key TEXT)
WITH (connector = 'single_file', path = '/e', format = 'json', type = 'source', event_time_field = 'at');
CREATE TEMPORARY TABLE users (id TEXT METADATA FROM 'key' PRIMARY KEY, name TEXT)
WITH (connection_profile = 'cache', format = 'json');
SELECT name FROM events JOIN users ON users.id = key;
"""


def test_a_script_may_use_the_connections_of_the_file() -> None:
    assert "redis://a" in str(compile_script(SCRIPT, connections=FILE).tables["users"].options)


def test_error_in_an_option_of_a_connection_file_is_reported_at_the_table() -> None:
    wrong = FILE.replace("'redis://a'", "'redis://a', 'cluster.addresses' = 'redis://b'")

    with pytest.raises(ScriptRefused) as refused:
        compile_script(SCRIPT, connections=wrong)

    assert "exactly one of 'address' and 'cluster.addresses'" in str(refused.value)
    assert {complaint.at.line for complaint in refused.value.complaints if complaint.at} == {4}


@pytest.mark.parametrize(
    "text", ["SELECT 1", "CREATE CONNECTION a WITH (x", "CREATE CONNECTION a WITH ()", FILE + FILE]
)
def test_a_file_with_anything_else_is_refused_as_a_setting(text: str) -> None:
    with pytest.raises(SettingError, match="file of connections"):
        compile_script(SCRIPT, connections=text)
