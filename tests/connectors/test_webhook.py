"""Posting rows to a real server: which are taken, which are tried again, which are refused, and what a repeat says."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from engine.connectors.addresses import ALLOWED, check_url, shown_url
from engine.connectors.webhook.options import WebhookOptions
from engine.connectors.webhook.sink import Poster
from engine.delivery.file_ledger import read_ledger
from engine.errors import AddressRefusedError, RowRefusedError, ScriptRefused, TargetUnavailableError
from tests.connectors.receiver import Receiver
from tests.connectors.tables import NUMBERS, batch, epoch, sink, table, take


def post(receiver: Receiver, bodies: Sequence[object], **options: object) -> tuple[list[str], list[float]]:
    """Why rows were refused, and how long the poster waited each time."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    settings = WebhookOptions.model_validate({"endpoint": receiver.url, **options})
    target = check_url(settings.endpoint, {ALLOWED: "localhost"})
    poster = Poster(settings, target, sleep=sleep, clock=lambda: sum(waits))
    refused = asyncio.run(poster.post_all("l/t/1", (json.dumps(body).encode() for body in bodies)))
    return [letter.error for letter in refused], waits


def test_every_row_is_posted_once_and_in_order_with_one_in_flight(receiver: Receiver) -> None:
    refused, _ = post(receiver, [{"n": n} for n in range(200)], **{"sink.max_in_flight": 1})

    assert refused == []
    assert [body["n"] for _, body in receiver.seen] == list(range(200))
    assert len({key for key, _ in receiver.seen}) == 200


def test_temporary_error_is_retried_after_the_requested_delay(receiver: Receiver) -> None:
    receiver.answers = [(503, {}), (429, {"Retry-After": "7"}), (500, {})]

    refused, waits = post(receiver, [{"n": 1}], **{"sink.max_in_flight": 1})

    assert refused == []
    assert waits == [0.1, 7.0, 0.4]
    assert len({headers["idempotency-key"] for headers in receiver.headers}) == 1


def test_a_receiver_that_does_not_recover_ends_the_epoch(receiver: Receiver) -> None:
    receiver.answers = [(503, {})] * 500

    with pytest.raises(TargetUnavailableError, match="503"):
        post(receiver, [{"n": 1}], **{"sink.max_in_flight": 1, "sink.retry_timeout": timedelta(minutes=1)})


def test_headers_are_sent_and_never_print(receiver: Receiver) -> None:
    options = WebhookOptions(endpoint=receiver.url, headers=SecretStr("Authorization: Bearer open sesame, X-A: b"))

    post(receiver, [{"n": 1}], headers="Authorization: Bearer open sesame, X-A: b")

    assert receiver.headers[0]["authorization"] == "Bearer open sesame"
    assert receiver.headers[0]["host"] == receiver.url.split("/")[2]
    assert "sesame" not in repr(options)


def options_of(receiver: Receiver, **more: object) -> dict[str, object]:
    return {"endpoint": receiver.url, "type": "sink", **more}


def test_an_epoch_is_posted_again_only_when_it_is_not_in_the_ledger(receiver: Receiver, tmp_path: Path) -> None:
    webhook = sink(table("webhook", NUMBERS, **options_of(receiver)), tmp_path)

    take(webhook, epoch(0), [batch(NUMBERS, (1, "a"), (2, "b"))])
    take(webhook, epoch(0), [batch(NUMBERS, (1, "a"), (2, "b"))])
    assert Counter(body["n"] for _, body in receiver.seen) == {1: 1, 2: 1}

    for file in tmp_path.rglob("*ledger*"):
        shutil.rmtree(file) if file.is_dir() else file.unlink()
    take(webhook, epoch(0), [batch(NUMBERS, (1, "a"), (2, "b"))])
    assert len(receiver.seen) == 4
    assert len({key for key, _ in receiver.seen}) == 2, "a receiver can tell that they are the same"


@pytest.mark.parametrize("bad_data", ["fail", "drop", "dead_letter"])
def test_rows_that_are_refused_for_good_end_the_run_or_are_left_out_or_kept(
    receiver: Receiver, tmp_path: Path, bad_data: str
) -> None:
    letters = {"dead_letter.path": str(tmp_path / "letters")} if bad_data == "dead_letter" else {}
    webhook = sink(table("webhook", NUMBERS, **options_of(receiver, bad_data=bad_data, **letters)), tmp_path / "own")

    if bad_data == "fail":
        with pytest.raises(RowRefusedError, match="422"):
            take(webhook, epoch(0), [batch(NUMBERS, (1, "a"), (-1, "b"))])
        assert read_ledger(tmp_path / "own") == []
        return
    take(webhook, epoch(0), [batch(NUMBERS, (1, "a"), (-1, "b"))])

    take(webhook, epoch(1), [batch(NUMBERS, (2, "c"))])

    assert [(entry.rows, entry.refused) for entry in read_ledger(tmp_path / "own")] == [(1, 1)]
    dead_letters = [json.loads(line) for file in tmp_path.glob("letters/*") for line in file.read_text().splitlines()]
    assert [json.loads(letter["record"])["n"] for letter in dead_letters] == ([-1] if bad_data == "dead_letter" else [])


@pytest.mark.parametrize(
    ("address", "allowed", "is_open"),
    [
        ("93.184.216.34", "", True),
        ("127.0.0.1", "", False),
        ("10.1.2.3", "", False),
        ("10.1.2.3", "10.0.0.0/8", True),
        ("10.1.2.3", "inner.example", True),
        ("169.254.169.254", "", False),
        ("::1", "", False),
        ("::ffff:127.0.0.1", "", False),
        ("fe80::1%eth0", "", False),
        ("2606:2800:220:1:248:1893:25c8:1946", "", True),
    ],
)
def test_a_script_reaches_public_addresses_and_what_is_allowed(address: str, allowed: str, *, is_open: bool) -> None:
    def lookup(_: str, __: int) -> list[str]:
        return ["93.184.216.34", address]

    if is_open:
        assert check_url("http://inner.example:81/x?y", {ALLOWED: allowed}, lookup).host == "inner.example:81"
    else:
        with pytest.raises(AddressRefusedError, match="not a public address"):
            check_url("https://inner.example/x", {ALLOWED: allowed}, lookup)


def test_the_address_that_was_checked_is_the_one_that_is_asked() -> None:
    address = check_url("https://example.org/a?b=c", {}, lambda host, port: ["93.184.216.34"])

    assert (address.url, address.host, address.server_name) == (
        "https://93.184.216.34:443/a?b=c", "example.org", "example.org",
    )  # fmt: skip


@pytest.mark.parametrize(
    "endpoint", ["ftp://example.org", "example.org", "http://user:secret@example.org", "file:///etc/passwd"]
)
def test_invalid_webhook_url_is_refused(endpoint: str) -> None:
    with pytest.raises(ScriptRefused):
        table("webhook", NUMBERS, endpoint=endpoint, type="sink")


@pytest.mark.parametrize(
    ("module", "client"), [("webhook.sink", "httpx"), ("schema_registry", "httpx2")], ids=["webhook", "registry"]
)
def test_http_client_logs_no_urls(module: str, client: str) -> None:
    """In a process of its own: the tests' own process silences the clients, too."""
    script = f"import logging, engine.connectors.{module}; print(logging.getLogger('{client}').isEnabledFor(20))"
    script = "import logging; logging.basicConfig(level=logging.INFO); " + script

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"


def test_a_url_is_shown_without_what_may_be_a_key() -> None:
    assert shown_url("https://a.example:8443/services/T0/hunter2?token=hunter2") == "https://a.example:8443/..."
    assert shown_url("https://a.example/") == "https://a.example"
    assert "hunter2" not in repr(check_url("https://a.example/hunter2", {}, lambda host, port: ["93.184.216.34"]))
