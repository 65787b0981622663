"""Records of a journal, as bytes.

arroyo-journal 1 and the SHA-256 of the rest, which is compressed:
    {"kind": "change", "token": "5f2c...", "removed": ["watermarks/..."], "claims": [],
     "files": [["checkpoint/offsets/7", 812, 1764400000000000000, "9f86...", null], ...]}
    the contents of the files, one after the other; those of files that are blobs are elsewhere

The token is random, so two records are never equal by accident.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from engine.errors import message_of

_HEAD = b"arroyo-journal 1 "
Kind = Literal["claim", "change", "snapshot"]


@dataclass(frozen=True, slots=True)
class JournaledFile:
    """A file of a state directory. Its content is in the blob of that name, or else in the record; in memory it is not
    kept longer than needed."""

    size: int
    modified_ns: int
    sha256: str
    blob: str | None = None
    content: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class Record:
    """A record: what has changed since the one before, or for a snapshot all files. `claims` are the numbers of the
    claims before a snapshot."""

    kind: Kind
    token: str
    files: Mapping[str, JournaledFile] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    claims: tuple[int, ...] = ()

    def applied_to(self, files: Mapping[str, JournaledFile]) -> dict[str, JournaledFile]:
        """Return the files of a state after this record."""
        before = {} if self.kind == "snapshot" else files
        return {name: file for name, file in before.items() if name not in self.removed} | dict(self.files)


class BrokenRecordError(Exception):
    """The bytes are not those of a record."""


def to_bytes(record: Record) -> bytes:
    """Encode a record."""
    files = [[name, file.size, file.modified_ns, file.sha256, file.blob] for name, file in record.files.items()]
    header = {
        "kind": record.kind,
        "token": record.token,
        "files": files,
        "removed": record.removed,
        "claims": record.claims,
    }
    contents = b"".join(file.content for file in record.files.values() if file.blob is None)
    body = zlib.compress(json.dumps(header).encode() + b"\n" + contents, level=1)
    return _HEAD + digest_of(body).encode() + b"\n" + body


def from_bytes(content: bytes) -> Record:
    """Decode a record, and compare the contents of its files with their digests."""
    try:
        head, _, body = content.partition(b"\n")
        if head != _HEAD + digest_of(body).encode():
            raise ValueError("another format, or other bytes")
        header, _, rest = zlib.decompress(body).partition(b"\n")
        parsed = json.loads(header)
        files: dict[str, JournaledFile] = {}
        for name, size, modified, digest, blob in parsed["files"]:
            content = rest[:size] if blob is None else b""
            rest = rest[len(content) :]
            if blob is None and digest_of(content) != digest:
                raise ValueError(name)
            files[name] = JournaledFile(size, modified, digest, blob, content)
        return Record(parsed["kind"], parsed["token"], files, tuple(parsed["removed"]), tuple(parsed["claims"]))
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise BrokenRecordError(message_of(error)) from error


def digest_of(content: bytes) -> str:
    """Return the SHA-256 of a file's content."""
    return hashlib.sha256(content).hexdigest()
