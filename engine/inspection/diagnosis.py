"""Diagnosis of a state or a savepoint, with the savepoint that can replace it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.savepoints import list_savepoints
from engine.inspection.damage import Damage
from engine.inspection.epochs import is_savepoint
from engine.inspection.find import find_damage
from engine.inspection.left_sinks import LeftSink, left_sinks


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
        """In plain values."""
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
    """Say what is wrong; where anything is, savepoints are verified, the newest first, until one is whole."""
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
