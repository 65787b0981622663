"""Where a pipeline runs can be said by an Airflow connection of the Spark provider."""

from __future__ import annotations

import builtins
import json
from datetime import timedelta

import pytest

from airflow_provider_arroyo.errors import BadConnectionError
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.secret_sources import spark_place, to_interval, to_settings
from airflow_provider_arroyo.testing.control_plane import FakeControlPlane

from .tasks import Run


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> str:
    """A connection to a standalone cluster, with something for us and something for others in its extra."""
    ours = {"memory": "4g", "max_epoch_rows": 1000, "epoch_interval": "10 seconds"}
    extra = {**ours, "queue": "root.default", "spark-binary": "spark-submit"}
    connection = {"conn_type": "spark", "host": "spark://cluster", "port": 7077, "extra": extra}
    monkeypatch.setenv("AIRFLOW_CONN_CLUSTER", json.dumps(connection))
    return "cluster"


def test_the_connection_gives_the_master_and_the_settings_that_are_ours(cluster: str) -> None:
    place = spark_place(cluster)

    assert place.settings == {"master": "spark://cluster:7077", "memory": "4g", "max_epoch_rows": "1000"}
    assert place.checkpoint_interval == timedelta(seconds=10)


def test_the_operator_deploys_with_them_and_its_own_settings_win(
    plane: FakeControlPlane, airflow_run: Run, cluster: str
) -> None:
    operator = StreamingSqlOperator(
        task_id="deploy", pipeline="orders", sql="SELECT 1", spark_conn_id=cluster, settings={"memory": "8g"}
    )

    airflow_run.execute(operator)

    deployed = next(request for request in plane.requests if request.method == "PUT")
    assert deployed.body is not None
    assert deployed.body["settings"] == {"master": "spark://cluster:7077", "memory": "8g", "max_epoch_rows": "1000"}


@pytest.mark.parametrize(
    ("chosen", "micros"), [({}, 10_000_000), ({"checkpoint_interval": timedelta(seconds=1)}, 1_000_000)]
)
def test_the_epoch_interval_of_a_connection_is_the_checkpoint_interval_unless_the_operator_has_one(
    plane: FakeControlPlane, airflow_run: Run, cluster: str, chosen: dict[str, timedelta], micros: int
) -> None:
    operator = StreamingSqlOperator(
        task_id="deploy",
        pipeline="orders",
        sql="SELECT 1",
        spark_conn_id=cluster,
        checkpoint_interval=chosen.get("checkpoint_interval"),
    )

    airflow_run.execute(operator)

    deployed = next(request for request in plane.requests if request.method == "PUT")
    assert deployed.body is not None
    assert deployed.body["checkpoint_interval_micros"] == micros
    assert "epoch_interval" not in deployed.body["settings"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10 seconds", 10), ("1 minute", 60), ("500ms", 0.5), ("1.5 h", 5400), (30, 30)],
)
def test_an_epoch_interval_is_read_as_people_write_it(text: object, seconds: float) -> None:
    assert to_interval("c", {"epoch_interval": text}) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "extra", [{}, {"epoch_interval": ""}, {"epoch_interval": None}, {"epoch_interval": "0 seconds"}]
)
def test_without_an_epoch_interval_the_checkpoint_interval_stays_as_it_is(extra: dict[str, object]) -> None:
    assert to_interval("c", extra) is None


@pytest.mark.parametrize("text", ["soon", "10 fortnights", "-1 s", "1 minute 30"])
def test_an_epoch_interval_that_is_no_length_of_time_is_refused_by_name(text: str) -> None:
    with pytest.raises(BadConnectionError, match="epoch_interval"):
        to_interval("c", {"epoch_interval": text})


@pytest.mark.parametrize("master", ["local", "local[4]", "local[*]", "spark://a:7077,b:7077"])
def test_masters_that_take_a_driver_from_outside_are_taken(master: str) -> None:
    assert to_settings("c", master, "client", {}) == {"master": master}


@pytest.mark.parametrize(("said", "setting"), [(True, "on"), ("on", "on"), ("false", "off"), (False, "off")])
def test_the_extra_of_a_connection_declares_a_shared_disk(said: object, setting: str) -> None:
    settings = to_settings("c", "spark://a:7077", None, {"shared_disk": said})

    assert settings == {"master": "spark://a:7077", "shared_disk": setting}


@pytest.mark.parametrize("master", ["yarn", "k8s://https://cluster:443", "mesos://cluster:5050", "local[", ""])
def test_masters_that_pipelines_cannot_run_on_are_refused_by_name(master: str) -> None:
    with pytest.raises(BadConnectionError, match="connection 'c' leads to") as refused:
        to_settings("c", master, None, {})

    assert refused.value.hint == "Use a connection to local[N] or to spark://HOST:PORT."


def test_cluster_mode_is_refused() -> None:
    with pytest.raises(BadConnectionError, match="deploy mode 'cluster'"):
        to_settings("c", "spark://cluster:7077", "cluster", {})


def test_without_the_spark_provider_the_extra_is_named(cluster: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def refuse(name: str, *args: object, **kwargs: object) -> object:
        if name.startswith("airflow.providers.apache.spark"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)

    with pytest.raises(BadConnectionError) as refused:
        spark_place(cluster)

    assert "airflow-provider-arroyo[spark]" in str(refused.value)


def test_the_extra_of_a_connection_has_the_settings_of_a_cluster() -> None:
    extra = {
        "state_url": "s3://bucket/jobs",
        "executor_cores": 2,
        "jars": ["/srv/a.jar", "/srv/b.jar"],
        "spark.shuffle.compress": True,
        "spark-binary": "spark-submit",
    }

    assert to_settings("c", "spark://a:7077", None, extra) == {
        "master": "spark://a:7077",
        "state_url": "s3://bucket/jobs",
        "executor_cores": "2",
        "jars": "/srv/a.jar,/srv/b.jar",
        "spark.shuffle.compress": "true",
    }
