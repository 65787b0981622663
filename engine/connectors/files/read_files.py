"""Record of how far a watching source has read each file, with a digest that detects changes.

    a.json, 5 rows, was read       {"a.json": {"size": 60, "digest": "9f..", "time": 12:00}}
    it has 7 rows now              84 bytes, and the first 60 have the digest 9f..: it has grown, and is read on from 60
    it has 3 rows now              36 bytes: it was cut
    it has 5 other rows now        60 bytes with another digest: it was rewritten

In a file of more than 16 MiB, the digest covers the first and the last 8 MiB that were read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.connectors.base import Json

EDGE = 8 * 1024 * 1024
REMEMBERED = 1000
"""Number of recently read files with a record."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Record of a file: its modification time in nanoseconds, and the size and digest of the part that was read.
    Parquet and compressed files have the size and digest of the whole file, and were read up to the row or text byte
    `at`; None is the end. `version` counts how often a different file got the name. The digest is empty in records of
    earlier versions."""

    size: int
    digest: str
    time: int
    at: int | None = None
    version: int = 0

    def to_json(self) -> Json:
        """Return the entry of the offset log."""
        content: dict[str, Json] = {"size": self.size, "digest": self.digest, "time": self.time}
        if self.at is not None:
            content["at"] = self.at
        return {**content, "version": self.version} if self.version else content

    @classmethod
    def from_json(cls, content: Json) -> ReadFile:
        """Read it from the offset log."""
        match content:
            case {"size": int(size), "digest": str(digest), "time": int(time), **more}:
                at, version = more.get("at"), more.get("version", 0)
                assert isinstance(at, int | None)
                assert isinstance(version, int)
                return cls(size, digest, time, at, version)
        raise ValueError(content)


ReadFiles = Mapping[str, ReadFile]
"""Records by file name, relative to the directory."""


def read_files(content: Json) -> dict[str, ReadFile]:
    """Read the files from the offset log; none from positions of earlier versions."""
    return {name: ReadFile.from_json(file) for name, file in content.items()} if isinstance(content, dict) else {}


def newest(files: ReadFiles, touched: frozenset[str]) -> dict[str, ReadFile]:
    """Return the files that were read last, including those in `touched`."""
    if len(files) <= REMEMBERED:
        return dict(files)
    order = sorted(files, key=lambda name: (name in touched, files[name].time, name))
    return {name: files[name] for name in order[-max(REMEMBERED, len(touched)) :]}


def digest_of(path: Path, size: int) -> str | None:
    """Return the digest of the first `size` bytes of a file; None if it is shorter, or gone."""
    digest = hashlib.blake2b(digest_size=16)
    parts = [(0, size)] if size <= 2 * EDGE else [(0, EDGE), (size - EDGE, EDGE)]
    try:
        with path.open("rb") as file:
            for start, length in parts:
                file.seek(start)
                block = file.read(length)
                if len(block) < length:
                    return None
                digest.update(block)
    except FileNotFoundError:
        return None
    return digest.hexdigest()


def is_unchanged(path: Path, file: ReadFile) -> bool:
    """Whether the part of a file that was read still exists unchanged."""
    return digest_of(path, file.size) == file.digest


def ends_line(path: Path, size: int) -> bool:
    """Whether a line ends there, and not only the part that was read of it."""
    if size == 0:
        return True
    with path.open("rb") as file:
        file.seek(size - 1)
        around = file.read(2)
    return around[:1] == b"\n" or around[1:] in (b"", b"\n", b"\r")


def lines_end(path: Path, start: int, size: int) -> int:
    """Return the byte after the last whole line between two bytes; `start` if there is none."""
    step = 64 * 1024
    with path.open("rb") as file:
        end = size
        while end > start:
            begin = max(start, end - step)
            file.seek(begin)
            newline = file.read(end - begin).rfind(b"\n")
            if newline >= 0:
                return begin + newline + 1
            end = begin
    return start
