"""A private Airflow for these tests, made before Airflow is imported, and a scripted control plane."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from importlib.metadata import version

import pytest

_HOME = tempfile.mkdtemp(prefix="airflow-")
os.environ.setdefault("AIRFLOW_HOME", _HOME)
os.environ.setdefault("AIRFLOW__CORE__LOAD_EXAMPLES", "False")
os.environ.setdefault("AIRFLOW__CORE__UNIT_TEST_MODE", "True")

from airflow_provider_arroyo.testing.control_plane import TOKEN, FakeControlPlane  # noqa: E402 - Airflow reads its home when it is imported

from .tasks import KnownAssets, Run  # noqa: E402

_OF_3_3 = {"newest_airflow", "next_partition", "retries", "several_gates", "start_in_triggerer", "watchers"}
"""Tests of what Airflow has from 3.3 on: commands of providers, partitions, retry policies, templates in triggers, and
streams that watchers share."""
_OF_THE_ENGINE = {"contract", "demo", "demo_check", "documentation", "moving_pages", "openlineage", "planned_places"}
_OF_THE_ENGINE |= {"results", "secrets", "spark_cluster_example", "spark_connection", "testing"}
"""Tests that need the engine, or packages of its environment."""
collect_ignore = (
    [f"test_{name}.py" for name in _OF_3_3 | _OF_THE_ENGINE]
    if tuple(map(int, version("apache-airflow").split(".")[:2])) < (3, 3)
    else []
)
"""Tests that an older Airflow does not play (`make test-airflow`). Nothing else depends on the version."""


@pytest.fixture
def plane(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeControlPlane]:
    """A control plane that the connection `arroyo_default` leads to."""
    with FakeControlPlane() as fake:
        connection = {"conn_type": "arroyo", "host": fake.url, "password": TOKEN}
        monkeypatch.setenv("AIRFLOW_CONN_ARROYO_DEFAULT", json.dumps(connection))
        yield fake


@pytest.fixture
def airflow_run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """One run of one task, with as many tries as a test needs. No pause takes time."""
    return Run(monkeypatch)


@pytest.fixture
def known_assets(monkeypatch: pytest.MonkeyPatch) -> KnownAssets:
    """The assets that Airflow knows; none as long as the test names none."""
    known = KnownAssets()
    monkeypatch.setattr("airflow.sdk.execution_time.task_runner.SUPERVISOR_COMMS", known, raising=False)
    monkeypatch.setattr("airflow.sdk.execution_time.context._AssetRefResolutionMixin._asset_ref_cache", {})
    return known
