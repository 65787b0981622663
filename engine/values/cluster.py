"""Spark masters, and the settings of a run on a Spark cluster.

Settings of a run on a Spark cluster: where the driver is reached, what executors get, and where state is kept.

    arroyo run q.sql --state-dir DIR --set master=spark://host:7077 --set state_url=s3://bucket/prefix

See docs/how-to/spark-cluster.md.

Spark masters: which are accepted, and their requirements.

    local[4]                  the driver's own JVM
    local-cluster[2,1,1024]   further processes on the driver's machine
    spark://host:7077         a standalone cluster, whose executors see another disk unless it is declared shared
    yarn, k8s://, mesos://    refused: pipelines do not run there

See docs/how-to/spark-cluster.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.errors import SettingError


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """What a run asks of a cluster. Each field is a run setting of the same name; all have defaults, so that `master`
    and `state_url` are enough."""

    state_url: str | None = None
    """Where the state of operators is kept, such as `s3://bucket/prefix`. The rest of the state directory stays on the
    driver's disk."""
    driver_host: str | None = None
    """The name or address at which executors reach the driver; without one, the address that leads to the master."""
    driver_bind_address: str | None = None
    """The address on which the driver listens; without one, that of `driver_host`."""
    driver_port: int = 0
    block_manager_port: int = 0
    mailbox_port: int = 0
    """The ports on which the driver listens for executors; 0 lets the system choose."""
    executor_memory: str = "1g"
    executor_cores: int | None = None
    """Cores of one executor; without a number, what the cluster manager gives."""
    max_cores: int | None = None
    """Cores of all executors together; without a number, as many as the pipeline's parallelism."""
    executor_python: str | None = None
    """The Python of the executors: a path on each of them, or one inside `executor_archive`."""
    executor_archive: str | None = None
    """An archive of a Python environment that Spark unpacks on each executor, made by `arroyo package`."""
    jars: tuple[str, ...] = ()
    """Further Java archives for driver and executors."""
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    """Further settings of Spark, from the allowed ones."""


_ACCEPTED = re.compile(r"local(\[([1-9]\d*|\*)(,\s*\d+)?\])?|local-cluster\[\d+,\d+,\d+\]|spark://\S+")
_REFUSED = re.compile(r"yarn\b.*|(k8s|mesos|sc)://.*|mesos\b.*")
_ON_THIS_MACHINE = re.compile(r"local\b.*")
_IS_ONE_JVM = re.compile(r"local(\[.*\])?")


def is_one_jvm(master: str) -> bool:
    """Whether all of Spark is in the driver's JVM, on its machine."""
    return _IS_ONE_JVM.fullmatch(master) is not None


def complaint_about(master: str) -> str | None:
    """Return what is wrong with the text of a master, or None. Pipelines of earlier versions may have it stored."""
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
