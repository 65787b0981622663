"""The settings of a run on a cluster, without Spark."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from engine.errors import SettingError
from engine.spark.jvm.conf import SECRET, ClusterLaunch, address_towards, cluster_conf
from engine.spark.jvm.executor_archives import LAUNCHER, engine_archive
from engine.spark.run.lifecycle import RunSpec, run
from engine.spark.run.stop_control import Control
from engine.values.cluster import ClusterSettings
from engine.values.run_settings import RunSettings

ENGINE = Path("/cache/engine-1.zip")


def conf(
    master: str = "spark://127.0.0.1:7077", environ: dict[str, str] | None = None, **asked: object
) -> dict[str, str]:
    launch = ClusterLaunch(ClusterSettings(**asked), {"ARROYO_MAILBOX_TOKEN": "t"})
    return cluster_conf(launch, master=master, parallelism=3, engine=ENGINE, environ=environ or {})


def test_master_alone_is_enough() -> None:
    found = conf()

    assert found["spark.driver.host"] == found["spark.driver.bindAddress"] == "127.0.0.1"
    assert found["spark.cores.max"] == "3"
    assert found["spark.executor.memory"] == "1g"
    assert found["spark.archives"] == "/cache/engine-1.zip#arroyo"
    assert found["spark.executorEnv.ARROYO_EXECUTOR_PYTHON"] == sys.executable
    assert found["spark.executorEnv.PYTHONPATH"] == "arroyo"
    assert found["spark.io.encryption.enabled"] == "true"
    assert "spark.executor.cores" not in found
    assert "spark.authenticate" not in found
    assert "spark.local.dir" not in found


def test_cluster_settings_are_passed_to_spark() -> None:
    found = conf(
        driver_host="driver.example",
        driver_bind_address="0.0.0.0",
        driver_port=7001,
        block_manager_port=7002,
        executor_memory="3g",
        executor_cores=2,
        max_cores=8,
        executor_python="/opt/bin/python",
        jars=("lib/a.jar", "hdfs://h/b.jar"),
        spark_conf={"spark.task.maxFailures": "9"},
    )

    assert found["spark.driver.host"] == "driver.example"
    assert found["spark.driver.bindAddress"] == "0.0.0.0"
    assert found["spark.driver.port"] == "7001"
    assert found["spark.driver.blockManager.port"] == "7002"
    assert found["spark.executor.memory"] == "3g"
    assert found["spark.executor.cores"] == "2"
    assert found["spark.cores.max"] == "8"
    assert found["spark.executorEnv.ARROYO_EXECUTOR_PYTHON"] == "/opt/bin/python"
    assert found["spark.jars"] == f"{Path.cwd()}/lib/a.jar,hdfs://h/b.jar"
    assert found["spark.task.maxFailures"] == "9"


def test_an_archive_of_python_is_unpacked_beside_the_engine() -> None:
    found = conf(executor_archive="/data/env.tar.gz")

    assert found["spark.archives"] == "/cache/engine-1.zip#arroyo,/data/env.tar.gz#environment"
    assert found["spark.executorEnv.ARROYO_EXECUTOR_PYTHON"] == "environment/bin/python"


def test_the_secret_of_the_cluster_authenticates_and_encrypts() -> None:
    found = conf(environ={SECRET: "s3cret"})

    assert found["spark.authenticate"] == found["spark.network.crypto.enabled"] == "true"
    assert found["spark.authenticate.secret"] == "s3cret"
    assert [name for name, value in found.items() if "s3cret" in value] == ["spark.authenticate.secret"]


def test_executors_get_what_tasks_read_and_nothing_else_of_the_environment() -> None:
    found = conf(
        environ={
            "AWS_REGION": "eu-1",
            "ARROYO_NET_ALLOW": "h",
            "HOME": "/root",
            "ARROYO_TOKEN": "t",
            "AWS_PROFILE": "p",
        }
    )

    names = {name.removeprefix("spark.executorEnv.") for name in found if name.startswith("spark.executorEnv.")}
    assert names == {
        "AWS_REGION",
        "ARROYO_NET_ALLOW",
        "ARROYO_EXECUTOR_PYTHON",
        "ARROYO_MAILBOX_TOKEN",
        "PYDANTIC_DISABLE_PLUGINS",
        "PYTHONPATH",
    }


def test_the_driver_is_reached_at_the_address_that_leads_to_the_first_master_that_is_known() -> None:
    def connect(host: str, port: int) -> str:
        if host == "a":
            raise OSError
        assert (host, port) == ("b", 7078)
        return "10.0.0.9"

    assert address_towards("spark://a:7077,b:7078", connect) == "10.0.0.9"
    assert address_towards("local-cluster[1,1,1024]") == "127.0.0.1"


def test_a_master_that_is_not_known_is_named_with_what_helps() -> None:
    def connect(host: str, port: int) -> str:
        raise OSError

    with pytest.raises(SettingError, match="the host of the master spark://nowhere:7077 is not known") as refused:
        address_towards("spark://nowhere:7077", connect)

    assert "driver_host" in str(refused.value.hint)


def test_the_engine_archive_is_the_same_each_time_and_made_once(tmp_path: Path) -> None:
    first = engine_archive(tmp_path / "a")
    second = engine_archive(tmp_path / "b")
    before = first.stat().st_mtime_ns

    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()
    assert engine_archive(tmp_path / "a").stat().st_mtime_ns == before
    with zipfile.ZipFile(first) as archive:
        names = set(archive.namelist())
        assert archive.getinfo(LAUNCHER).external_attr >> 16 & 0o111
    assert {"engine/__init__.py", "engine/spark/workers/daemon.py"} <= names
    assert not any("__pycache__" in name or name.startswith("engine/web") for name in names)


def test_another_file_makes_another_archive(tmp_path: Path) -> None:
    package = tmp_path / "engine"
    package.mkdir()
    (package / "a.py").write_text("1")
    first = engine_archive(tmp_path, package)

    (package / "a.py").write_text("2")

    assert engine_archive(tmp_path, package) != first


def test_the_launcher_says_by_its_status_that_there_is_no_python(tmp_path: Path) -> None:
    launcher = tmp_path / "python"
    with zipfile.ZipFile(engine_archive(tmp_path)) as archive:
        launcher.write_bytes(archive.read(LAUNCHER))
    launcher.chmod(0o755)

    def launch(python: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.defpath, "ARROYO_EXECUTOR_PYTHON": python}
        return subprocess.run(
            [launcher, "-c", "print(1)"], env=environment, capture_output=True, text=True, check=False
        )

    assert launch("/nowhere/python").returncode == 1
    assert "there is no Python at /nowhere/python" in launch("/nowhere/python").stderr
    assert launch(sys.executable).stdout == "1\n"


def test_a_query_with_state_needs_a_bucket_where_executors_see_another_disk(tmp_path: Path) -> None:
    sql = "CREATE TABLE t WITH (connector = 'impulse', event_rate = 10); SELECT DISTINCT counter FROM t;"
    spec = RunSpec(name="q", sql=sql, state_dir=tmp_path, settings=RunSettings(master="spark://nowhere:7077"))

    with pytest.raises(
        SettingError, match="the query keeps state, and the executors of spark://nowhere:7077"
    ) as refused:
        run(spec, Control(), lambda _: None)

    assert "state_url" in str(refused.value.hint)
    assert not list(tmp_path.iterdir())
