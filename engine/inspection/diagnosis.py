"""Diagnosis of a state or a savepoint, with the savepoint that can replace it.

Find leftovers of sinks that the query of a state no longer writes.

    version 1    writes lake, whose files are published hourly          epoch 8 has left 120 rows in open files
    version 2    does not write lake, which was accepted                these rows are never published

They do no harm, so they are no damage, but they should be reported.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.savepoints import list_savepoints
from engine.delivery.file_ledger import read_ledger
from engine.delivery.manifests import EpochManifest, read_manifest_file
from engine.errors import EngineError, message_of
from engine.inspection.attempts import Damage
from engine.inspection.epochs import is_savepoint
from engine.inspection.find import find_damage
from engine.inspection.find_in_sinks import is_written


@dataclass(frozen=True, slots=True)
class LeftSink:
    """Leftovers of a sink: its newest epoch, the rows in its open files, which will not be published, and its segments.
    `undecided` is an epoch that was being written, for which the state does not show whether the target has it;
    `unknown` is the reason if nothing is known."""

    name: str
    directory: Path
    epoch: int | None = None
    open_files: int = 0
    open_rows: int = 0
    segments: int = 0
    bytes: int = 0
    undecided: int | None = None
    unknown: str | None = None

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return {**asdict(self), "directory": str(self.directory)}

    def __str__(self) -> str:
        told = [f"{self.name} is no longer written, and what it has published stays"]
        if self.epoch is not None:
            told[0] += f"; its newest epoch is {self.epoch}"
        if self.unknown is not None:
            told.append(f"what it has left open is not known: {self.unknown}")
        if self.open_files:
            told.append(f"{self.open_rows} rows of {self.open_files} files that it had left open are never published")
        if self.undecided is not None:
            told.append(
                f"epoch {self.undecided} was to be written, and only its target can tell whether it has it; what was "
                "begun in Kafka is taken back by the brokers once the transaction has timed out"
            )
        if self.segments:
            told.append(
                f"{self.segments} segments of {self.bytes:,} bytes lie in {self.directory}, and go with the state"
            )
        return "; ".join(told)


def left_sinks(paths: StatePaths) -> Iterator[LeftSink]:
    """Yield the sinks that the query does not write; nothing if the script does not tell."""
    for directory in sorted(paths.sinks.iterdir()) if paths.sinks.is_dir() else ():
        if directory.is_dir() and is_written(paths.root, directory.name) is False:
            yield _left(directory)


def _left(directory: Path) -> LeftSink:
    name, files = directory.name.rpartition("_")[0], list(_segments(directory))
    segments, size = len(files), sum(files)
    try:
        ledger = read_ledger(directory)
        manifest = _newest(directory)
    except (EngineError, OSError, ValueError, KeyError, TypeError) as error:
        why = error.message if isinstance(error, EngineError) else message_of(error)
        return LeftSink(name, directory, segments=segments, bytes=size, unknown=why)
    newest = ledger[-1] if ledger else None
    is_taken = newest is not None and manifest is not None and newest.epoch >= manifest.epoch
    return LeftSink(
        name,
        directory,
        epoch=None if newest is None else newest.epoch,
        open_files=0 if manifest is None else len(manifest.open),
        open_rows=0 if manifest is None else sum(file.rows for file in manifest.open),
        segments=segments,
        bytes=size,
        undecided=None if manifest is None or is_taken else manifest.epoch,
    )


def _newest(directory: Path) -> EpochManifest | None:
    paths = sorted((directory / "manifests").glob("*.json"))
    return read_manifest_file(paths[-1]) if paths else None


def _segments(directory: Path) -> Iterator[int]:
    """Yield the sizes of the files with rows."""
    for path in (directory / "segments").rglob("*"):
        try:
            if path.is_file():
                yield path.stat().st_size
        except FileNotFoundError:  # a run that takes back what is left is at work
            continue


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Damage in a directory. `sound` is the id of the newest undamaged savepoint, and `epoch` its epoch."""

    directory: Path
    damages: tuple[Damage, ...]
    sound: str | None = None
    epoch: int | None = None
    left: tuple[LeftSink, ...] = ()
    """Leftovers of sinks that are no longer written, which is no damage."""

    @property
    def advice(self) -> str:
        """Return what to do, in a sentence."""
        if self.sound is not None:
            return (
                f"savepoint {self.sound} of epoch {self.epoch} is whole: "
                f"arroyo restore PIPELINE {self.sound} --allow-replay"
            )
        return (
            "no savepoint here is whole: restore one from elsewhere, or start empty with --force, "
            "which keeps the old state aside"
        )

    def to_json(self) -> dict[str, object]:
        """Return plain values."""
        return {
            "directory": str(self.directory),
            "is_whole": not self.damages,
            "damages": [
                {
                    "code": damage.code,
                    "path": str(damage.path),
                    "fault": damage.fault,
                    "meaning": damage.kind.value.meaning,
                    "way_out": damage.kind.value.way_out,
                }
                for damage in self.damages
            ],
            "savepoint": self.sound,
            "savepoint_epoch": self.epoch,
            "left": [sink.to_json() for sink in self.left],
        }


def diagnose(directory: Path, *, reads_rows: bool = False) -> Diagnosis:
    """Diagnose a state; if it is damaged, verify its savepoints, the newest first, until one is undamaged."""
    damages = tuple(find_damage(directory, reads_rows=reads_rows))
    left = () if is_savepoint(directory) else tuple(left_sinks(StatePaths(directory)))
    if not damages:
        return Diagnosis(directory, (), left=left)
    state = directory.absolute().parents[1] if is_savepoint(directory) else directory
    for manifest in reversed(list_savepoints(state)):
        folder = StatePaths(state).savepoints / manifest.id
        if folder.absolute() != directory.absolute() and folder.is_dir() and not find_damage(folder):
            return Diagnosis(directory, damages, manifest.id, manifest.epoch, left)
    return Diagnosis(directory, damages, left=left)
