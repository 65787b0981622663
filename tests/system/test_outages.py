"""Real drivers whose bucket, broker or disk is away for a while. `OUTAGE_SECONDS=60` makes the outages as long as that.

The control plane gives a job up at its first failure that is no outage, so that a job which comes to its end has used
up no restart.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engine.delivery.ownership import MARK as OWNER_MARK
from tests.chaos.servers import BUCKET, bucket_client, s3
from tests.kafka.broker import Broker, running
from tests.s3.proxy import Proxy
from tests.system.conftest import Served, until

LOG = logging.getLogger(__name__)
pytestmark = [pytest.mark.system, pytest.mark.timeout(3600)]
OUTAGE_SECONDS = float(os.environ.get("OUTAGE_SECONDS", "3"))
"""How long an outage lasts at least: a minute for the bucket and two for the broker when this is played by hand."""
NO_RESTARTS = {"HEARTBEAT_LIMIT": "60s", "MAX_BACKOFF": "2s", "ALLOWED_RESTARTS": "0"}
ROWS = 400
TO_BUCKET = """
CREATE TABLE numbers (counter BIGINT UNSIGNED) WITH (
  connector = 'impulse', event_rate = '10', message_count = {rows}
);
CREATE TABLE copies WITH (
  connector = 'filesystem', type = 'sink', format = 'json', path = 's3::{endpoint}/{bucket}/out',
  'storage.access_key_id' = '{{{{ secret:KEY_ID }}}}', 'storage.secret_access_key' = '{{{{ secret:KEY }}}}'
);
INSERT INTO copies SELECT counter FROM numbers;
"""
FROM_KAFKA = """
CREATE TABLE events (n BIGINT) WITH (
  connector = 'kafka', bootstrap_servers = '{address}', topic = 'events', type = 'source', format = 'json',
  'source.offset' = 'earliest', 'source.broker_timeout' = '2 seconds'
);
CREATE TABLE copies WITH (connector = 'single_file', path = '{out}', format = 'json', type = 'sink');
INSERT INTO copies SELECT n FROM events;
"""
_REFUSAL = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Refusing(Proxy):
    """Passes bytes on; while it is shut, every request is answered with 503."""

    is_shut = False
    refusals = 0

    def _pass_on(self, near: socket.socket) -> None:
        with near, socket.create_connection(self._upstream) as far:
            back = threading.Thread(target=self._answer, args=(far, near, threading.Event()), daemon=True)
            back.start()
            with contextlib.suppress(OSError):
                while data := near.recv(65536):
                    if self.is_shut:
                        self._refuse(near)
                        break
                    far.sendall(data)
            with contextlib.suppress(OSError):
                far.shutdown(socket.SHUT_RDWR)
            back.join()

    def _refuse(self, near: socket.socket) -> None:
        """Answer, and take in the rest of the request: what is not read would break the connection off instead."""
        self.refusals += 1
        near.sendall(_REFUSAL)
        near.shutdown(socket.SHUT_WR)
        while near.recv(65536):
            pass


@dataclass
class WithKeys(Served):
    """A control plane whose drivers have the keys of a bucket."""

    def environment(self) -> dict[str, str]:
        keys = {"ARROYO_SECRET_KEY_ID": "me", "ARROYO_SECRET_KEY": "mine"}
        allowed = {"ARROYO_NET_ALLOW": "127.0.0.1", "AWS_EC2_METADATA_DISABLED": "true"}
        return {**super().environment(), **keys, **allowed}


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[tuple[str, Refusing]]:
    """A store that speaks S3, and what stands before it."""
    with s3(tmp_path) as address:
        host, port = address.removeprefix("http://").split(":")
        before = Refusing((host, int(port)), lambda _: False)
        thread = threading.Thread(target=before.serve, daemon=True)
        thread.start()
        yield address, before
        before.close()
        thread.join()


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Served]:
    """A control plane with real drivers."""
    data_dir = tmp_path / "plane"
    data_dir.mkdir()
    served = WithKeys(data_dir, NO_RESTARTS, driver=None).start()
    yield served
    served.close()


def deploy(plane: Served, query: str, **settings: str) -> None:
    body = {"query": query, "settings": {"quick": "true", "memory": "600m", **settings}}
    plane.client.send("PUT", "/pipelines/by-name/copies", body)


def has_lasted(since: float) -> None:
    """Wait until an outage has been as long as it is to be."""
    until(lambda: time.monotonic() - since, lambda seconds: seconds >= OUTAGE_SECONDS, OUTAGE_SECONDS + 60)


def tell(plane: Served, what: str, since: float) -> None:
    """Log the figures, for those who play this by hand."""
    job, seconds = plane.job("copies"), time.monotonic() - since
    restarts = (job["restarts_total"], job["restart_code"])
    LOG.info("%s: %.0f s, %s starts after failures, the last for %s", what, seconds, *restarts)


def test_a_bucket_that_answers_503_is_waited_for(plane: Served, bucket: tuple[str, Refusing]) -> None:
    address, before = bucket
    deploy(plane, TO_BUCKET.format(rows=ROWS, endpoint=before.url, bucket=BUCKET))
    plane.until("copies", state="Running", within=900)

    before.is_shut, began = True, time.monotonic()
    job = until(lambda: plane.job("copies"), lambda job: job["failure_code"] is not None, 900)
    assert (job["failure_code"], job["failure_cause"]) == ("delivery.unavailable", "outage")
    has_lasted(began)
    before.is_shut = False
    tell(plane, f"a bucket with {before.refusals} refusals", began)

    job = until(lambda: plane.job("copies"), lambda job: job["state"] in ("Finished", "Failed"), 1200)
    tell(plane, "the same at the end", began)
    assert job["state"] == "Finished", job["failure_message"]
    assert rows_of(address) == list(range(ROWS))


def rows_of(address: str) -> list[int]:
    """What readers of the bucket find, in order."""
    client: Any = bucket_client(address)
    keys = [summary["Key"] for summary in client.list_objects_v2(Bucket=BUCKET, Prefix="out/").get("Contents", [])]
    bodies = [client.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in keys if not key.endswith(OWNER_MARK)]
    return sorted(json.loads(line)["counter"] for body in bodies for line in body.splitlines())


def test_a_broker_that_is_away_is_waited_for_at_the_start_and_in_the_middle(plane: Served, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    with running(tmp_path / "kafka") as broker:
        broker.create_topic("events")
        produce(broker, range(1000))
        broker.nodes[0].stop()

        began = time.monotonic()
        deploy(plane, FROM_KAFKA.format(address=broker.address, out=out), max_epoch_rows="50")
        job = until(lambda: plane.job("copies"), lambda job: job["restarts_total"] >= 2, 900)
        assert (job["restart_code"], job["failure_cause"]) == ("data.source_unavailable", "outage")
        assert not was_running(plane)
        has_lasted(began)
        tell(plane, "a broker at the start", began)
        broker.restart()
        plane.until("copies", state="Running", within=900)

        plane.until_epoch(3, "copies", within=600)
        broker.kill()
        assert len(out.read_text().splitlines()) < 1000, "it was not in the middle"
        began = time.monotonic()
        restarts = plane.job("copies")["restarts_total"]
        until(lambda: plane.job("copies"), lambda job: job["restarts_total"] > restarts, 900)
        has_lasted(began)
        tell(plane, "a broker in the middle", began)
        broker.restart()
        produce(broker, range(1000, 1100))
        until(lambda: len(out.read_text().splitlines()), lambda count: count >= 1100, 900)
        plane.patch("copies", stop="checkpoint")
        plane.until("copies", state="Stopped", within=600)

    assert [json.loads(line)["n"] for line in out.read_text().splitlines()] == list(range(1100))


def produce(broker: Broker, numbers: range) -> None:
    """Write events with these numbers."""
    broker.produce("events", *(json.dumps({"n": number}) for number in numbers))


def was_running(plane: Served) -> bool:
    """Whether the job has ever come so far."""
    answer: Any = plane.client.get("/pipelines/copies/events")
    return any(event["message"].endswith("to Running") for event in answer["data"])
