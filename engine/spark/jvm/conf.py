"""Spark settings of every driver, each with the reason for differing from Spark's default."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from engine.spark.jvm.local_files import ARCHIVE, CLASS, EXTENSIONS
from engine.values.cluster import is_one_jvm

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
