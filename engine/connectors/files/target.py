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
        """The mark that says whose it is."""

    def is_fresh(self) -> bool:
        """Whether it holds nothing."""

    def probe(self) -> None:
        """Fail where no file could be put."""

    def has(self, name: str) -> bool:
        """Whether a file is there."""

    def publish(self, name: str, build: Build, epoch: Epoch, manifest: EpochManifest) -> None:
        """Have the file that `build` makes there, whole; one that is there already must be equal. A run that was
        replaced before it began must not; see `withdraw`."""

    def size(self, name: str) -> int:
        """Return the size of an existing file."""

    def begin(self, permit: WritePermit) -> None:
        """Make the location and clear away what earlier runs have left unfinished. Called when a run takes its first
        epoch."""

    def withdraw(self, epoch: Epoch, manifest: EpochManifest) -> None:
        """Take away what was published for a manifest. Whoever was about to publish it, wherever it is asleep, cannot
        do so any more: it has lost what it needs for that, or finds at its fence that it was replaced."""

    def finish(self, permit: WritePermit, manifest: EpochManifest) -> None:
        """All files of a manifest are there; have them seen where that takes more."""


class Directory:
    """A directory of this machine, together with the sink's own directory, which has its fence."""

    def __init__(self, path: Path, sink_directory: Path) -> None:
        self._path = path
        self._sink_directory = sink_directory

    def __str__(self) -> str:
        return str(self._path)

    @property
    def mark(self) -> Mark:
        """A file in it."""
        return MarkFile(self._path / MARK)

    def is_fresh(self) -> bool:
        """Whether it is not there, or holds nothing but its mark."""
        return not self._path.exists() or all(entry.name == MARK for entry in self._path.iterdir())

    def probe(self) -> None:
        """See whether a file can be made."""
        probe_directory(self._path)

    def has(self, name: str) -> bool:
        """Whether a file is there."""
        return (self._path / name).exists()

    def publish(self, name: str, build: Build, epoch: Epoch, manifest: EpochManifest) -> None:
        """Make the file beside its place and link it into it."""
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
        """Whoever lists the directory has seen the files already."""

    def begin(self, permit: WritePermit) -> None:
        """Make the directory; drafts are removed with the files that they were made for."""
        with writing(self._path):
            self._path.mkdir(parents=True, exist_ok=True)
