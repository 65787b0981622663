"""What the last epoch that stays has left open, wherever that is written down, and copies of it for savepoints.

A savepoint has a copy of its own of the segments that are open, since the run goes on and publishes them. A restore
puts it beside the sinks; the new history begins with it, and whatever a run of the old history clears away is another.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from engine.delivery.epoch import Epoch
from engine.delivery.fence import state_of
from engine.delivery.file_ledger import WritePermit, read_ledger
from engine.delivery.ledger import LedgerEntry
from engine.delivery.manifests import EpochManifest, find_manifest, read_manifest_file, write_manifest_file
from engine.delivery.rolling import OpenFile, TimeDirectory
from engine.errors import LedgerLostError, RewindTooFarError

OPEN_FILES = "open_files"
"""The part of a state, and of a savepoint, that has the copies: a directory per sink."""
_MANIFEST = "manifest.json"


@dataclass(frozen=True, slots=True)
class OpenFiles:
    """The files that are open, and the directories that are not yet complete."""

    open: tuple[OpenFile, ...] = ()
    incomplete: tuple[TimeDirectory, ...] = ()

    @property
    def needed(self) -> frozenset[str]:
        """The segments that it needs."""
        return frozenset(segment.path for file in self.open for segment in file.segments)


def open_files_after(directory: Path, permit: WritePermit) -> OpenFiles:
    """How the sink stands before the epoch that was let in. Refused, before anything is done, when rows that were open
    are gone."""
    after = permit.after
    if after is None:
        return OpenFiles()
    manifest = _manifest_of(directory, after, permit.epoch.lineage)
    if manifest is None:
        raise LedgerLostError(
            f"the manifest of epoch {after.epoch} is gone from {directory}",
            hint="put the pipeline's sinks directory back from a copy, or start with a fresh state directory",
        )
    standing = OpenFiles(manifest.open, manifest.incomplete)
    missing = next((path for path in sorted(standing.needed) if not (directory / path).exists()), None)
    if missing is not None and permit.is_rewind:
        raise RewindTooFarError(
            f"files were open at epoch {after.epoch}, and their rows are no longer kept",
            hint="restore a savepoint that was taken with this version, or one of a newer epoch",
        )
    if missing is not None:
        raise LedgerLostError(
            f"the segment {directory / missing} of a file that is still open is gone",
            hint="put the pipeline's sinks directory back from a copy, or restore a savepoint",
        )
    return standing


def forget_restored(directory: Path, epoch: Epoch, keep: Collection[str]) -> None:
    """Drop what a restore has put beside the sinks, once nothing in it is needed any more."""
    folder = state_of(directory) / OPEN_FILES / directory.name
    if not (folder / _MANIFEST).exists():
        return
    manifest = read_manifest_file(folder / _MANIFEST)
    parents = {lineage for lineage, _ in epoch.parents}
    # another run's, when its history is none of ours
    if manifest.lineage in parents and not any(path.startswith("../") for path in keep):
        shutil.rmtree(folder, ignore_errors=True)


def open_files_of_sinks(
    sinks: Path, lineage: str, lineages: Mapping[str, int]
) -> Iterator[tuple[str, EpochManifest, tuple[Path, ...]]]:
    """What each sink below `sinks` had left open, in the state of a lineage, at the epochs that count of it and of the
    ones before it: the name of the sink's directory, the manifest as a savepoint keeps it, and the segments in the
    order in which that numbers them."""
    for directory in sorted(sinks.iterdir()) if sinks.is_dir() else ():
        entry = next(
            (one for one in reversed(read_ledger(directory)) if one.epoch <= lineages.get(one.lineage, -1)), None
        )
        manifest = entry and _manifest_of(directory, entry, lineage)
        if manifest and (manifest.open or manifest.incomplete):
            paths = tuple(directory / segment.path for file in manifest.open for segment in file.segments)
            yield directory.name, _renumbered(manifest), paths


def saved_name(number: int) -> str:
    """What a savepoint calls a segment."""
    return f"{number:06d}.segment"


def write_saved(folder: Path, manifest: EpochManifest) -> str:
    """Put the manifest beside the segments of a savepoint; its name."""
    write_manifest_file(folder / _MANIFEST, manifest)
    return _MANIFEST


def _renumbered(manifest: EpochManifest) -> EpochManifest:
    """The manifest with its segments where a restore puts them, as a sink's directory sees it."""
    number = 0
    files = []
    for file in manifest.open:
        segments = []
        for segment in file.segments:
            segments.append(replace(segment, path=saved_name(number)))
            number += 1
        files.append(replace(file, segments=tuple(segments)))
    return replace(manifest, files=(), open=tuple(files))


def _manifest_of(directory: Path, entry: LedgerEntry, lineage: str) -> EpochManifest | None:
    """The manifest of an epoch as a run of that lineage has to take it."""
    return _restored(directory, entry, lineage) or find_manifest(directory, entry.lineage, entry.epoch)


def _restored(directory: Path, after: LedgerEntry, lineage: str) -> EpochManifest | None:
    folder = state_of(directory) / OPEN_FILES / directory.name
    path = folder / _MANIFEST
    if after.lineage == lineage or not path.exists():
        return None
    manifest = read_manifest_file(path)
    if (manifest.lineage, manifest.epoch) != (after.lineage, after.epoch):
        return None
    here = f"../../{OPEN_FILES}/{directory.name}"
    files = tuple(
        replace(file, segments=tuple(replace(one, path=f"{here}/{one.path}") for one in file.segments))
        for file in manifest.open
    )
    return replace(manifest, open=files)
