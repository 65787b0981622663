"""Settings of Spark that a pipeline may set by their own names, and settings that it may not.

    spark.network.timeout=120s              allowed
    spark.driver.extraJavaOptions=...       refused: it runs code in the driver's JVM
    spark.executor.memory=4g                refused: executor_memory sets it
    spark.shuffle.push.enabled=true         refused: not among the allowed ones

An allowed setting has the form of its value, and changes how a run uses the cluster: neither its results, nor what is
executed, nor who can read its data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine.values.near_names import nearest

PREFIX = "spark."
_LENGTH = "a length of time such as 120s"
_SIZE = "a size such as 512m"
_NUMBER = "a whole number"
_FRACTION = "a number from 0 to 1"
_TRUTH = "true or false"
_WORD = "a word"
_FORMS: Mapping[str, re.Pattern[str]] = {
    _LENGTH: re.compile(r"[0-9]{1,12}(us|ms|s|m|min|h|d)?"),
    _SIZE: re.compile(r"[0-9]{1,12}(b|k|kb|m|mb|g|gb|t|tb)?", re.IGNORECASE),
    _NUMBER: re.compile(r"[0-9]{1,9}"),
    _FRACTION: re.compile(r"0|1|0?\.[0-9]{1,9}|1\.0{1,9}"),
    _TRUTH: re.compile(r"true|false"),
    _WORD: re.compile(r"[A-Za-z0-9_]{1,32}"),
}


@dataclass(frozen=True, slots=True)
class SparkSetting:
    """A setting of Spark that a pipeline may set."""

    name: str
    form: str
    why: str


ALLOWED: Mapping[str, SparkSetting] = {
    each.name: each
    for each in (
        SparkSetting("spark.network.timeout", _LENGTH, "how long a silent executor counts as alive"),
        SparkSetting("spark.executor.heartbeatInterval", _LENGTH, "how often executors report; below the timeout"),
        SparkSetting("spark.rpc.askTimeout", _LENGTH, "how long a request between driver and executor may take"),
        SparkSetting("spark.rpc.message.maxSize", _NUMBER, "MiB of a message: large plans need more than 128"),
        SparkSetting("spark.memory.fraction", _FRACTION, "the part of the heap for shuffles and cached blocks"),
        SparkSetting("spark.memory.storageFraction", _FRACTION, "the part of that memory that is never evicted"),
        SparkSetting("spark.task.maxFailures", _NUMBER, "how many failures of a task the run survives"),
        SparkSetting("spark.stage.maxConsecutiveAttempts", _NUMBER, "how often a stage is tried again"),
        SparkSetting("spark.excludeOnFailure.enabled", _TRUTH, "whether executors that fail get no more tasks"),
        SparkSetting("spark.excludeOnFailure.timeout", _LENGTH, "for how long they get none"),
        SparkSetting("spark.locality.wait", _LENGTH, "how long a task waits for the executor that has its state"),
        SparkSetting("spark.reducer.maxSizeInFlight", _SIZE, "how much a task fetches at once"),
        SparkSetting("spark.shuffle.compress", _TRUTH, "processor time for network traffic"),
        SparkSetting("spark.shuffle.io.maxRetries", _NUMBER, "how often a fetch is tried again"),
        SparkSetting("spark.shuffle.io.retryWait", _LENGTH, "the pause before that"),
        SparkSetting("spark.io.compression.codec", _WORD, "the compression of shuffles: lz4, snappy or zstd"),
        SparkSetting("spark.port.maxRetries", _NUMBER, "how many ports behind a taken one are tried"),
        SparkSetting("spark.scheduler.minRegisteredResourcesRatio", _FRACTION, "the executors to wait for at a start"),
        SparkSetting(
            "spark.scheduler.maxRegisteredResourcesWaitingTime", _LENGTH, "how long a start waits for executors"
        ),
        SparkSetting("spark.sql.streaming.stateStore.maintenanceInterval", _LENGTH, "how often snapshots are made"),
        SparkSetting(
            "spark.sql.streaming.stateStore.minDeltasForSnapshot", _NUMBER, "changes of state between two snapshots"
        ),
    )
}
"""The allowed ones, each with what it is good for."""

OUR_NAMES: Mapping[str, str] = {
    "spark.master": "master",
    "spark.driver.memory": "memory",
    "spark.driver.host": "driver_host",
    "spark.driver.bindAddress": "driver_bind_address",
    "spark.driver.port": "driver_port",
    "spark.blockManager.port": "block_manager_port",
    "spark.driver.blockManager.port": "block_manager_port",
    "spark.executor.memory": "executor_memory",
    "spark.executor.cores": "executor_cores",
    "spark.cores.max": "max_cores",
    "spark.pyspark.python": "executor_python",
    "spark.pyspark.driver.python": "executor_python",
    "spark.archives": "executor_archive",
    "spark.jars": "jars",
}
"""Those that settings of a pipeline of other names set."""

_REFUSED: tuple[tuple[str, str], ...] = (
    (r"spark\.sql\.shuffle\.partitions|spark\.default\.parallelism", "the parallelism of the pipeline sets it"),
    (r"spark\.speculation.*", "a task that runs twice at the same time writes its files twice"),
    (r"spark\.dynamicAllocation\..*", "executors that come and go lose the state that they have loaded"),
    (r".*extraJavaOptions|.*defaultJavaOptions|.*javaOptions", "it runs code in a JVM"),
    (r".*(extraClassPath|extraLibraryPath|userClassPathFirst)", "it changes which code a JVM loads"),
    (r"spark\.jars\..*|spark\.files.*|spark\.repl\..*|spark\.submit\..*", "it loads code; the setting jars does that"),
    (r"spark\.(pyspark|python|executorEnv)\..*|spark\.sql\.execution\.(pyspark|pythonUDF).*",
     "the engine sets up Python"),
    (r"spark\.(plugins.*|extraListeners|sql\.extensions|sql\.(queryExecution|streaming\.streamingQuery)Listeners)",
     "it runs code inside Spark"),
    (r"spark\.(.*\.)?redaction\..*", "secrets would be shown"),
    (r"spark\.(authenticate|ssl|acls|admin|ui|network\.crypto|io\.encryption|network\.sasl|modify|history)\b.*",
     "the engine sets the security of a run"),
    (r"spark\.hadoop\..*", "the engine sets the file systems; credentials come from the variables AWS_*"),
    (r"spark\.eventLog\..*", "scripts would be written where others can read them"),
    (r"spark\.(kubernetes|yarn|mesos)\..*", "pipelines do not run on such a cluster"),
    (r"spark\.sql\..*", "it changes what a query means, or how its state is kept"),
)  # fmt: skip
"""Those that nobody may set, each with the reason; the first that fits is told."""


def read_spark_setting(name: str, text: str) -> str:
    """Return the value of a setting of Spark. Raise ValueError with the rest of a sentence if it may not be set, or not
    to that."""
    allowed = ALLOWED.get(name)
    if allowed is None:
        raise ValueError(_why_refused(name))
    if _FORMS[allowed.form].fullmatch(text) is None:
        raise ValueError(f"must be {allowed.form}")
    return text


def _why_refused(name: str) -> str:
    if name in OUR_NAMES:
        return f"cannot be set: use the setting {OUR_NAMES[name]}"
    near = nearest(name, ALLOWED)
    if near is not None:
        return f"is not a setting of Spark that pipelines may set: did you mean {near}?"
    reason = next((why for pattern, why in _REFUSED if re.fullmatch(pattern, name)), None)
    if reason is not None:
        return f"cannot be set: {reason}"
    return "is not among the settings of Spark that pipelines may set"


def refused_settings() -> tuple[tuple[str, str], ...]:
    """Return the refused names as patterns for people, each with the reason."""
    ours = tuple((name, f"use the setting `{ours}`") for name, ours in OUR_NAMES.items())
    return (*ours, *((_spell(pattern), reason) for pattern, reason in _REFUSED))


def _spell(pattern: str) -> str:
    return pattern.replace("\\.", ".").replace("\\b", "").replace(".*", "*")
