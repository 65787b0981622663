"""Move a whole state to another location, with the ledgers of its sinks, which a savepoint lacks.

    state                        location
    checkpoint, watermarks       copied; the manifest, which names the owner, is written last
    sinks, open files            copied: what the sinks have written, and what is not yet published
    lineage, generation, owner   copied: the same lineage, and the same owner of its targets
    savepoints, logs, lock       not copied

The copy continues where the state stopped, and every fence and ledger treats it as the next run of the same pipeline.
So it must never run in two places, and the state must not change during the move.

Find the state partitions of operators from the commit log, and their missing files.

commits/41    "stateUniqueIds": {"0": [["aa"], ["bb"]]}
state/0/0     42_aa.changelog, 41_cc.changelog, 40.zip and its tables    complete for epoch 41
state/0/1     42_bb.changelog, 40.zip                                    version 41 is missing
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeAlias

from engine.checkpoints import manifest, spark_log
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.manifest import SavedFile
from engine.checkpoints.places import NotAsSavedError, Place
from engine.checkpoints.spark_log import CommitRecord, newest_commit, numbers
from engine.checkpoints.state_files import state_files
from engine.checkpoints.state_moves import bring_state_home
from engine.checkpoints.state_pointer import PREFIXES
from engine.delivery.durable import sync_directory, sync_file
from engine.errors import (
    DamagedSavepointError,
    DiskFullError,
    PlaceError,
    SavepointNotFoundError,
    UnreadableStateError,
    message_of,
)

_VERSION = 1
_STAYS = frozenset({"savepoints", "logs", "lock", PREFIXES})


@dataclass(frozen=True, slots=True)
class WholeState:
    """A state at a location: its owner, as described by the exporter, and its files."""

    about: Mapping[str, object]
    files: tuple[SavedFile, ...]
    folders: tuple[str, ...]


def newest_epochs(state: Path) -> tuple[int | None, int | None]:
    """Return the newest epoch that a state has committed, and the newest that it has planned."""
    checkpoint = StatePaths(state).checkpoint
    return newest_commit(checkpoint), max(numbers(checkpoint / "offsets"), default=None)


def export_state(state: Path, place: Place, about: Mapping[str, object]) -> int:
    """Copy a state to a location, the manifest last; return the number of files. `about` identifies the pipeline by its
    `pipeline_id`: a location of another pipeline is refused, and one that has exactly this state is left unchanged."""
    there = check_free(place, str(about["pipeline_id"]))
    if there is not None and there.about == about:
        return len(there.files)
    bring_state_home(StatePaths(state))
    files = tuple(sorted(_files(state), key=lambda file: file.path))
    try:
        for file in files:
            place.put(state / file.path, file)
    except (NotAsSavedError, FileNotFoundError) as error:
        raise PlaceError(f"the state has changed while it was copied: {message_of(error)}", hint="try again") from error
    listed = [{"path": file.path, "bytes": file.bytes, "sha256": file.sha256} for file in files]
    manifest = {"whole_state": _VERSION, "about": about, "files": listed, "folders": sorted(_folders(state))}
    place.set_manifest(json.dumps(manifest, indent=1).encode())
    return len(files)


def check_free(place: Place, pipeline_id: str) -> WholeState | None:
    """Refuse a location of anything else than this pipeline; return the manifest of this pipeline there, if there is
    one."""
    content = place.manifest()
    if content is None:
        return None
    there = _read(content, str(place))
    if there.about.get("pipeline_id") != pipeline_id:
        raise PlaceError(f"{place} holds another pipeline", hint="move it by way of another place")
    return there


def read_state(place: Place) -> WholeState:
    """Read the state at a location by its manifest; refuse a location without one."""
    content = place.manifest()
    if content is None:
        raise SavepointNotFoundError(f"there is no state at {place}", hint="it was not exported wholly")
    return _read(content, str(place))


def import_state(whole: WholeState, place: Place, state: Path) -> None:
    """Replace the directory `state` by the state at a location, after comparing each file with its digest."""
    state.parent.mkdir(parents=True, exist_ok=True)
    usage, needed = os.statvfs(state.parent), sum(file.bytes for file in whole.files)
    if usage.f_bavail * usage.f_frsize < needed:
        raise DiskFullError(f"{state.parent} has no room for {needed} bytes", hint="free space on the disk")
    draft = state.with_name(f".{state.name}.arriving")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        draft.mkdir()
        for folder in whole.folders:
            (draft / folder).mkdir(parents=True, exist_ok=True)
        for file in whole.files:
            target = draft / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            place.get(file, target)
            sync_file(target)
        for below in (draft, *(path for path in draft.rglob("*") if path.is_dir())):
            sync_directory(below)
        if state.exists():
            shutil.rmtree(state)
        draft.rename(state)
        sync_directory(state.parent)
    except (NotAsSavedError, FileNotFoundError) as error:
        raise DamagedSavepointError(
            f"the state at {place} is damaged: {message_of(error)}", hint="export it again"
        ) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _files(state: Path) -> Iterator[SavedFile]:
    for path, name in _below(state):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
            yield SavedFile(name, path.stat().st_size, digest)


def _folders(state: Path) -> Iterator[str]:
    return (name for path, name in _below(state) if path.is_dir() and not path.is_symlink())


def _below(state: Path) -> Iterator[tuple[Path, str]]:
    for entry in sorted(state.iterdir()) if state.is_dir() else ():
        if entry.name not in _STAYS:
            yield entry, entry.name
            for path in sorted(entry.rglob("*")) if entry.is_dir() else ():
                yield path, path.relative_to(state).as_posix()


def _read(content: bytes, place: str) -> WholeState:
    try:
        manifest = json.loads(content)
        if manifest["whole_state"] != _VERSION or not isinstance(manifest["about"], dict):
            raise ValueError
        files = tuple(
            SavedFile(_inner(file["path"]), int(file["bytes"]), str(file["sha256"])) for file in manifest["files"]
        )
        return WholeState(manifest["about"], files, tuple(_inner(folder) for folder in manifest["folders"]))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PlaceError(
            f"{place} holds something else than a state", hint="savepoints are imported with `arroyo savepoint import`"
        ) from error


def _inner(value: object) -> str:
    """Return a path that stays below the state, whatever the manifest contains."""
    path = PurePosixPath(str(value))
    if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in str(value) or str(path) != value:
        raise ValueError(value)
    if path.parts[0] in _STAYS:
        raise ValueError(value)
    return str(path)


_Versions: TypeAlias = Mapping[int, list[tuple[str | None, str]]]
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
    """Return the files that an epoch needs of each partition, relative to the checkpoint. Raise FileNotFoundError if
    one vanishes meanwhile."""
    files: dict[Partition, list[Path]] = {}
    for path in manifest.files_of(checkpoint, epoch):
        match path.parts:
            case ("state", operator, number, *_) if operator.isdigit() and number.isdigit():
                partition = Partition(int(operator), int(number))
                files.setdefault(partition, []).extend([] if "_metadata" in path.parts else [path])
    return files


def ids_of_partitions(committed: CommitRecord) -> Mapping[Partition, frozenset[str]]:
    """Return the ids in the names of each partition's files of the newest version; raise ValueError if the entry cannot
    be parsed."""
    ids: dict[Partition, frozenset[str]] = {}
    for operator, partitions in committed.state_ids_of.items():
        if not isinstance(partitions, list):
            raise ValueError(f"operator {operator} has no partitions")
        for number, stores in enumerate(partitions):
            names = stores if isinstance(stores, list) else [stores]
            ids[Partition(operator, number)] = frozenset(map(str, names))
    return ids


def missing_versions(checkpoint: Path, epoch: int) -> Iterator[tuple[Partition, int, str]]:
    """Yield the versions of partitions that are needed for an epoch and missing, with the id that their file name would
    have."""
    listed = state_files(checkpoint).sizes()
    for partition, ids in ids_of_partitions(spark_log.read_committed(checkpoint, epoch)).items():
        stores = _stores(listed, partition.folder)
        if len(stores) < len(ids):
            yield partition, epoch + 1, ", ".join(sorted(ids))
            continue
        for versions in stores.values():
            if (missing := _missing_version(checkpoint, partition, epoch, ids, versions)) is not None:
                yield partition, *missing
                break


def _missing_version(
    checkpoint: Path, partition: Partition, epoch: int, ids: frozenset[str], versions: _Versions
) -> tuple[int, str] | None:
    """Return the newest version that a store needs for an epoch and lacks, with the id that its name would have."""
    for version in range(epoch + 1, 0, -1):
        wanted = ids if version == epoch + 1 else _ids_of(checkpoint, version, partition)
        files = [kind for id_, kind in versions.get(version, ()) if id_ is None or not wanted or id_ in wanted]
        if not files:
            return version, ", ".join(sorted(wanted))
        if "zip" in files or "snapshot" in files:
            return None
    return None


def lacking(checkpoint: Path, epoch: int) -> str | None:
    """Return which part of the state of an epoch is missing, in words; None if it is complete."""
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


def _stores(files: Iterable[Path], folder: Path) -> Mapping[Path, _Versions]:
    """Return the versions of each store of a partition: one in its folder, or several with a folder each, as a join of
    Spark has them."""
    stores: dict[Path, dict[int, list[tuple[str | None, str]]]] = {}
    for path in files:
        if folder in (path.parent, path.parent.parent) and (match := _VERSIONED.fullmatch(path.name)):
            versions = stores.setdefault(path.parent, {})
            versions.setdefault(int(match[1]), []).append((match[2], match[3]))
    return stores or {folder: {}}


def _ids_of(checkpoint: Path, version: int, partition: Partition) -> frozenset[str]:
    """Return the ids of an earlier version; none if the commit log no longer has them: then any file of it counts."""
    try:
        return ids_of_partitions(spark_log.read_committed(checkpoint, version - 1)).get(partition, frozenset())
    except (OSError, UnreadableStateError, ValueError):
        return frozenset()
