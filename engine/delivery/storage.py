"""Storage of named objects, in a local folder or in a bucket, with the same promises.

    get "a"                        None
    create "a" with 1              version v1; of several creators at a time one succeeds
    create "a" with 2              None: it is taken
    compare_and_put "a", 3, v1     version v2
    compare_and_put "a", 4, v1     None: it has changed since
    list ""                        a

A call that has returned is durable, and every later call of any process sees it, listings included. A call that raises
an error may have been done or not. The caller repeats it with the same content: `create` and `compare_and_put` compare
contents, and return the version if the object holds what they were to write. So contents that may be written only once
contain something unique, such as a random number, and no content of a name ever returns.

Names are relative paths with slashes. The listing of a local folder leaves out names whose last part begins with a dot:
drafts are among them.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from engine.delivery.disk_errors import writing
from engine.delivery.durable import create_durably, replace_durably, sync_directory, sync_file

_LOCK = ".storage.lock"


@dataclass(frozen=True, slots=True)
class Stored:
    """The content of an object, and its version, which changes with the content."""

    content: bytes
    version: str


class NoConditionsError(Exception):
    """A store answers that it does not support conditional requests."""


class Storage(Protocol):
    """Objects by name. Safe to use from several threads."""

    def get(self, name: str) -> Stored | None:
        """Return an object; None if there is none."""

    def open_range(self, name: str, first: int = 0, size: int | None = None) -> BinaryIO:
        """Open a part of an object for reading: `size` bytes from `first`, or all from there. Raise FileNotFoundError
        if there is no such object."""

    def put(self, name: str, content: bytes | Path) -> None:
        """Write an object, or replace it: readers get the old or the new one, complete. A file is sent in parts if it
        is large."""

    def create(self, name: str, content: bytes) -> str | None:
        """Write an object unless there is one; return its version, or None if another content is there."""

    def compare_and_put(self, name: str, content: bytes, version: str) -> str | None:
        """Replace an object that still has this version; return the new version, or None if it has changed or is
        gone."""

    def list(self, start: str = "") -> Mapping[str, int]:
        """Return the sizes of all objects whose names begin with `start`, in the order of their names."""

    def copy(self, source: str, target: str) -> None:
        """Copy an object to another name, or replace that; raise FileNotFoundError if there is no source."""

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects; missing ones are no error."""


@dataclass(frozen=True, slots=True)
class LocalStorage:
    """Objects as files below a folder. Contents and names are synced before a call returns."""

    root: Path

    def __str__(self) -> str:
        return self.root.as_uri()

    def get(self, name: str) -> Stored | None:
        """Read a file."""
        try:
            content = self._path(name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return Stored(content, _version(content))

    def open_range(self, name: str, first: int = 0, size: int | None = None) -> BinaryIO:
        """Open a part of a file, which is read at once if its size is given."""
        file = self._path(name).open("rb")
        file.seek(first)
        if size is None:
            return file
        with file:
            return io.BytesIO(file.read(size))

    def put(self, name: str, content: bytes | Path) -> None:
        """Replace a file in one step."""
        path = self._path(name)
        with writing(self.root):
            if isinstance(content, bytes):
                replace_durably(path, content)
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
            try:
                shutil.copyfile(content, draft)
                sync_file(draft)
                draft.replace(path)
            finally:
                draft.unlink(missing_ok=True)
            sync_directory(path.parent)

    def create(self, name: str, content: bytes) -> str | None:
        """Link a complete file to its name, which must be free."""
        with writing(self.root):
            is_created = create_durably(self._path(name), content)
        if is_created or ((there := self.get(name)) is not None and there.content == content):
            return _version(content)
        return None

    def compare_and_put(self, name: str, content: bytes, version: str) -> str | None:
        """Replace a file under a lock, which ends with the process."""
        with self._locked():
            there = self.get(name)
            if there is None or (there.version != version and there.content != content):
                return None
            self.put(name, content)
        return _version(content)

    def list(self, start: str = "") -> Mapping[str, int]:
        """List the files below the folder."""
        found: dict[str, int] = {}
        for folder, _, names in os.walk(self.root / Path(start).parent if "/" in start else self.root):
            for each in names:
                path = Path(folder) / each
                name = path.relative_to(self.root).as_posix()
                if not each.startswith(".") and name.startswith(start):
                    try:
                        found[name] = path.stat().st_size
                    except FileNotFoundError:
                        continue  # deleted in the meantime
        return dict(sorted(found.items()))

    def copy(self, source: str, target: str) -> None:
        """Copy a file."""
        path = self._path(source)
        if not path.is_file():
            raise FileNotFoundError(path)
        self.put(target, path)

    def delete(self, names: Iterable[str]) -> None:
        """Remove files; empty folders stay."""
        with writing(self.root):
            paths = [self._path(name) for name in names]
            for path in paths:
                path.unlink(missing_ok=True)
            for folder in {path.parent for path in paths}:
                if folder.is_dir():
                    sync_directory(folder)

    def _path(self, name: str) -> Path:
        parts = name.split("/")
        if not all(parts) or any(part in (".", "..") for part in parts):
            raise ValueError(f"{name!r} is not the name of an object")
        return self.root / name

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with writing(self.root):
            self.root.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.root / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _version(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
