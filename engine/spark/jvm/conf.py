"""Spark's settings, each with the reason for differing from Spark's default: of every driver, and of a run on a
cluster.

Spark's settings for a run on a cluster: how executors reach the driver, what they get, and what is encrypted.

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
from engine.spark.jvm.executor_archives import FOLDER, LAUNCHER, PYTHON_VARIABLE
from engine.spark.jvm.local_files import ARCHIVE, CLASS, EXTENSIONS
from engine.spark.jvm.s3_jars import s3_jars
from engine.values.cluster import ClusterSettings, is_one_jvm

_STREAMING = "spark.sql.streaming"
_STATE = f"{_STREAMING}.stateStore"
_RENAMING_FILE_MANAGER = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"

_KNOWS_OUR_CLASSES = re.compile(r"local|spark://")
"""Masters whose processes load classes from the driver's archives. Executors of other masters start before they get
them."""

RETAINED_EPOCHS = 100
"""Number of epochs that Spark can go back. A savepoint of a running job must be copied before so many more epochs have
passed, and the ledger of a sink must contain at least as many."""

STATE_MEMORY_MB = 512
"""Memory of RocksDB in a process, off the heap, for all state stores together."""

FIXED: Mapping[str, str] = {
    # State: checkpoints name their own files (format 2), so those of a killed predecessor are never picked up.
    f"{_STATE}.providerClass": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    f"{_STATE}.rocksdb.changelogCheckpointing.enabled": "true",
    f"{_STATE}.checkpointFormatVersion": "2",
    # Hadoop's local file system keeps sums of all files and checks them. Spark would write sums of its own, and Hadoop
    # sums of those: four files for each partition and epoch instead of two. In a bucket they would double the requests:
    # S3A sends a CRC32C with each object, which the store compares, and tables and changelogs have sums inside.
    f"{_STREAMING}.checkpoint.fileChecksum.enabled": "false",
    # All states of a process share what they keep in memory, blocks read and rows not yet written; Spark's default is
    # 8 MiB of blocks for each, in which a look-up among a million keys finds nothing, and 64 MiB and more of rows.
    f"{_STATE}.rocksdb.boundedMemoryUsage": "true",
    f"{_STATE}.rocksdb.maxMemoryUsageMB": str(STATE_MEMORY_MB),
    f"{_STATE}.rocksdb.writeBufferCacheRatio": "0.25",
    # Counting the rows in state costs a look-up before every write: a third of the time of a count by key.
    f"{_STATE}.rocksdb.trackTotalNumberOfRows": "false",
    # Spark waits for its maintenance of states while it holds the lock that this may wait for: 5 min, and 1 more, at a
    # stop. What is given up is tidying, which the next run does.
    f"{_STATE}.maintenanceShutdownTimeout": "5s",
    f"{_STATE}.maintenanceForceShutdownTimeout": "1s",
    # Rename is atomic on a POSIX disk; the default manager takes twice as long for an epoch.
    f"{_STREAMING}.checkpointFileManagerClass": _RENAMING_FILE_MANAGER,
    f"{_STREAMING}.minBatchesToRetain": str(RETAINED_EPOCHS),
    # Empty epochs close the windows of an idle stream.
    f"{_STREAMING}.noDataMicroBatches.enabled": "true",
    f"{_STREAMING}.pollingDelay": "50ms",
    f"{_STREAMING}.numRecentProgressUpdates": "20",
    # A task that runs twice at the same time would write its segment twice.
    "spark.speculation": "false",
    # Semantics of our dialect: UTC, and an error instead of a silent NULL.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    # Places behind the point of a DECIMAL are kept, as in Arroyo, and not given up for room before it.
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    # Python workers on a starved machine took more than the default 15 s to connect.
    "spark.python.authenticate.socketTimeout": "60s",
    "spark.python.worker.reuse": "true",
    # Workers begin with what they need, and look for garbage after a task in no time.
    "spark.python.daemon.module": "engine.spark.workers.daemon",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    # Nothing of a driver listens beyond this machine unless a cluster needs it.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.log.structuredLogging.enabled": "false",
    # A driver's own heap of finished things stays small however long it runs.
    "spark.ui.retainedJobs": "20",
    "spark.ui.retainedStages": "20",
    "spark.ui.retainedTasks": "200",
    "spark.sql.ui.retainedExecutions": "5",
    f"{_STREAMING}.ui.retainedQueries": "2",
}


def driver_conf(
    *,
    app_name: str,
    master: str,
    parallelism: int,
    scratch: Path,
    extra: Mapping[str, str],
    cluster: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return all settings of one driver; `extra` overrides those of a cluster, which override ours. Extensions and jars
    are added to ours."""
    more = dict(cluster or {})
    jars = ",".join(filter(None, (extra.get("spark.jars"), more.get("spark.jars"))))
    extra = {**more, **extra}
    return {
        **FIXED,
        "spark.app.name": app_name,
        "spark.master": master,
        # Each partition of state costs tens of milliseconds per epoch, so there are no more than asked for.
        "spark.sql.shuffle.partitions": str(parallelism),
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
        **_local_files(master),
        **extra,
        # Going through all rows of a state for windows that have ended, where none may have, is as dear as all else.
        "spark.sql.extensions": ",".join(filter(None, (*EXTENSIONS, extra.get("spark.sql.extensions")))),
        **_jars(master, jars or None),
    }


def _local_files(master: str) -> Mapping[str, str]:
    """Return the setting for our local file system: Hadoop's own starts a dozen processes in every epoch, each a
    chmod."""
    return {"spark.hadoop.fs.file.impl": CLASS} if _KNOWS_OUR_CLASSES.match(master) else {}


def _jars(master: str, named: str | None) -> Mapping[str, str]:
    """Return the jars that remote workers need; a local master has them in the driver's JVM."""
    if is_one_jvm(master):
        return {} if named is None else {"spark.jars": named}
    return {"spark.jars": ",".join(filter(None, (named, str(ARCHIVE))))}


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
