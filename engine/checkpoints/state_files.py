"""The files of operators' state, on this disk or in a bucket, by their paths below the checkpoint.

sizes()                                     {state/0/1/42_aa.changelog: 812, state/0/1/40.zip: 5130, ...}
read(state/0/1/40.zip)                      its bytes
copy([state/0/1/40.zip], /saved/checkpoint) the file at the same place below another checkpoint

Files of a state never change, and their names are unique.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from engine.checkpoints.state_bucket import download, read_state_url, state_storage
from engine.checkpoints.state_pointer import read_pointer

if TYPE_CHECKING:
    from engine.connectors.files.s3_storage import S3Storage

_STATE = Path("state")


class StateFiles(Protocol):
    """The files of a state."""

    def sizes(self) -> Mapping[Path, int]:
        """List the files with their sizes."""

    def read(self, file: Path) -> bytes:
        """Return the content of a file; raise FileNotFoundError if it is gone."""

    def copy(self, files: Iterable[Path], target: Path) -> None:
        """Copy files below another checkpoint; raise FileNotFoundError if one is gone."""


def state_files(checkpoint: Path) -> StateFiles:
    """Return the files of a checkpoint's state, wherever they are."""
    pointer = read_pointer(checkpoint)
    return _Local(checkpoint) if pointer is None else _InBucket(state_storage(read_state_url(pointer.url)))


def link(source: Path, target: Path) -> None:
    """Link a file that will never change; copy it if that is impossible."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(source, target)


@dataclass(frozen=True, slots=True)
class _Local:
    checkpoint: Path

    def sizes(self) -> Mapping[Path, int]:
        found: dict[Path, int] = {}
        for folder, _, names in os.walk(self.checkpoint / _STATE):
            for name in names:
                path = Path(folder) / name
                found[path.relative_to(self.checkpoint)] = path.stat().st_size
        return found

    def read(self, file: Path) -> bytes:
        return (self.checkpoint / file).read_bytes()

    def copy(self, files: Iterable[Path], target: Path) -> None:
        for file in files:
            link(self.checkpoint / file, target / file)


@dataclass(frozen=True, slots=True)
class _InBucket:
    storage: S3Storage

    def sizes(self) -> Mapping[Path, int]:
        return {_STATE / name: size for name, size in self.storage.list().items()}

    def read(self, file: Path) -> bytes:
        found = self.storage.get(file.relative_to(_STATE).as_posix())
        if found is None:
            raise FileNotFoundError(f"{self.storage}/{file.relative_to(_STATE).as_posix()}")
        return found.content

    def copy(self, files: Iterable[Path], target: Path) -> None:
        download(self.storage, {file.relative_to(_STATE).as_posix(): target / file for file in files})
