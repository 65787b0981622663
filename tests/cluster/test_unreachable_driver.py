"""A driver that executors do not reach: the run ends before its first epoch, and the error says where they looked."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.checkpoints.layout import StatePaths
from tests.cluster.parts import Cluster
from tests.cluster.play import run
from tests.ports import free_ports

pytestmark = pytest.mark.timeout(900)

SQL = """
CREATE TABLE numbers WITH (connector = 'impulse', event_rate = 1000, message_count = 10,
  event_time_interval = '1 second', start_time = '2024-01-01T00:00:00Z');
CREATE TABLE lines (counter BIGINT)
WITH (connector = 'single_file', path = '{folder}/out.json', format = 'json', type = 'sink');
INSERT INTO lines SELECT counter FROM numbers;
"""


def script(folder: Path) -> Path:
    path = folder / "q.sql"
    path.write_text(SQL.format(folder=folder))
    return path


def test_a_mailbox_behind_a_closed_port_is_named_with_executor_host_and_port(cluster: Cluster, tmp_path: Path) -> None:
    [port] = free_ports(1)

    status, said = run(script(tmp_path), tmp_path / "state", cluster, closed_port=port)

    assert status != 0
    assert "run.executor_unfit: the executor on worker-" in said
    assert f"does not reach the driver at 127.0.0.1:{port}: " in said
    assert "Connection refused" in said
    assert "mailbox_port" in said
    assert not list(StatePaths(tmp_path / "state").checkpoint.glob("commits/[0-9]*"))


def test_a_driver_host_that_is_none_is_named(cluster: Cluster, tmp_path: Path) -> None:
    status, said = run(
        script(tmp_path), tmp_path / "state", cluster, driver_host="127.0.0.77", driver_bind_address="127.0.0.1"
    )

    assert status != 0
    assert "run.no_executors" in said
    assert "127.0.0.77" in said
    assert "driver_host" in said
