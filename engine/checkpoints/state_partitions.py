"""Find the state partitions of operators from the commit log, and their missing files.

commits/41    "stateUniqueIds": {"0": [["aa"], ["bb"]]}
state/0/0     42_aa.changelog, 41_cc.changelog, 40.zip and its tables    complete for epoch 41
state/0/1     42_bb.changelog, 40.zip                                    version 41 is missing
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.checkpoints import contents, spark_log
from engine.checkpoints.spark_log import CommitRecord
from engine.checkpoints.state_files import state_files
from engine.errors import UnreadableStateError, message_of

_VERSIONED = re.compile(r"(\d+)(?:_([0-9a-f-]+))?\.(zip|changelog|delta|snapshot)")


@dataclass(frozen=True, slots=True, order=True)
class Partition:
    """A part of an operator's state, which one task processes: Spark's number of the operator, and the partition
    number."""

    operator: int
    number: int

    @property
    def folder(self) -> Path:
        """Return the folder of the files, relative to the checkpoint."""
        return Path("state") / str(self.operator) / str(self.number)


def files_of_partitions(checkpoint: Path, epoch: int) -> Mapping[Partition, Sequence[Path]]:
    """The files that an epoch needs of each partition, relative to the checkpoint. One that vanishes meanwhile raises
    FileNotFoundError."""
    files: dict[Partition, list[Path]] = {}
    for path in contents.files_of(checkpoint, epoch):
        match path.parts:
            case ("state", operator, number, *_) if operator.isdigit() and number.isdigit():
                partition = Partition(int(operator), int(number))
                files.setdefault(partition, []).extend([] if "_metadata" in path.parts else [path])
    return files


def ids_of_partitions(committed: CommitRecord) -> Mapping[Partition, frozenset[str]]:
    """The ids that the files of the newest version have, of each partition; raises ValueError."""
    ids: dict[Partition, frozenset[str]] = {}
    for operator, partitions in committed.state_ids_of.items():
        if not isinstance(partitions, list):
            raise ValueError(f"operator {operator} has no partitions")
        for number, stores in enumerate(partitions):
            names = stores if isinstance(stores, list) else [stores]
            ids[Partition(operator, number)] = frozenset(map(str, names))
    return ids


def missing_versions(checkpoint: Path, epoch: int) -> Iterator[tuple[Partition, int, str]]:
    """The versions of partitions that are needed for an epoch and that no file holds, with the id that was to be in its
    name."""
    listed = state_files(checkpoint).sizes()
    for partition, ids in ids_of_partitions(spark_log.read_committed(checkpoint, epoch)).items():
        versions = _versions(listed, partition.folder)
        for version in range(epoch + 1, 0, -1):
            wanted = ids if version == epoch + 1 else _ids_of(checkpoint, version, partition)
            files = [kind for id_, kind in versions.get(version, ()) if id_ is None or not wanted or id_ in wanted]
            if not files:
                yield partition, version, ", ".join(sorted(wanted))
                break
            if "zip" in files or "snapshot" in files:
                break


def lacking(checkpoint: Path, epoch: int) -> str | None:
    """Return which part of the state of an epoch no file holds, in words; None if all of it is there."""
    try:
        for partition, version, ids in missing_versions(checkpoint, epoch):
            return (
                f"operator {partition.operator}, partition {partition.number} has no changelog or snapshot of version "
                f"{version} ({ids or 'any id'}), which epoch {epoch} needs"
            )
    except FileNotFoundError:
        return f"the commit of epoch {epoch} is missing"
    except ValueError as wrong:
        return f"the commit of epoch {epoch} does not list the state of each partition: {message_of(wrong)}"
    return None


def _versions(files: Iterable[Path], folder: Path) -> Mapping[int, list[tuple[str | None, str]]]:
    versions: dict[int, list[tuple[str | None, str]]] = {}
    for path in files:
        if path.parent == folder and (match := _VERSIONED.fullmatch(path.name)):
            versions.setdefault(int(match[1]), []).append((match[2], match[3]))
    return versions


def _ids_of(checkpoint: Path, version: int, partition: Partition) -> frozenset[str]:
    """The ids of an earlier version, nothing where the commit log has it no more: then any file of it counts."""
    try:
        return ids_of_partitions(spark_log.read_committed(checkpoint, version - 1)).get(partition, frozenset())
    except (OSError, UnreadableStateError, ValueError):
        return frozenset()
