"""Spark masters, and the settings of a run on a cluster: where the driver is reached, what executors get, and where
state is stored.

    local[4]                  the driver's own JVM
    local-cluster[2,1,1024]   further processes on the driver's machine
    spark://host:7077         a standalone cluster, whose executors see another disk unless it is declared shared
    yarn, k8s://, mesos://    refused: pipelines do not run there

    arroyo run q.sql --state-dir DIR --set master=spark://host:7077 --set state_url=s3://bucket/prefix

See docs/how-to/spark-cluster.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.errors import SettingError
from engine.values.declared_settings import COUNT, MEMORY, PORT, Kind, setting

MAX_PARALLELISM = 1024
"""Largest number of tasks that a pipeline may ask for."""
_PLACE = re.compile(
    r"s3://(?P<bucket>[^/]*)/?(?P<prefix>.*)|s3::https?://(?P<server>[^/]+)/(?P<own>[^/]*)/?(?P<below>.*)", re.DOTALL
)
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", re.IGNORECASE)
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[?[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\]?")
_ARCHIVES = (".tar.gz", ".tgz", ".tar", ".zip")
_JAR = ".jar"


def _state_url(text: str) -> str:
    found = _PLACE.fullmatch(text)
    if found is None:
        raise ValueError("must be s3://bucket/prefix or s3::https://endpoint/bucket/prefix")
    if "@" in (found["server"] or ""):
        raise ValueError("must not hold keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
    if not _BUCKET.fullmatch(found["bucket"] or found["own"] or ""):
        raise ValueError("must name a bucket: write s3://bucket/prefix or s3::https://endpoint/bucket/prefix")
    prefix = (found["prefix"] or found["below"] or "").strip("/")
    if not prefix:
        raise ValueError("must name a prefix and not a whole bucket: write s3://bucket/prefix")
    if re.search(r"[?#*\s\x00-\x1f]", prefix):
        raise ValueError("must have a plain prefix, without spaces, ?, # or *")
    return text


def _host(text: str) -> str:
    if not _HOST.fullmatch(text):
        raise ValueError("must be a host name or an address, without a port")
    return text


def _path(text: str) -> str:
    if not text.strip() or text != text.strip() or re.search(r"[\x00-\x1f]", text):
        raise ValueError("must be a path")
    return text


def _archive(text: str) -> str:
    if "://" in text or not _path(text).endswith(_ARCHIVES) or "#" in text or "," in text:
        raise ValueError(f"must be the path of a local file that ends in {', '.join(_ARCHIVES)}")
    return text


def _jars(text: str) -> tuple[str, ...]:
    paths = tuple(part.strip() for part in text.split(",") if part.strip())
    if not paths or any("://" in path or "*" in path or not _path(path).endswith(_JAR) for path in paths):
        raise ValueError("must be paths of local .jar files, separated by commas")
    return paths


STATE_URL: Kind[str | None] = Kind("s3://bucket/prefix or s3::https://endpoint/bucket/prefix", _state_url)
HOST: Kind[str | None] = Kind("a host name or an address", _host)
PYTHON: Kind[str | None] = Kind("a path", _path)
ARCHIVE: Kind[str | None] = Kind("the path of a .tar.gz or .zip file", _archive)
JARS: Kind[tuple[str, ...]] = Kind("paths of .jar files, separated by commas", _jars, ",".join)


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Settings of a run on a cluster. Each field is a run setting of the same name; all have defaults, so that `master`
    and `state_url` are enough. `spark_conf` has the settings of Spark that are set by their own names."""

    state_url: str | None = setting(
        "Where the state of operators is stored, such as `s3://bucket/prefix`. The rest of the state directory stays "
        "on the driver's disk. Credentials come from the variables `AWS_*`.",
        STATE_URL,
        None,
    )
    driver_host: str | None = setting(
        "The name or address at which executors reach the driver.",
        HOST,
        None,
        shown_default="the address that leads to the master",
        is_of_cluster=True,
    )
    driver_bind_address: str | None = setting(
        "The address on which the driver listens.",
        HOST,
        None,
        shown_default="the address of driver_host",
        is_of_cluster=True,
    )
    driver_port: int = setting("The port of the driver for Spark's messages.", PORT, 0, is_of_cluster=True)
    block_manager_port: int = setting(
        "The port of the driver from which executors fetch code and plans.", PORT, 0, is_of_cluster=True
    )
    mailbox_port: int = setting(
        "The port of the driver to which tasks send their notes and segments.", PORT, 0, is_of_cluster=True
    )
    executor_memory: str = setting("Heap of an executor's JVM.", MEMORY, "1g", is_of_cluster=True)
    executor_cores: int | None = setting(
        "Cores of an executor.", COUNT, None, shown_default="what the cluster manager gives", is_of_cluster=True
    )
    max_cores: int | None = setting(
        "Cores of all executors together.", COUNT, None, shown_default="the parallelism", is_of_cluster=True
    )
    executor_python: str | None = setting(
        "The Python of the executors: a path on each of them, or one inside `executor_archive`, which is unpacked as "
        "`environment`.",
        PYTHON,
        None,
        shown_default="the driver's path, or `environment/bin/python` with an archive",
        is_of_cluster=True,
    )
    executor_archive: str | None = setting(
        "A packed Python environment, which Spark unpacks for each executor.", ARCHIVE, None, is_of_cluster=True
    )
    jars: tuple[str, ...] = setting(
        "More Java archives for the driver and the executors.", JARS, (), shown_default="none", is_of_cluster=True
    )
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    """Further settings of Spark, from the allowed ones."""

    def __post_init__(self) -> None:
        ports = [port for port in (self.driver_port, self.block_manager_port, self.mailbox_port) if port]
        if len(set(ports)) < len(ports):
            raise SettingError(
                "driver_port, block_manager_port and mailbox_port must be different",
                hint="give each a port of its own, or 0",
            )
        if self.executor_cores is not None and self.max_cores is not None and self.executor_cores > self.max_cores:
            raise SettingError(
                f"an executor has {self.executor_cores} cores, but all executors together have {self.max_cores}",
                hint="set executor_cores to at most max_cores",
            )


def refuse_missing_files(settings: ClusterSettings) -> None:
    """Raise SettingError if a file that is sent to the executors is not on this machine."""
    archives = () if settings.executor_archive is None else (settings.executor_archive,)
    named = [("executor_archive", path) for path in archives] + [("jars", path) for path in settings.jars]
    missing = [f"{name} {path}" for name, path in named if not Path(path).is_file()]
    if missing:
        raise SettingError(
            f"there is no such file on the driver's machine: {', '.join(missing)}",
            hint="name files with their absolute paths",
        )


_ACCEPTED = re.compile(r"local(\[([1-9]\d*|\*)(,\s*\d+)?\])?|local-cluster\[\d+,\d+,\d+\]|spark://\S+")
_REFUSED = re.compile(r"yarn\b.*|(k8s|mesos|sc)://.*|mesos\b.*")
_ON_THIS_MACHINE = re.compile(r"local\b.*")
_IS_ONE_JVM = re.compile(r"local(\[.*\])?")


def is_one_jvm(master: str) -> bool:
    """Whether all of Spark is in the driver's JVM, on its machine."""
    return _IS_ONE_JVM.fullmatch(master) is not None


def complaint_about(master: str) -> str | None:
    """Return the error of the text of a master, or None. Pipelines of earlier versions may have it stored."""
    if _ACCEPTED.fullmatch(master) or _REFUSED.fullmatch(master):
        return None
    return f"master must be a master of Spark's, such as local[4] or spark://host:7077, and is {master!r}"


def refuse_master(master: str | None) -> None:
    """Raise SettingError if pipelines cannot run there."""
    if master is not None and not _ACCEPTED.fullmatch(master):
        raise SettingError(
            f"pipelines do not run on the master {master!r}", hint="use local[N], or spark://HOST:PORT for a cluster"
        )


def has_other_disks(master: str | None, *, shared_disk: bool) -> bool:
    """Whether executors see another disk than the driver."""
    return master is not None and not (_ON_THIS_MACHINE.fullmatch(master) or shared_disk)
