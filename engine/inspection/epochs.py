"""List the epochs and savepoints of a state: `arroyo state ls`."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from engine.checkpoints import manifest as contents
from engine.checkpoints import spark_log
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.manifest import NAME, read_manifest
from engine.checkpoints.state_files import state_files
from engine.checkpoints.whole_state import missing_versions
from engine.errors import EngineError
from engine.values.instants import to_micros


@dataclass(frozen=True, slots=True)
class KeptEpoch:
    """An epoch of a checkpoint: whether it is committed or only planned, its time in microseconds, and the size of all
    files that it needs. If it cannot be restored, `fault` is the reason."""

    number: int
    status: Literal["committed", "begun"]
    at: int | None
    bytes: int | None
    fault: str | None

    @property
    def is_restorable(self) -> bool:
        """Whether everything is there that a run would go on from."""
        return self.fault is None


@dataclass(frozen=True, slots=True)
class KeptSavepoint:
    """A savepoint; if it cannot be used, `fault` is the reason, and little else is known."""

    id: str
    epoch: int | None = None
    label: str | None = None
    at: int | None = None
    bytes: int | None = None
    fault: str | None = None


@dataclass(frozen=True, slots=True)
class StateListing:
    """Content of a state directory: its epochs, oldest first, and its savepoints."""

    directory: Path
    name: str | None
    epochs: tuple[KeptEpoch, ...]
    savepoints: tuple[KeptSavepoint, ...]


def states_in(root: Path) -> list[Path]:
    """Return the state directories at a place: itself, or those below it, of which a control plane has one a
    pipeline."""
    if is_state(root):
        return [root]
    return sorted(path for pattern in ("*", "*/*", "*/*/*") for path in root.glob(pattern) if is_state(path))


def is_state(directory: Path) -> bool:
    """Whether a directory holds the state of a pipeline, and no savepoint of one."""
    paths = StatePaths(directory)
    return (paths.pipeline.is_file() or paths.checkpoint.is_dir()) and not is_savepoint(directory)


def is_savepoint(directory: Path) -> bool:
    """Whether a directory is a savepoint, or was to become one."""
    return (directory / NAME).exists() or directory.absolute().parent.name == "savepoints"


def list_state(state: Path) -> StateListing:
    """List the content of a state directory. Epochs that vanish meanwhile are left out."""
    paths = StatePaths(state)
    return StateListing(state, _name(paths), tuple(_epochs(paths.checkpoint)), tuple(_savepoints(paths.savepoints)))


def _name(paths: StatePaths) -> str | None:
    try:
        return str(json.loads(paths.pipeline.read_bytes())["name"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _epochs(checkpoint: Path) -> Iterator[KeptEpoch]:
    committed = set(spark_log.numbers(checkpoint / "commits"))
    for number in sorted(committed | set(spark_log.numbers(checkpoint / "offsets"))):
        if number not in committed:
            at = _changed(checkpoint / "offsets" / str(number))
            yield KeptEpoch(number, "begun", at, None, "it is not committed")
            continue
        at = _changed(checkpoint / "commits" / str(number))
        fault = why_not_restorable(checkpoint, number)
        yield KeptEpoch(number, "committed", at, None if fault else _size(checkpoint, number), fault)


def why_not_restorable(checkpoint: Path, epoch: int) -> str | None:
    """Return which file of a committed epoch is missing; None if none is. Contents are not read."""
    try:
        spark_log.read_planned(checkpoint, epoch)
        for partition, version, _ in missing_versions(checkpoint, epoch):
            return f"{partition.folder} no longer has version {version}"
        files = state_files(checkpoint)
        sizes = files.sizes()
        needed = contents.files_of(checkpoint, epoch, files)
        missing = next((path for path in needed if path not in sizes and not (checkpoint / path).exists()), None)
    except FileNotFoundError as error:
        return f"{Path(str(error.filename)).name} of {Path(str(error.filename)).parent.name} is gone"
    except (EngineError, ValueError, KeyError, IndexError, TypeError, AttributeError, zipfile.BadZipFile):
        return "a file of it is damaged"
    return None if missing is None else f"{missing} is gone"


def _size(checkpoint: Path, epoch: int) -> int | None:
    try:
        return contents.size_of(checkpoint, epoch)
    except OSError:
        return None


def _changed(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns // 1000
    except OSError:
        return None


def _savepoints(folder: Path) -> Iterator[KeptSavepoint]:
    for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
        if entry.name.startswith(".") or not entry.is_dir():
            continue
        try:
            manifest = read_manifest(entry)
        except EngineError as error:
            yield KeptSavepoint(entry.name, fault=error.message)
            continue
        size = sum(file.bytes for file in manifest.files)
        at = to_micros(manifest.created_at)
        yield KeptSavepoint(entry.name, manifest.epoch, manifest.label, at, size)
