"""Move a whole state to another location, with the ledgers of its sinks, which a savepoint lacks.

    state                        location
    checkpoint, watermarks       copied; the manifest, which names the owner, is written last
    sinks, open files            copied: what the sinks have written, and what is not yet published
    lineage, generation, owner   copied: the same lineage, and the same owner of its targets
    savepoints, logs, lock       not copied

The copy continues where the state stopped, and every fence and ledger treats it as the next run of the same pipeline.
So it must never run in two places, and the state must not change during the move.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.manifest import SavedFile
from engine.checkpoints.places import NotAsSavedError, Place
from engine.checkpoints.spark_log import newest_commit, numbers
from engine.checkpoints.state_moves import bring_state_home
from engine.checkpoints.state_pointer import PREFIXES
from engine.delivery.durable import sync_directory, sync_file
from engine.errors import DamagedSavepointError, DiskFullError, PlaceError, SavepointNotFoundError, message_of

_VERSION = 1
_STAYS = frozenset({"savepoints", "logs", "lock", PREFIXES})


@dataclass(frozen=True, slots=True)
class WholeState:
    """A state at a location: its owner, as described by the exporter, and its files."""

    about: Mapping[str, object]
    files: tuple[SavedFile, ...]
    folders: tuple[str, ...]


def newest_epochs(state: Path) -> tuple[int | None, int | None]:
    """The newest epoch that a state has committed, and the newest that it has planned."""
    checkpoint = StatePaths(state).checkpoint
    return newest_commit(checkpoint), max(numbers(checkpoint / "offsets"), default=None)


def export_state(state: Path, place: Place, about: Mapping[str, object]) -> int:
    """Copy a state to a place, the manifest last; the number of its files. `about` says whose it is, by its
    `pipeline_id`: a place of another pipeline is refused, and one that has this very state is left as it is."""
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
    """Refuse a place of anything else than this pipeline; what is there of it, if anything is."""
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
    """Make the directory `state` of what is at a place; each file is compared first. What is there is replaced."""
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
    """A path that stays below the state, whoever has written the manifest."""
    path = PurePosixPath(str(value))
    if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in str(value) or str(path) != value:
        raise ValueError(value)
    if path.parts[0] in _STAYS:
        raise ValueError(value)
    return str(path)
