"""Sinks that tell, without an epoch, whether they could take one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.connectors.base import HasProbe, Table
from engine.errors import EngineError, TargetUnavailableError, UnwritableTargetError
from tests.connectors.receiver import Receiver
from tests.connectors.tables import NUMBERS, batch, epoch, sink, table, take

FILES = {"single_file": "rows.json", "filesystem": "rows", "delta": "rows"}


def files(connector: str, path: Path) -> Table:
    form = "parquet" if connector == "delta" else "json"
    return table(connector, NUMBERS, type="sink", path=path / FILES[connector], format=form)


def probe(of: Table, root: Path) -> None:
    asked = sink(of, root / "state" / "sinks" / "t")
    assert isinstance(asked, HasProbe)
    asked.probe()


@pytest.mark.parametrize("connector", FILES)
def test_a_place_that_can_be_written_is_left_as_it_was(connector: str, tmp_path: Path) -> None:
    of = files(connector, tmp_path / "out")

    probe(of, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state"]

    take(sink(of, tmp_path / "state" / "sinks" / "t"), epoch(0), [batch(NUMBERS, (1, "a"))])
    before = sorted((tmp_path / "out").rglob("*"))
    probe(of, tmp_path)
    assert sorted((tmp_path / "out").rglob("*")) == before


@pytest.mark.parametrize("connector", FILES)
def test_a_place_that_cannot_be_written_is_told(connector: str, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file in the way")

    with pytest.raises(UnwritableTargetError):
        probe(files(connector, tmp_path / "out"), tmp_path)


@pytest.mark.parametrize(
    ("connector", "options"),
    [
        ("redis", {"address": "redis://127.0.0.1:1", "target": "string", "target__key_prefix": "p"}),
        ("webhook", {"endpoint": "http://127.0.0.1:1/rows"}),
        ("webhook", {"endpoint": "https://127.0.0.1:1/rows"}),
        ("kafka", {"bootstrap_servers": "127.0.0.1:1", "topic": "t"}),
        ("kafka", {"bootstrap_servers": "127.0.0.1:1", "topic": "t", "sink__commit_mode": "at_least_once"}),
    ],
)
def test_a_server_that_is_away_is_told(
    connector: str, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARROYO_NET_ALLOW", "127.0.0.1")
    monkeypatch.setattr("engine.connectors.kafka.write.producer._PROBE_SECONDS", 0.5)

    with pytest.raises(TargetUnavailableError) as away:
        probe(table(connector, NUMBERS, type="sink", format="json", **options), tmp_path)

    assert away.value.is_outage


def test_a_bucket_without_a_server_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARROYO_NET_ALLOW", "127.0.0.1")
    monkeypatch.setattr("engine.connectors.files.s3_client._TIMES", 1)
    keys = {"storage__access_key_id": "me", "storage__secret_access_key": "mine"}
    of = table("filesystem", NUMBERS, type="sink", format="json", path="s3::http://127.0.0.1:9/bucket/a", **keys)

    with pytest.raises(EngineError) as away:
        probe(of, tmp_path)

    assert away.value.is_outage


def test_a_receiver_of_posts_is_connected_to_and_sent_nothing(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARROYO_NET_ALLOW", "localhost")
    of = table("webhook", NUMBERS, type="sink", format="json", endpoint=receiver.url)

    probe(of, tmp_path)

    assert (receiver.seen, receiver.headers) == ([], [])


def test_a_receiver_that_does_not_speak_tls_is_told(
    receiver: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARROYO_NET_ALLOW", "localhost")
    of = table("webhook", NUMBERS, type="sink", format="json", endpoint=receiver.url.replace("http:", "https:"))

    with pytest.raises(TargetUnavailableError, match="cannot be connected to"):
        probe(of, tmp_path)
