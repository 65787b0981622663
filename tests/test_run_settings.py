"""The settings of a run: declared once, read from texts, written as texts."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from airflow_provider_arroyo import secret_sources
from engine.cli.scripts.run import read_set_arguments
from engine.errors import SettingError
from engine.jobs.processes.assignment import Assignment
from engine.values.cluster import ClusterSettings, refuse_missing_files
from engine.values.run_settings import RUN_SETTINGS, RunSettings, read_run_settings, write_run_settings
from engine.values.spark_settings import ALLOWED, OUR_NAMES, refused_settings
from tests.jobs.builders import assigned

CLUSTER = {"master": "spark://host:7077"}
EVERY = {
    "memory": "4g",
    "master": "spark://host:7077",
    "shared_disk": "on",
    "quick": "true",
    "linger": "1 second",
    "max_epoch_rows": "5",
    "fuse": "off",
    "count_state": "on",
    "by_pane": "off",
    "start_from": 'clicks=earliest; orders=offsets:{"0": 1}',
    "history_from": "2026-01-01T00:00:00Z",
    "history_stop_at": 'clicks=offsets:{"0": 12}',
    "partial_windows": "on",
    "state_url": "s3://bucket/jobs",
    "driver_host": "driver.internal",
    "driver_bind_address": "0.0.0.0",
    "driver_port": "7100",
    "block_manager_port": "7101",
    "mailbox_port": "7102",
    "executor_memory": "2g",
    "executor_cores": "2",
    "max_cores": "8",
    "executor_python": "/opt/python/bin/python",
    "executor_archive": "/srv/environment.tar.gz",
    "jars": "/srv/a.jar,/srv/b.jar",
    "spark.network.timeout": "120s",
}
OTHERS = ({"isolation": "shared"}, {"history_to": "2026-01-02T00:00:00Z"}, {"then_continue": "on"})


def test_settings_that_are_written_are_read_as_they_were() -> None:
    for texts in (EVERY, *OTHERS, {}):
        assert write_run_settings(read_run_settings(texts)) == texts

    assert {*EVERY, *(name for texts in OTHERS for name in texts)} == {*RUN_SETTINGS, "spark.network.timeout"}


def test_an_assignment_has_its_settings_as_texts_as_earlier_versions_read_and_write_them(tmp_path: Path) -> None:
    file = tmp_path / "assignment.json"
    assigned(tmp_path, settings={"linger": "1 second", "fuse": "on"}).write(file)

    assert json.loads(file.read_text())["settings"] == {"linger": "1 second"}
    assert Assignment.read(file).settings == RunSettings(linger=timedelta(seconds=1))

    earlier = json.loads(file.read_text()) | {"settings": {"memory": "1g", "by_pane": "on", "quick": "TRUE"}}
    file.write_text(json.dumps(earlier))
    assert Assignment.read(file).settings == RunSettings(memory="1g", by_pane=True, quick=True)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("state_url", "gs://bucket/jobs", "must be s3://bucket/prefix"),
        ("state_url", "s3://bucket", "must name a prefix"),
        ("state_url", "s3://bucket//", "must name a prefix"),
        ("state_url", "s3:///jobs", "must name a bucket"),
        ("state_url", "s3://bucket/a b", "must have a plain prefix"),
        ("state_url", "s3::https://key:secret@host/bucket/jobs", "must not hold keys"),
        ("driver_host", "host:7077", "must be a host name or an address, without a port"),
        ("driver_host", "spark://host", "must be a host name"),
        ("driver_bind_address", "", "must be a host name"),
        ("driver_port", "65536", "must be a port from 1 to 65535, or 0"),
        ("mailbox_port", "-1", "must be a port"),
        ("block_manager_port", "http", "must be a port"),
        ("executor_memory", "lots", "must be a whole number and a unit"),
        ("executor_memory", "100m", "must be at least 480m"),
        ("executor_cores", "0", "must be a whole number greater than zero"),
        ("max_cores", "1.5", "must be a whole number greater than zero"),
        ("executor_python", " ", "must be a path"),
        ("executor_archive", "/srv/environment.rar", "must be the path of a local file that ends in .tar.gz"),
        ("executor_archive", "https://host/e.tar.gz", "must be the path of a local file"),
        ("jars", "/srv/a.jar,/srv/b.zip", "must be paths of local .jar files"),
        ("jars", "/srv/*.jar", "must be paths of local .jar files"),
        ("spark.network.timeout", "soon", "must be a length of time such as 120s"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_accepted(name: str, text: str, said: str) -> None:
    with pytest.raises(SettingError) as refused:
        read_run_settings({**CLUSTER, name: text})

    assert refused.value.message.startswith(f"{name} {said}")
    assert repr(text) in refused.value.message


@pytest.mark.parametrize(
    "url",
    ["s3://bucket/jobs", "s3://bucket/a/b/", "s3::https://minio:9000/bucket/jobs", "s3::http://127.0.0.1:1/b-1/p"],
)
def test_a_place_for_state_is_a_prefix_of_a_bucket(url: str) -> None:
    assert read_run_settings({"state_url": url}).cluster.state_url == url


@pytest.mark.parametrize("host", ["driver", "driver.internal", "10.0.0.5", "::1", "[fe80::1]", "a_b-c"])
def test_a_driver_is_reached_by_name_or_address(host: str) -> None:
    assert read_run_settings({**CLUSTER, "driver_host": host}).cluster.driver_host == host


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("spark.driver.extraJavaOptions", "it runs code in a JVM"),
        ("spark.executor.defaultJavaOptions", "it runs code in a JVM"),
        ("spark.executor.extraClassPath", "it changes which code a JVM loads"),
        ("spark.driver.userClassPathFirst", "it changes which code a JVM loads"),
        ("spark.jars.packages", "it loads code"),
        ("spark.files", "it loads code"),
        ("spark.pyspark.python", "use the setting executor_python"),
        ("spark.python.daemon.module", "the engine sets up Python"),
        ("spark.executorEnv.LD_PRELOAD", "the engine sets up Python"),
        ("spark.plugins", "it runs code inside Spark"),
        ("spark.sql.extensions", "it runs code inside Spark"),
        ("spark.extraListeners", "it runs code inside Spark"),
        ("spark.redaction.regex", "secrets would be shown"),
        ("spark.sql.redaction.options.regex", "secrets would be shown"),
        ("spark.authenticate", "the engine sets the security of a run"),
        ("spark.authenticate.secret", "the engine sets the security of a run"),
        ("spark.ui.enabled", "the engine sets the security of a run"),
        ("spark.hadoop.fs.s3a.access.key", "credentials come from the variables AWS_*"),
        ("spark.executor.memory", "use the setting executor_memory"),
        ("spark.master", "use the setting master"),
        ("spark.sql.shuffle.partitions", "the parallelism of the pipeline sets it"),
        ("spark.sql.ansi.enabled", "it changes what a query means"),
        ("spark.speculation", "a task that runs twice"),
        ("spark.network.timeot", "did you mean spark.network.timeout?"),
        ("spark.something.new", "not among the settings of Spark that pipelines may set"),
    ],
)
def test_settings_of_spark_are_refused_with_a_reason_unless_they_are_allowed(name: str, reason: str) -> None:
    with pytest.raises(SettingError, match="spark") as refused:
        read_run_settings({**CLUSTER, name: "x"})

    assert reason in refused.value.message


def test_no_allowed_setting_of_spark_is_refused_by_another_rule() -> None:
    assert not ALLOWED.keys() & OUR_NAMES.keys()
    assert all(name in RUN_SETTINGS for name in OUR_NAMES.values())
    assert all(reason for _, reason in refused_settings())


def test_an_unknown_setting_names_the_nearest() -> None:
    with pytest.raises(SettingError, match="'executor_memry' is not a setting of a pipeline") as refused:
        read_run_settings({"executor_memry": "2g"})

    assert str(refused.value.hint).startswith("did you mean 'executor_memory'?")


def test_a_wrong_value_is_hinted_with_the_default() -> None:
    with pytest.raises(SettingError, match="linger must be a length of time") as refused:
        read_run_settings({"linger": "abc", "fuse": "on"})

    assert refused.value.hint == "linger is 250 ms by default"


@pytest.mark.parametrize("texts", [{"executor_memory": "2g"}, {"master": "local[4]", "spark.network.timeout": "60s"}])
def test_settings_of_a_cluster_are_refused_without_one(texts: dict[str, str]) -> None:
    with pytest.raises(SettingError, match="for a run on a cluster"):
        read_run_settings(texts)

    read_run_settings({**texts, "master": "local-cluster[2,1,1024]"})
    assert read_run_settings({"state_url": "s3://bucket/jobs"}).cluster.state_url, "any run may have its state there"


@pytest.mark.parametrize(
    "texts", [{"driver_port": "7100", "mailbox_port": "7100"}, {"executor_cores": "4", "max_cores": "2"}]
)
def test_settings_that_contradict_each_other_are_refused(texts: dict[str, str]) -> None:
    with pytest.raises(SettingError):
        read_run_settings({**CLUSTER, **texts})


def test_files_for_executors_have_to_be_there(tmp_path: Path) -> None:
    (tmp_path / "a.jar").touch()
    refuse_missing_files(ClusterSettings(jars=(str(tmp_path / "a.jar"),)))

    with pytest.raises(SettingError, match=r"jars /nowhere/b\.jar"):
        refuse_missing_files(ClusterSettings(jars=(str(tmp_path / "a.jar"), "/nowhere/b.jar")))


def test_a_run_takes_what_is_declared_and_names_the_argument_for_the_rest() -> None:
    assert read_set_arguments(
        ["state_url=s3://bucket/jobs", "epoch_interval=10 seconds", "spark.locality.wait=0s"]
    ) == {
        "state_url": "s3://bucket/jobs",
        "epoch_interval": "10 seconds",
        "spark.locality.wait": "0s",
    }
    with pytest.raises(SettingError, match="is not set by --set") as elsewhere:
        read_set_arguments(["max_epoch_rows=5"])
    assert elsewhere.value.hint == "use --max-epoch-rows"
    with pytest.raises(SettingError, match="is not a setting of a run") as unknown:
        read_set_arguments(["mem=5"])
    assert "memory" in str(unknown.value.hint)


def test_a_connection_of_airflow_knows_every_setting_of_a_cluster() -> None:
    of_cluster = {name for name, declared in RUN_SETTINGS.items() if declared.is_of_cluster}

    assert set(secret_sources.CLUSTER_SETTINGS) == of_cluster | {"state_url"}
