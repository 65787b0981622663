"""A secret with a mark goes through every kind of connector that takes one, and the run fails: the mark is nowhere."""

from __future__ import annotations

import logging
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.compile import compile_script
from engine.errors import EngineError
from engine.spark.run.lifecycle import RunSpec, run_in
from engine.spark.run.stop_control import Control
from engine.values.secret_references import SECRET_PREFIX
from tests.connectors.http_serving import serving

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MARK = "canary-7c1d93e0"
SECRET = "{{ secret:CANARY }}"
COUNTED = "CREATE TABLE numbers WITH (connector = 'impulse', event_rate = '1000', message_count = 5);"
OUT = "CREATE TABLE out (counter BIGINT UNSIGNED) WITH (type = 'sink', format = 'json', {options});"
READ = "CREATE TABLE numbers (counter BIGINT UNSIGNED) WITH (type = 'source', format = 'json', {options});"
COPY = "INSERT INTO out SELECT counter FROM numbers;"
SINKS = {
    "webhook": f"connector = 'webhook', endpoint = '{{address}}', headers = 'authorization: Bearer {SECRET}'",
    "redis": f"connector = 'redis', address = 'redis://127.0.0.1:1', password = '{SECRET}', target = 'string', "
    "target.key_prefix = 'k'",
    "s3": f"connector = 'filesystem', path = 's3::http://127.0.0.1:1/bucket/out', storage.access_key_id = 'me', "
    f"storage.secret_access_key = '{SECRET}'",
}
KAFKA = (
    "connector = 'kafka', bootstrap_servers = '127.0.0.1:1', topic = 't', auth.type = 'sasl', auth.mechanism = 'PLAIN',"
    f" auth.username = 'u', auth.password = '{SECRET}', source.broker_timeout = '3 seconds'"
)
SCRIPTS = {name: COUNTED + OUT.format(options=options) + COPY for name, options in SINKS.items()} | {
    "kafka": READ.format(options=KAFKA) + "CREATE TABLE out WITH (connector = 'blackhole');" + COPY
}


class Refusing(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.send_error(403)

    def log_message(self, *_: object) -> None:
        """Keep it out of the terminal."""


def texts(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("connector", SCRIPTS)
def test_a_secret_is_in_no_error_log_plan_or_file(
    connector: str,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(f"{SECRET_PREFIX}CANARY", MARK)
    monkeypatch.setenv("ARROYO_NET_ALLOW", "127.0.0.1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    caplog.set_level(logging.DEBUG)

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Refusing)) as server:
        sql = SCRIPTS[connector].replace("{address}", f"http://127.0.0.1:{server.server_port}/")
        with pytest.raises(EngineError) as failed:
            run_in(spark, RunSpec("canary", sql, tmp_path / "state"), Control())

    error, program = failed.value, compile_script(sql)
    shown = [str(error), repr(error), error.message, error.hint or "", caplog.text, *capfd.readouterr(), repr(program)]
    assert [text for text in shown if MARK in text] == []
    assert texts(tmp_path)
    assert [path for path, content in texts(tmp_path).items() if MARK.encode() in content] == []
