"""Files that an epoch has left open, and copies of them for savepoints.

Epoch 7 of lineage A leaves a file open, made of the segments s1 and s2. A savepoint is taken. Then epoch 8 publishes
the file and removes its segments. Then the savepoint is restored as lineage B:

    savepoint  open_files/<sink>/manifest.json, 000000.segment (s1), 000001.segment (s2)
    restored   the same below the state directory, beside sinks/<sink>
    epoch 8    of B finds the file open after A7, made of ../../open_files/<sink>/000000.segment and 000001.segment

So a savepoint does not depend on files that the run removes later, and a late cleanup of A never removes what B needs
(docs/decisions/files-are-built-of-segments.md).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from engine.delivery.epoch import Epoch
from engine.delivery.fence import state_of
from engine.delivery.file_ledger import WritePermit, read_ledger
from engine.delivery.ledger import LedgerEntry
from engine.delivery.manifests import EpochManifest, find_manifest, read_manifest_file, write_manifest_file
from engine.delivery.rolling import OpenFile, TimeDirectory
from engine.errors import LedgerLostError, RewindTooFarError

OPEN_FILES = "open_files"
"""The directory of a state, or of a savepoint, with the copies: one subdirectory per sink."""
_MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """Open files, and directories that are not yet complete."""

    open: tuple[OpenFile, ...] = ()
    incomplete: tuple[TimeDirectory, ...] = ()

    @property
    def needed(self) -> frozenset[str]:
        """Return the segments of the open files."""
        return frozenset(segment.path for file in self.open for segment in file.segments)


def open_files_after(directory: Path, permit: WritePermit) -> OpenFiles:
    """Return the files that are open before the epoch that may be written. Raise, before anything is written, if rows
    of these files are missing."""
    after = permit.after
    if after is None:
        return OpenFiles()
    manifest = _manifest_of(directory, after, permit.epoch.lineage)
    if manifest is None:
        raise LedgerLostError(
            f"the manifest of epoch {after.epoch} is gone from {directory}",
            hint="put the pipeline's sinks directory back from a copy, or start with a fresh state directory",
        )
    files = OpenFiles(manifest.open, manifest.incomplete)
    missing = next((path for path in sorted(files.needed) if not (directory / path).exists()), None)
    if missing is not None and permit.is_rewind:
        raise RewindTooFarError(
            f"the rows of files that were open at epoch {after.epoch} are no longer kept",
            hint="restore a savepoint that was taken with this version, or one of a newer epoch",
        )
    if missing is not None:
        raise LedgerLostError(
            f"the segment {directory / missing} of a file that is still open is gone",
            hint="put the pipeline's sinks directory back from a copy, or restore a savepoint",
        )
    return files


@dataclass(frozen=True, slots=True)
class SavedOpenFiles:
    """Open files of a sink in a savepoint: the name of the sink's directory, the manifest, and the segments in the
    order in which the manifest numbers them."""

    sink: str
    manifest: EpochManifest
    segments: tuple[Path, ...]


def forget_restored(directory: Path, epoch: Epoch, keep: Collection[str]) -> None:
    """Remove the files that a restore has placed next to the sinks, once none of them is needed."""
    folder = state_of(directory) / OPEN_FILES / directory.name
    if not (folder / _MANIFEST).exists():
        return
    manifest = read_manifest_file(folder / _MANIFEST)
    parents = {lineage for lineage, _ in epoch.parents}
    # A manifest of any other history belongs to a restore that came after this run.
    if manifest.lineage in parents and not any(path.startswith("../") for path in keep):
        shutil.rmtree(folder, ignore_errors=True)


def open_files_of_sinks(sinks: Path, lineage: str, last_epochs: Mapping[str, int]) -> Iterator[SavedOpenFiles]:
    """Yield the files that each sink below `sinks` had open in the state of a lineage; `last_epochs` has the last valid
    epoch of that lineage and of each one before it."""
    for directory in sorted(sinks.iterdir()) if sinks.is_dir() else ():
        entry = _newest_entry(directory, last_epochs)
        manifest = entry and _manifest_of(directory, entry, lineage)
        if manifest and (manifest.open or manifest.incomplete):
            paths = tuple(directory / segment.path for file in manifest.open for segment in file.segments)
            yield SavedOpenFiles(directory.name, _renumbered(manifest), paths)


def _newest_entry(directory: Path, last_epochs: Mapping[str, int]) -> LedgerEntry | None:
    """Return the last valid entry of a sink's ledger."""
    entries = reversed(read_ledger(directory))
    return next((entry for entry in entries if entry.epoch <= last_epochs.get(entry.lineage, -1)), None)


def saved_name(number: int) -> str:
    """Return the name of a segment inside a savepoint."""
    return f"{number:06d}.segment"


def write_saved(folder: Path, manifest: EpochManifest) -> str:
    """Write the manifest next to the segments of a savepoint; return its name."""
    write_manifest_file(folder / _MANIFEST, manifest)
    return _MANIFEST


def _renumbered(manifest: EpochManifest) -> EpochManifest:
    """Return the manifest with the names that its segments have in a savepoint."""
    numbers = count()
    return replace(manifest, files=(), open=_with_paths(manifest.open, lambda _: saved_name(next(numbers))))


def _manifest_of(directory: Path, entry: LedgerEntry, lineage: str) -> EpochManifest | None:
    """Return the manifest of an epoch, as a run of that lineage reads it."""
    return _restored(directory, entry, lineage) or find_manifest(directory, entry.lineage, entry.epoch)


def _restored(directory: Path, after: LedgerEntry, lineage: str) -> EpochManifest | None:
    folder = state_of(directory) / OPEN_FILES / directory.name
    path = folder / _MANIFEST
    if after.lineage == lineage or not path.exists():
        return None
    manifest = read_manifest_file(path)
    if (manifest.lineage, manifest.epoch) != (after.lineage, after.epoch):
        return None
    folder_from_sink = f"../../{OPEN_FILES}/{directory.name}"
    return replace(manifest, open=_with_paths(manifest.open, lambda path: f"{folder_from_sink}/{path}"))


def _with_paths(files: Sequence[OpenFile], path_of: Callable[[str], str]) -> tuple[OpenFile, ...]:
    """Return the files with other paths of their segments, which are requested in order."""
    return tuple(
        replace(file, segments=tuple(replace(segment, path=path_of(segment.path)) for segment in file.segments))
        for file in files
    )
