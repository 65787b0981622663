"""Secrets in scripts that are kept."""

from __future__ import annotations

import pytest

from engine.api.plan_query import plan_query
from engine.errors import ScriptRefused

SCRIPT = """CREATE TABLE numbers (n BIGINT) WITH (
  connector = 'kafka', bootstrap_servers = 'b:1', topic = 't', type = 'source', format = 'json',
  auth.type = 'sasl', auth.username = 'me', auth.password = '{password}');
SELECT n FROM numbers;"""
CONNECTION = """CREATE CONNECTION shop WITH (connector = 'redis', address = 'redis://r:1', password = '{password}');
CREATE TABLE out (n TEXT) WITH (connection_profile = 'shop', type = 'sink', format = 'json', 'target.key_prefix' = 'k',
  target = 'string');
CREATE TABLE numbers (n TEXT) WITH (connector = 'single_file', path = '/in', format = 'json', type = 'source');
INSERT INTO out SELECT n FROM numbers;"""


@pytest.mark.parametrize(("script", "line"), [(SCRIPT, 3), (CONNECTION, 1)], ids=["table", "connection"])
def test_a_script_that_is_kept_must_refer_to_its_secrets(script: str, line: int) -> None:
    with pytest.raises(ScriptRefused) as refused:
        plan_query(script.format(password="hunter2"), [])

    [complaint] = refused.value.complaints
    assert complaint.code == "option.literal_secret"
    assert complaint.at is not None
    assert complaint.at.line == line
    assert "secret:NAME" in (complaint.hint or "")
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize("password", ["{{ secret:SHOP }}", "{{secret:A}}-{{secret:B}}", "${secret:SHOP}"])
def test_what_refers_to_secrets_may_be_kept(password: str) -> None:
    assert plan_query(SCRIPT.format(password=password), []).fingerprint
    assert plan_query(CONNECTION.format(password=password), []).fingerprint


def test_who_wants_to_keep_them_may() -> None:
    assert plan_query(SCRIPT.format(password="hunter2"), [], may_hold_secrets=True).fingerprint


HOOK = """CREATE TABLE out (n TEXT) WITH (connector = 'webhook', type = 'sink', format = 'json', endpoint = '{url}');
CREATE TABLE numbers (n TEXT) WITH (connector = 'single_file', path = '/in', format = 'json', type = 'source');
INSERT INTO out SELECT n FROM numbers;"""


@pytest.mark.parametrize("name", ["token", "api_key", "apikey", "access_token", "sig", "key"])
def test_a_key_in_a_url_must_be_referred_to(name: str) -> None:
    with pytest.raises(ScriptRefused) as refused:
        plan_query(HOOK.format(url=f"https://a.example/in?a=b&{name}=hunter2"), [])

    [complaint] = refused.value.complaints
    assert complaint.code == "option.literal_secret"
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    ["https://a.example/{{ secret:HOOK }}", "https://a.example/?token={{ secret:HOOK }}", "https://a.example/?page=1"],
)
def test_a_url_may_name_secrets(url: str) -> None:
    assert plan_query(HOOK.format(url=url), []).fingerprint
