"""Secrets in scripts that are kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.cli.main import main
from engine.control.upgrades.plan_query import plan_query
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
def test_option_that_refers_to_secrets_may_be_stored(password: str) -> None:
    assert plan_query(SCRIPT.format(password=password), []).fingerprint
    assert plan_query(CONNECTION.format(password=password), []).fingerprint


def test_literal_secret_may_be_stored_on_request() -> None:
    assert plan_query(SCRIPT.format(password="hunter2"), [], may_hold_secrets=True).fingerprint


HOOK = """CREATE TABLE out (n TEXT) WITH (connector = 'webhook', type = 'sink', format = 'json', endpoint = '{url}');
CREATE TABLE numbers (n TEXT) WITH (connector = 'single_file', path = '/in', format = 'json', type = 'source');
INSERT INTO out SELECT n FROM numbers;"""


@pytest.mark.parametrize("name", ["token", "api_key", "apikey", "access_token", "sig", "key", "code"])
def test_a_key_in_a_url_must_be_referred_to(name: str) -> None:
    with pytest.raises(ScriptRefused) as refused:
        plan_query(HOOK.format(url=f"https://a.example/in?a=b&{name}=hunter2"), [])

    [complaint] = refused.value.complaints
    assert complaint.code == "option.literal_secret"
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://a.example/{{ secret:HOOK }}",
        "https://a.example/?token={{ secret:HOOK }}",
        "https://a.example/?page=1",
        "https://a.example/v2/tenants/550e8400-e29b-41d4-a716-446655440000/orders-of-the-last-24-hours",
        "https://a.example/export_of_customers_in_2026/OrderEventsOfTheWholeCompany",
        "https://a.example/bot/{{ secret:HOOK_OF_2026_WITH_A_LONG_NAMe }}",
    ],
)
def test_a_url_may_name_secrets(url: str) -> None:
    assert plan_query(HOOK.format(url=url), []).fingerprint


PATHS = [
    "services/T01ABCDEF/B01ABCDEF/q8Zr3kT1vWx0LmN5pYs7",
    "api/webhooks/1/9f8e7d6c5b4a39281706f5e4d3c2b1a0",
    "bot12:AbC/x",
]


@pytest.mark.parametrize("path", PATHS)
def test_key_in_path_of_url_must_be_referred_to(path: str) -> None:
    with pytest.raises(ScriptRefused) as refused:
        plan_query(HOOK.format(url=f"https://a.example/{path}"), [])

    assert [complaint.code for complaint in refused.value.complaints] == ["option.literal_secret"]
    assert path not in str(refused.value)


@pytest.mark.parametrize("url", ["https://a.example/?code=hunter2", *(f"https://a.example/{path}" for path in PATHS)])
def test_local_check_warns_of_key_in_url(url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "hook.sql"
    script.write_text(HOOK.format(url=url))

    assert main(["check", str(script)]) == 0
    told = capsys.readouterr().err
    assert "warning option.literal_secret at 1:" in told
    assert "secret:NAME" in told
    assert main(["check", "--json", str(script)]) == 0
    [warning] = json.loads(capsys.readouterr().out)["warnings"]
    assert warning["code"] == "option.literal_secret"
    assert url not in str(warning)


def test_local_check_warns_of_nothing_where_secrets_are_referred_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "hook.sql"
    script.write_text(HOOK.format(url="https://a.example/{{ secret:HOOK }}"))

    assert main(["check", str(script)]) == 0
    assert "warning" not in capsys.readouterr().err
