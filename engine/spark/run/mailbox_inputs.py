"""The files that a mailbox gives to tasks. The tables of the script read them from the disk of the driver."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from engine.connectors.files.listing import list_files
from engine.delivery.mailbox_protocol import CHUNK_BYTES, MOST_READ_BYTES, Refusal
from engine.errors import EngineError, message_of


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and the bytes that follow it."""

    message: Mapping[str, object]
    content: BinaryIO | None = None
    size: int = 0

    def chunks(self) -> Iterator[bytes]:
        """Yield the bytes; raise EOFError if the file has become shorter."""
        rest = self.size
        while rest and self.content is not None:
            chunk = self.content.read(min(rest, CHUNK_BYTES))
            if not chunk:
                raise EOFError("the file has become shorter")
            rest -= len(chunk)
            yield chunk


@dataclass(frozen=True, slots=True)
class Inputs:
    """Files and directories that tables read, as their options name them."""

    paths: Sequence[Path] = ()

    def read(self, path: str, known_version: object) -> Answer:
        """Return a file, or that the task's version of it is still current."""
        if not self._is_declared(path):
            return _refusal(Refusal.PATH, "no table of the script reads it")
        try:
            file = Path(path).open("rb", buffering=0)  # noqa: SIM115 - whoever sends it closes it
            status = os.fstat(file.fileno())
        except OSError as error:
            return _refusal(Refusal.UNREADABLE, error.strerror or message_of(error))
        version = f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}"
        if version == known_version or status.st_size > MOST_READ_BYTES:
            file.close()
        if version == known_version:
            return Answer({"version": version})
        if status.st_size > MOST_READ_BYTES:
            return _refusal(
                Refusal.TOO_LARGE, f"it has {status.st_size} bytes, and at most {MOST_READ_BYTES} are sent to a worker"
            )
        return Answer({"bytes": status.st_size, "version": version}, file, status.st_size)

    def list_files(self, path: str, pattern: object) -> Answer:
        """Return the time, the name and the size of each file in a directory."""
        if not self._is_declared(path):
            return _refusal(Refusal.PATH, "no table of the script reads it")
        try:
            files = list_files(Path(path), None if pattern is None else str(pattern), by_time=True)
        except (EngineError, OSError) as error:
            text = error.message if isinstance(error, EngineError) else message_of(error)
            return _refusal(Refusal.UNREADABLE, text)
        content = json.dumps([[file.key.time, file.key.name, file.size] for file in files]).encode()
        return Answer({"bytes": len(content)}, BytesIO(content), len(content))

    def _is_declared(self, path: str) -> bool:
        named = Path(path)
        return ".." not in named.parts and any(named.is_relative_to(declared) for declared in self.paths)


def _refusal(reason: Refusal, text: str) -> Answer:
    return Answer({"error": reason, "message": text})
