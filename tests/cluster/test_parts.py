"""The cluster of these tests hides what a real one does not have."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from tests.cluster.parts import PYTHON, TREE, Cluster, running
from tests.cluster.stores import ObjectStore

pytestmark = pytest.mark.timeout(900)

_LOOK = """
import importlib.util, json, os, socket, sys, time
from pyspark.sql import SparkSession

master, *paths = sys.argv[1:]

def look(number):
    import pyarrow
    return {"host": socket.gethostname(), "paths": [path for path in paths if os.path.exists(path)],
            "engine": getattr(importlib.util.find_spec("engine"), "origin", None), "python": sys.executable}

conf = {"spark.executor.memory": "512m", "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
spark = SparkSession.builder.master(master).config(map=conf).getOrCreate()
while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 3:
    time.sleep(0.1)
print(json.dumps(spark.sparkContext.parallelize(range(16), 16).map(look).collect()))
spark.stop()
"""


def test_executors_see_neither_files_nor_code_of_the_driver(cluster: Cluster, tmp_path: Path) -> None:
    script = tmp_path / "look.py"
    script.write_text(_LOOK)

    played = subprocess.run(
        [sys.executable, str(script), cluster.url, str(tmp_path), str(TREE / "engine")],
        env={**os.environ, "PYTHONPATH": str(TREE), "PYSPARK_PYTHON": PYTHON},
        capture_output=True,
        text=True,
        check=False,
    )

    assert played.returncode == 0, played.stderr[-3000:] + cluster.workers[0].logs()[-3000:]
    seen = json.loads(played.stdout.splitlines()[-1])
    assert {look["host"] for look in seen} == {"worker-1", "worker-2"}
    assert {look["python"] for look in seen} == {PYTHON}
    assert [look for look in seen if look["paths"] or look["engine"]] == []
    assert not cluster.executors()


def test_cluster_leaves_no_processes_or_files(tmp_path: Path) -> None:
    with running(tmp_path, workers=1) as started:
        parts = [started.master, *started.workers]

    assert all(part.process.poll() is not None for part in parts)


def test_a_store_keeps_objects_and_creates_one_only_once(object_store: ObjectStore) -> None:
    object_store.client.put_object(Bucket=object_store.bucket, Key="a/b", Body=b"1", IfNoneMatch="*")

    with pytest.raises(ClientError, match="PreconditionFailed"):
        object_store.client.put_object(Bucket=object_store.bucket, Key="a/b", Body=b"2", IfNoneMatch="*")
    assert object_store.keys() == ["a/b"]
