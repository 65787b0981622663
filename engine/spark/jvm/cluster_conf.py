"""Spark's settings for a run on a cluster: how executors reach the driver, what they get, and what is encrypted.

    master spark://10.0.0.5:7077           the driver listens on the address that leads to 10.0.0.5
    parallelism 4, no max_cores            executors have four cores in all
    engine-3f9a.zip#arroyo                 Spark unpacks the engine where an executor runs, on its PYTHONPATH
    arroyo/bin/python                      what Spark starts as Python, on executors and on the driver

With the secret of the cluster (`ARROYO_SPARK_SECRET`) all connections of Spark's are authenticated and encrypted. A
master without a secret refuses applications that have one, so without it only files of shuffles and spills are
encrypted. See docs/how-to/spark-cluster.md.
"""

from __future__ import annotations

import re
import socket
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from engine.errors import SettingError
from engine.spark.jvm.engine_archive import FOLDER, LAUNCHER, PYTHON_VARIABLE
from engine.spark.jvm.s3_jars import s3_jars
from engine.values.cluster import ClusterSettings

SECRET = "ARROYO_SPARK_SECRET"  # noqa: S105 - the name of a variable
PYTHON = f"{FOLDER}/{LAUNCHER}"
"""What Spark starts as Python, relative to where the process runs that starts it."""
ENVIRONMENT = "environment"
"""The directory into which Spark unpacks the archive of a Python environment."""
_REDACTED = "(?i)secret|password|passwd|token|access[._]?key|credential|mailbox"
_FORWARDED = re.compile(
    r"AWS_(ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN|REGION|DEFAULT_REGION|ENDPOINT_URL\w*|EC2_METADATA_DISABLED)"
    r"|ARROYO_NET_ALLOW|ARROYO_TEST_CONNECTORS\w*"
)
"""Variables that tasks read and that executors would not have of their own. A profile is a file of this machine, and
each machine has a role of its own: neither is passed on."""
_HOST = re.compile(r"(\[[^\]]+\]|[^:,]+):(\d+)")


@dataclass(frozen=True, slots=True)
class ClusterLaunch:
    """Settings with which a session on a cluster is opened."""

    settings: ClusterSettings = field(default_factory=ClusterSettings)
    executor_environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Further variables of executors."""


def cluster_conf(
    launch: ClusterLaunch, *, master: str, parallelism: int, engine: Path, environ: Mapping[str, str]
) -> dict[str, str]:
    """Return the settings that a run on a cluster has in addition to those of every driver."""
    asked = launch.settings
    host, bind = driver_address(asked, master)
    variables = {
        **{name: value for name, value in environ.items() if _FORWARDED.fullmatch(name)},
        "PYTHONPATH": FOLDER,
        PYTHON_VARIABLE: python_of(asked),
        "PYDANTIC_DISABLE_PLUGINS": "__all__",
        **launch.executor_environment,
    }
    archives = [f"{engine}#{FOLDER}"]
    if asked.executor_archive is not None:
        archives.append(f"{_absolute(asked.executor_archive)}#{ENVIRONMENT}")
    conf = {
        "spark.driver.host": host,
        "spark.driver.bindAddress": bind,
        "spark.driver.port": str(asked.driver_port),
        "spark.driver.blockManager.port": str(asked.block_manager_port),
        "spark.executor.memory": asked.executor_memory,
        # one pipeline must not take the whole cluster
        "spark.cores.max": str(asked.max_cores or parallelism),
        "spark.archives": ",".join(archives),
        # variables of the driver's processes stay out of logs and pages
        "spark.redaction.regex": _REDACTED,
        "spark.io.encryption.enabled": "true",
        **({"spark.plugins": "arroyo.BucketRequests"} if asked.state_url else {}),
        **{f"spark.executorEnv.{name}": value for name, value in variables.items()},
    }
    if asked.executor_cores is not None:
        conf["spark.executor.cores"] = str(asked.executor_cores)
    if jars := [*map(str, s3_jars(environ) if asked.state_url else ()), *map(_absolute, asked.jars)]:
        conf["spark.jars"] = ",".join(jars)
    if environ.get(SECRET):
        conf["spark.authenticate"] = conf["spark.network.crypto.enabled"] = "true"
        # Spark shows it nowhere, puts it into no command, and wants it here
        conf["spark.authenticate.secret"] = environ[SECRET]
    return {**conf, **asked.spark_conf}


def python_of(settings: ClusterSettings) -> str:
    """Return the Python of executors, relative to their working directory if it comes in an archive."""
    if settings.executor_python is not None:
        return settings.executor_python
    return sys.executable if settings.executor_archive is None else f"{ENVIRONMENT}/bin/python"


def driver_address(settings: ClusterSettings, master: str) -> tuple[str, str]:
    """Return the address at which executors reach the driver, and the one at which it listens."""
    host = settings.driver_host or address_towards(master)
    return host, settings.driver_bind_address or host


def local_address(host: str, port: int) -> str:
    """Return the address of this machine from which packets go to a host."""
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.connect(address)
        return str(probe.getsockname()[0])


def address_towards(master: str, connect: Callable[[str, int], str] = local_address) -> str:
    """Return the address of this machine from which packets go to the master. Nothing is sent."""
    if not master.startswith("spark://"):
        return "127.0.0.1"  # executors of `local-cluster` run on this machine
    for host, port in _HOST.findall(master.removeprefix("spark://")):
        with suppress(OSError):
            return connect(host.strip("[]"), int(port))
    raise SettingError(
        f"the host of the master {master} is not known here",
        hint="check the name, or set driver_host to the address at which executors reach this machine",
    )


def _absolute(path: str) -> str:
    """Return the absolute path of a file of this machine, since the JVM runs in another directory."""
    return path if "://" in path else str(Path(path).absolute())
