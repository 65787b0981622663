"""Storage locations of savepoints outside of the state directory: a directory of this machine, or a prefix in a bucket.

A location has one savepoint. Its manifest is written last and deleted first, so a location without a manifest counts as
empty.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from engine.checkpoints.manifest import NAME, SavedFile, damaged
from engine.connectors.files.storage import Prefix, StorageOptions, read_location
from engine.delivery.disk_errors import writing
from engine.delivery.durable import replace_durably, sync_directory
from engine.errors import EngineError, PlaceError, TargetUnavailableError, UnwritableTargetError, message_of

if TYPE_CHECKING:
    from engine.connectors.files.s3_storage import S3Storage

_PIECE = 1 << 20
_LARGEST_MANIFEST = 256 << 20
"""Bytes. A manifest of a hundred thousand files is a tenth of it."""


class Place(Protocol):
    """Location to which the files of a savepoint can be written, and from which they can be read."""

    def put(self, source: Path, file: SavedFile) -> None:
        """Copy a file that must match the manifest."""

    def share(self, other: Place, theirs: SavedFile, file: SavedFile) -> bool:
        """Get a file with the same content from another location, without sending it; return False if that is
        impossible, or if that file does not match its manifest."""

    def get(self, file: SavedFile, target: Path) -> None:
        """Copy a file into a new one, and at most as many bytes as the manifest says."""

    def manifest(self) -> bytes | None:
        """Return the stored manifest, if there is one."""

    def set_manifest(self, content: bytes) -> None:
        """Write the manifest, which makes the savepoint exist there."""

    def remove(self, files: list[SavedFile]) -> None:
        """Remove what was copied there."""


def open_place(text: str) -> Place:
    """Return the location that a URL names: `file:///...`, `s3://bucket/prefix` or
    `s3::https://endpoint/bucket/prefix`."""
    try:
        location = read_location(text)
    except ValueError as error:
        raise PlaceError(f"the place {message_of(error)}", hint="write file:///folder or s3://bucket/prefix") from error
    if isinstance(location, Path):
        if not text.lower().startswith("file://") or not location.is_absolute() or "\0" in text:
            raise PlaceError("a directory must be written as file:///folder", hint="or use s3://bucket/prefix")
        return Directory(location)
    if not location.prefix:
        raise PlaceError("the place must not be a whole bucket", hint="write s3://bucket/prefix")
    return Bucket(location)


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory of this machine, perhaps on another disk."""

    root: Path

    def __str__(self) -> str:
        return self.root.as_uri()

    def put(self, source: Path, file: SavedFile) -> None:
        """Copy a file and make it durable. The leftover of an interrupted export may be a link to a file of another
        export, so it is replaced and not written into."""
        target = self.root / file.path
        with writing(self.root):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            with source.open("rb") as content, target.open("wb") as copy:
                _copy(content.read, copy.write, file)
                copy.flush()
                os.fsync(copy.fileno())
            sync_directory(target.parent)

    def share(self, other: Place, theirs: SavedFile, file: SavedFile) -> bool:
        """Link the file if the disk supports links; its content is compared."""
        if not isinstance(other, Directory):
            return False
        source, target = other.root / theirs.path, self.root / file.path
        try:
            with source.open("rb") as content:
                _copy(content.read, lambda _: None, file)
            with writing(self.root):
                target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            target.hardlink_to(source.resolve())
            sync_directory(target.parent)
        except (NotAsSavedError, OSError):
            return False
        return True

    def get(self, file: SavedFile, target: Path) -> None:
        """Copy a file."""
        with self._reading(), (self.root / file.path).open("rb") as content, target.open("wb") as copy:
            _copy(content.read, copy.write, file)

    def manifest(self) -> bytes | None:
        """Read the manifest."""
        with self._reading():
            try:
                with (self.root / NAME).open("rb") as content:
                    return _limited(content.read(_LARGEST_MANIFEST + 1))
            except (FileNotFoundError, NotADirectoryError):
                return None

    def set_manifest(self, content: bytes) -> None:
        """Replace the manifest in one step."""
        with writing(self.root):
            replace_durably(self.root / NAME, content)

    def remove(self, files: list[SavedFile]) -> None:
        """Remove the files, and the directories that become empty."""
        for file in files:
            path = self.root / file.path
            path.unlink(missing_ok=True)
            for folder in path.parents:
                if folder == self.root.parent or any(folder.iterdir()):
                    break
                folder.rmdir()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise PlaceError(
                f"{error.filename or self.root} cannot be read: {error.strerror}", hint="see its permissions"
            ) from error


@dataclass(frozen=True, slots=True)
class Bucket:
    """A prefix in a bucket. Credentials are those of the process, looked up like Amazon's own tools do."""

    prefix: Prefix

    def __str__(self) -> str:
        return str(self.prefix)

    def put(self, source: Path, file: SavedFile) -> None:
        """Upload a file; large ones in parts."""
        with source.open("rb") as content:
            _copy(content.read, lambda _: None, file)
        with _explained(self.prefix):
            key, extra = self.prefix.key(file.path), {"Metadata": _metadata(file)}
            self._client().upload_file(str(source), self.prefix.bucket, key, ExtraArgs=extra)

    def share(self, other: Place, theirs: SavedFile, file: SavedFile) -> bool:
        """Have the server copy an object, within a bucket or between two of its own, if `put` has uploaded it."""
        if not isinstance(other, Bucket) or other.prefix.endpoint != self.prefix.endpoint:
            return False
        source = {"Bucket": other.prefix.bucket, "Key": other.prefix.key(theirs.path)}
        with _explained(self.prefix):
            there = other.head(theirs.path)
            if there is None or (there["ContentLength"], there["Metadata"]) != (file.bytes, _metadata(file)):
                return False
            extra = {"Metadata": _metadata(file), "MetadataDirective": "REPLACE", "CopySourceIfMatch": there["ETag"]}
            self._client().copy(source, self.prefix.bucket, self.prefix.key(file.path), ExtraArgs=extra)
        return True

    def head(self, name: str) -> Any:
        """Return the server's metadata of an object, if it exists."""
        from engine.connectors.files.s3_client import is_gone  # noqa: PLC0415 - boto3 is an extra

        try:
            return self._client().head_object(Bucket=self.prefix.bucket, Key=self.prefix.key(name))
        except Exception as error:
            if is_gone(error):
                return None
            raise

    def get(self, file: SavedFile, target: Path) -> None:
        """Download a file."""
        with (
            _explained(self.prefix),
            self._storage().open_range(file.path) as body,
            target.open("wb") as copy,
        ):
            _copy(body.read, copy.write, file)

    def manifest(self) -> bytes | None:
        """Read the manifest."""
        try:
            with _explained(self.prefix), self._storage().open_range(NAME) as body:
                return _limited(body.read(_LARGEST_MANIFEST + 1))
        except FileNotFoundError:
            return None

    def set_manifest(self, content: bytes) -> None:
        """Upload the manifest: one object exists completely or not at all."""
        self._storage().put(NAME, content)

    def remove(self, files: list[SavedFile]) -> None:
        """Delete the objects."""
        self._storage().delete(file.path for file in files)

    def _client(self) -> Any:
        from engine.connectors.files.s3_client import connect  # noqa: PLC0415 - boto3 is an extra

        return connect(self.prefix, StorageOptions())

    def _storage(self) -> S3Storage:
        from engine.connectors.files.s3_storage import S3Storage  # noqa: PLC0415 - boto3 is an extra

        return S3Storage(self.prefix, self._client, _explained)


@contextmanager
def _explained(prefix: Prefix) -> Iterator[None]:
    """Turn a bucket's error into a PlaceError, whose text fits reads and writes. It never contains a key."""
    from engine.connectors.files.s3_client import errors_explained  # noqa: PLC0415 - boto3 is an extra

    try:
        with errors_explained(prefix):
            yield
    except (UnwritableTargetError, TargetUnavailableError) as error:
        reason = error.message.removeprefix(f"{prefix} cannot be written: ")
        raise PlaceError(f"{prefix} cannot be used: {reason}", hint=error.hint) from error


def _copy(read: Callable[[int], bytes], write: Callable[[bytes], object], file: SavedFile) -> None:
    """Copy a file, at most as many bytes as it should have, and verify its digest."""
    digest, rest = hashlib.sha256(), file.bytes
    while rest >= 0 and (piece := read(min(_PIECE, rest + 1))):
        rest -= len(piece)
        digest.update(piece)
        write(piece)
    if rest != 0 or digest.hexdigest() != file.sha256:
        raise NotAsSavedError(file.path)


def _metadata(file: SavedFile) -> dict[str, str]:
    return {"sha256": file.sha256}


class NotAsSavedError(Exception):
    """A file differs from the manifest; the message is its path in the savepoint."""


def _limited(content: bytes) -> bytes:
    if len(content) > _LARGEST_MANIFEST:
        raise PlaceError("the manifest there is too long to be one", hint="it is no savepoint of this engine")
    return content


def as_damage(savepoint: Path, error: Exception) -> EngineError:
    """Return the error for a file that is missing or has other content."""
    fault = f"{message_of(error)} has changed" if isinstance(error, NotAsSavedError) else f"{_name(error)} is missing"
    return damaged(savepoint, fault)


def _name(error: Exception) -> str:
    return str(error.filename or error) if isinstance(error, OSError) else message_of(error)
