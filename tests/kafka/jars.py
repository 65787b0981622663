"""Java archives that tests and benchmarks need, fetched once by the Ivy that pyspark brings."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pyspark

from engine.spark.jvm.java import find_java

BROKER = "org.apache.kafka kafka_2.13 4.1.0"
SPARK_KAFKA = (
    "org.apache.spark spark-sql-kafka-0-10_2.13 4.2.0",
    "org.apache.spark spark-token-provider-kafka-0-10_2.13 4.0.0",
    "org.apache.kafka kafka-clients 3.9.1",
    "org.apache.commons commons-pool2 2.12.1",
)
"""Spark's own source and sink, one by one: the token provider of 4.2.0, which they name, cannot be had."""


def java() -> str:
    """The Java that the engine itself would take."""
    return str(find_java(os.environ).path)


def jars(artifact: str, *, alone: bool = False) -> Path:
    """The folder with an artifact's jars and, unless it is wanted `alone`, all that they need. Two processes at once
    fetch it once, and a fetch that was broken off leaves nothing behind."""
    group, name, version = artifact.split()
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "arroyo-tests"
    home.mkdir(parents=True, exist_ok=True)
    folder = home / f"{name}-{version}{'-alone' * alone}"
    with (home / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=home) as draft:
                _fetch(group, name, version, Path(draft), ["-notransitive"] if alone else [])
                shutil.move(Path(draft) / "lib", folder)
    return folder


def spark_kafka() -> list[Path]:
    """The jars of Spark's own source and sink."""
    return [path for artifact in SPARK_KAFKA for path in sorted(jars(artifact, alone=True).glob("*.jar"))]


def _fetch(group: str, name: str, version: str, draft: Path, more: list[str]) -> None:
    ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
    # scala-logging is a `bundle`, and the broker does not start without it
    command = [java(), "-jar", str(ivy), "-cache", str(draft / "ivy"), "-dependency", group, name, version]
    command += ["-retrieve", str(draft / "lib" / "[artifact]-[revision].[ext]"), "-types", "jar", "bundle"]
    command += [*more, "-confs", "default"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-4000:]
    assert any((draft / "lib").glob(f"{name}-{version}.jar")), ended.stdout[-4000:]
