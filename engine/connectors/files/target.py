"""Put final files in place. Other modules decide on their content."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Protocol, TypeAlias

from engine.delivery.disk_errors import probe_directory, writing
from engine.delivery.epoch import Epoch
from engine.delivery.fence import check_fence
from engine.delivery.file_ledger import WritePermit
from engine.delivery.manifests import EpochManifest
from engine.delivery.ownership import MARK, Mark, MarkFile
from engine.delivery.publish import publish, withdraw

Build: TypeAlias = Callable[[Path], object]
"""Function that builds a file at a path of this machine; always with the same content."""


class FileTarget(Protocol):
    """A location of files, by their names relative to it. Its string is the user's name for it."""

    @property
    def mark(self) -> Mark:
        """Return the mark of its owner."""

    def is_fresh(self) -> bool:
        """Whether it is empty."""

    def probe(self) -> None:
        """Raise if no file could be written."""

    def has(self, name: str) -> bool:
        """Whether a file exists."""

    def publish(self, name: str, build: Build, epoch: Epoch, manifest: EpochManifest) -> None:
        """Write the complete file with `build`; an existing file must be equal. A run that was replaced before it began
        must not write; see `withdraw`."""

    def size(self, name: str) -> int:
        """Return the size of an existing file."""

    def begin(self, permit: WritePermit) -> None:
        """Create the location and remove what earlier runs have left unfinished. Called when a run takes its first
        epoch."""

    def withdraw(self, epoch: Epoch, manifest: EpochManifest) -> None:
        """Remove the files that were published for a manifest. A suspended run that was about to publish them can no
        longer do so: the draft that it needs is gone, or its fence shows that it was replaced."""

    def finish(self, permit: WritePermit, manifest: EpochManifest) -> None:
        """Make the existing files of a manifest visible, if that takes a further step."""


class Directory:
    """A directory of this machine, together with the sink's own directory, which has its fence."""

    def __init__(self, path: Path, sink_directory: Path) -> None:
        self._path = path
        self._sink_directory = sink_directory

    def __str__(self) -> str:
        return str(self._path)

    @property
    def mark(self) -> Mark:
        """Return the mark, which is a file in the directory."""
        return MarkFile(self._path / MARK)

    def is_fresh(self) -> bool:
        """Whether the directory does not exist, or contains only its mark."""
        return not self._path.exists() or all(entry.name == MARK for entry in self._path.iterdir())

    def probe(self) -> None:
        """Raise if no file can be created."""
        probe_directory(self._path)

    def has(self, name: str) -> bool:
        """Whether a file exists."""
        return (self._path / name).exists()

    def publish(self, name: str, build: Build, epoch: Epoch, manifest: EpochManifest) -> None:
        """Write the file next to its place and link it there."""
        with writing(self._path):
            publish(
                self._path / name,
                build,
                generation=epoch.generation,
                decided_by=manifest.generation,
                check=partial(check_fence, self._sink_directory, epoch),
            )

    def size(self, name: str) -> int:
        """Return the size of an existing file."""
        return (self._path / name).stat().st_size

    def withdraw(self, epoch: Epoch, manifest: EpochManifest) -> None:
        """Remove the files; the directories of partitions stay."""
        with writing(self._path):
            for file in manifest.files:
                withdraw(self._path / file.name, generation=epoch.generation, decided_by=manifest.generation)

    def finish(self, permit: WritePermit, manifest: EpochManifest) -> None:
        """Do nothing: a listing of the directory has the files already."""

    def begin(self, permit: WritePermit) -> None:
        """Create the directory; drafts are removed together with their files."""
        with writing(self._path):
            self._path.mkdir(parents=True, exist_ok=True)
