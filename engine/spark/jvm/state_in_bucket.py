"""Lets Spark keep the state of a query in a bucket: the settings of our file system, of our file manager and of S3A.

    arroyo.state.folder = /s/checkpoint/state       what lies below it is mapped
    arroyo.state.url    = s3a://bucket/jobs/2026-5f2c to objects below this prefix
    fs.s3a.access.key, fs.s3a.endpoint, ...         how the bucket is reached

They are settings of the session and not of Spark: a query takes them along to the executors, other queries of the same
JVM do not have them, and no command line, page or event log shows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from engine.checkpoints.state_bucket import read_state_url
from engine.checkpoints.state_pointer import state_folder
from engine.connectors.files.storage import Prefix
from engine.errors import MissingJarsError

FILE_MANAGER = "arroyo.StateFileManager"
_FILE_MANAGER_CLASS = "spark.sql.streaming.checkpointFileManagerClass"
_S3A = "org.apache.hadoop.fs.s3a"
FIXED: Mapping[str, str] = {
    # each query has a file system with its own mapping
    "fs.file.impl.disable.cache": "true",
    f"{_FILE_MANAGER_CLASS}": FILE_MANAGER,
    "fs.s3a.impl": f"{_S3A}.S3AFileSystem",
    "fs.s3a.input.stream.type": "classic",
    # no request whether a folder exists, which S3 does not have
    "fs.s3a.performance.flags": "create,delete,mkdir",
    "fs.s3a.bucket.probe": "0",
    "fs.s3a.audit.enabled": "false",
    # names are unique, so an object never changes while it is read
    "fs.s3a.change.detection.mode": "none",
    # the store compares what it has received with a sum of what was sent
    "fs.s3a.create.checksum.algorithm": "CRC32C",
    # a request is tried for about two minutes, then the task is, and then the run ends with an error
    "fs.s3a.attempts.maximum": "3",
    "fs.s3a.retry.limit": "5",
    "fs.s3a.retry.throttle.limit": "8",
    "fs.s3a.connection.establish.timeout": "15s",
    "fs.s3a.connection.request.timeout": "60s",
    # a store that says nothing for so long is asked again, in uploads too
    "fs.s3a.connection.timeout": "30s",
}
"""The same settings for each bucket."""


@contextmanager
def state_in_bucket(spark: SparkSession, checkpoint: Path, url: str | None) -> Iterator[None]:
    """Let the queries that start in the context store the state of this checkpoint below a prefix; None keeps it
    local."""
    if url is None:
        yield
        return
    _refuse_missing_jars(spark)
    settings = bucket_settings(checkpoint, url)
    before = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, earlier)


def bucket_settings(checkpoint: Path, url: str) -> Mapping[str, str]:
    """Return the settings of a session."""
    prefix = read_state_url(url)
    return {
        **FIXED,
        "arroyo.state.folder": str(state_folder(checkpoint)),
        "arroyo.state.url": f"s3a://{prefix.bucket}/{prefix.prefix}",
        **_access(prefix),
    }


def _access(prefix: Prefix) -> Mapping[str, str]:
    from engine.connectors.files.s3_access import s3_access  # noqa: PLC0415 - boto3 is an extra

    access = s3_access(prefix)
    settings = {"fs.s3a.endpoint.region": access.region}
    if access.endpoint is not None:
        settings |= {"fs.s3a.endpoint": access.endpoint, "fs.s3a.path.style.access": "true"}
        settings["fs.s3a.connection.ssl.enabled"] = str(access.endpoint.startswith("https:")).lower()
    if (keys := access.keys) is None:
        return settings
    settings |= {"fs.s3a.access.key": keys.id, "fs.s3a.secret.key": keys.secret}
    provider = "SimpleAWSCredentialsProvider"
    if keys.token is not None:
        settings["fs.s3a.session.token"] = keys.token
        provider = "TemporaryAWSCredentialsProvider"
    return {**settings, "fs.s3a.aws.credentials.provider": f"{_S3A}.{provider}"}


def _refuse_missing_jars(spark: SparkSession) -> None:
    """Raise MissingJarsError if the JVM lacks S3A, because it was started before S3A was installed."""
    jvm = spark.sparkContext._jvm  # noqa: SLF001 - pyspark has no other way to Java
    assert jvm is not None
    if not jvm.java.lang.ClassLoader.getSystemResource(f"{_S3A.replace('.', '/')}/S3AFileSystem.class"):
        raise MissingJarsError(
            "the JVM of this run was started without the Java archives for S3",
            hint="run `arroyo jars`, then start the pipeline again",
        )
