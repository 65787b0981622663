"""Spark masters: which are accepted, and their requirements.

    local[4]                  the driver's own JVM
    local-cluster[2,1,1024]   further processes on the driver's machine
    spark://host:7077         a standalone cluster, whose executors see another disk unless it is declared shared
    yarn, k8s://, mesos://    refused: pipelines do not run there

See docs/how-to/spark-cluster.md.
"""

from __future__ import annotations

import re

from engine.errors import SettingError

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
