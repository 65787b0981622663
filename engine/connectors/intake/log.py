"""An intake log: segments of messages on disk, with one writer and any number of readers.

    intake/ticks_5f3a9c01/
        log.json     the id of the log
        1.log        a segment: records of a header, metadata and a content, one after the other
        2.log
        end          "2 4096": what is durable ends at byte 4096 of segment 2
        claimed      "1": the newest segment that an epoch may have read
        dropped      {"3": 120}: segment 3 was dropped when the log was full, with 120 messages

The writer publishes `end` once the messages before it are on disk. A new writer cuts off what its predecessor has not
finished, publishes the end again, and begins a new segment.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import struct
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypeAlias

from engine.delivery.durable import replace_durably, sync_directory
from engine.errors import RecordsLostError

_HEADER = struct.Struct(">IIQH")
"""Length of what follows, its checksum, microseconds since 1970, and length of the metadata."""
SEGMENT_BYTES = 16 * 1024 * 1024
SEGMENT_SECONDS = 60.0
End: TypeAlias = "tuple[int, int]"
"""Number of a segment, and a byte in it."""


@dataclass(frozen=True, slots=True)
class Message:
    """A received message: its content, where it is from, and when it came, in microseconds since 1970."""

    content: bytes
    metadata: Mapping[str, str]
    received: int


def to_record(message: Message) -> bytes:
    """Return the bytes of a message in a segment."""
    metadata = json.dumps(message.metadata, separators=(",", ":")).encode() if message.metadata else b""
    body = metadata + message.content
    return _HEADER.pack(len(body), zlib.crc32(body), message.received, len(metadata)) + body


def records(file: BinaryIO, start: int, end: int) -> Iterator[tuple[Message, int]]:
    """Yield the messages between two bytes of a segment, and where each ends. Stop at an incomplete record."""
    file.seek(start)
    at = start
    while at + _HEADER.size <= end:
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return
        length, checksum, received, split = _HEADER.unpack(header)
        body = file.read(length) if at + _HEADER.size + length <= end else b""
        if len(body) < length or zlib.crc32(body) != checksum:
            return
        at += _HEADER.size + length
        yield Message(body[split:], json.loads(body[:split]) if split else {}, received), at


def segment_file(directory: Path, number: int) -> Path:
    """Return the file of a segment."""
    return directory / f"{number}.log"


def segment_numbers(directory: Path) -> list[int]:
    """Return the numbers of the stored segments, oldest first."""
    return sorted(int(path.stem) for path in directory.glob("*.log"))


def read_id(directory: Path) -> str | None:
    """Return the id of a log; None if nothing was received yet."""
    try:
        return str(json.loads((directory / "log.json").read_bytes())["id"])
    except FileNotFoundError:
        return None


def read_end(directory: Path) -> End | None:
    """Return the end of the durable messages; None if there are none."""
    try:
        number, byte = (directory / "end").read_text().split()
    except FileNotFoundError:
        return None
    return int(number), int(byte)


def read_dropped(directory: Path) -> dict[int, int]:
    """Return the segments that were dropped because the log was full, with the number of their messages."""
    try:
        content = json.loads((directory / "dropped").read_bytes())
    except FileNotFoundError:
        return {}
    return {int(number): int(count) for number, count in content.items()}


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Keep the other process from claiming or dropping segments."""
    with (directory / "lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def claim_segments(directory: Path, up_to: int) -> None:
    """Record that an epoch may have read a part of these segments, so that none of them is dropped. Call it with the
    lock."""
    _publish(directory / "claimed", str(up_to))


def _claimed(directory: Path) -> int:
    try:
        return int((directory / "claimed").read_text())
    except FileNotFoundError:
        return 0


def _publish(path: Path, text: str) -> None:
    """Replace a small file that need not survive a crash of the machine."""
    draft = path.with_name(f".{path.name}")
    draft.write_text(text)
    draft.replace(path)


def _write(handle: int, block: bytes) -> None:
    rest = memoryview(block)
    while rest:
        rest = rest[os.write(handle, rest) :]


class LogWriter:
    """Appends to a log. A log has one writer, which holds the lock of the state directory."""

    def __init__(
        self,
        directory: Path,
        max_bytes: int,
        *,
        drops_oldest: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        if read_id(directory) is None:
            replace_durably(directory / "log.json", json.dumps({"id": secrets.token_hex(8)}).encode())
        self._directory = directory
        self._max_bytes = max_bytes
        self._drops_oldest = drops_oldest
        self._clock = clock
        self._file: int | None = None
        self._opened = 0.0
        self._size = 0
        self.last: Message | None = None
        """The newest message."""
        self._number = self._recover()
        # what an earlier run has planned may not be in `claimed` after a crash of the machine
        self._floor = self._number

    def append(self, messages: Sequence[Message]) -> bool:
        """Make messages durable. Return False, with no effect, if there is no room for them."""
        if not messages:
            return True
        block = b"".join(map(to_record, messages))
        if not self._has_room(len(block)):
            return False
        file = self._open_segment(len(block))
        try:
            _write(file, block)
            os.fsync(file)
        except OSError:
            # cut off what is not whole, so that nothing follows it
            self._close()
            self._recover()
            raise
        self._size += len(block)
        self.last = messages[-1]
        _publish(self._directory / "end", f"{self._number} {self._size}")
        return True

    def close(self) -> None:
        """Close the file."""
        self._close()

    def _recover(self) -> int:
        """Truncate an incomplete record, publish the end, and return the newest segment."""
        numbers = segment_numbers(self._directory)
        if not numbers:
            return max(read_dropped(self._directory), default=0)
        with segment_file(self._directory, numbers[-1]).open("r+b") as file:
            size = 0
            for message, end in records(file, 0, os.fstat(file.fileno()).st_size):
                self.last, size = message, end
            file.truncate(size)
            os.fsync(file.fileno())
        _publish(self._directory / "end", f"{numbers[-1]} {size}")
        return numbers[-1]

    def _open_segment(self, size: int) -> int:
        is_old = self._clock() - self._opened >= SEGMENT_SECONDS
        if self._file is not None and (is_old or self._size + size > SEGMENT_BYTES):
            self._close()
        if self._file is None:
            self._number += 1
            self._file = os.open(segment_file(self._directory, self._number), os.O_WRONLY | os.O_CREAT | os.O_EXCL)
            self._size, self._opened = 0, self._clock()
            sync_directory(self._directory)
        return self._file

    def _close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _has_room(self, size: int) -> bool:
        if self._stored() + size <= self._max_bytes:
            return True
        if self._drops_oldest:
            self._drop(size)
        return self._stored() + size <= self._max_bytes

    def _stored(self) -> int:
        return sum(path.stat().st_size for path in self._directory.glob("*.log"))

    def _drop(self, size: int) -> None:
        """Drop the oldest segments that no epoch has read."""
        with locked(self._directory):
            first = max(self._floor, _claimed(self._directory))
            for number in segment_numbers(self._directory):
                if self._stored() + size <= self._max_bytes:
                    return
                if not first < number < self._number:
                    continue
                path = segment_file(self._directory, number)
                with path.open("rb") as file:
                    count = sum(1 for _ in records(file, 0, path.stat().st_size))
                dropped = {**read_dropped(self._directory), number: count}
                replace_durably(self._directory / "dropped", json.dumps(dropped).encode())
                path.unlink()


def read_log(directory: Path, first: End, last: End, *, may_lack: bool) -> Iterator[Message | int]:
    """Return the messages between two positions, and the number of messages of each dropped segment in between.

    Raise RecordsLostError where messages are gone otherwise, unless they `may_lack`. Segment 0 stands for the oldest
    that is stored: an empty state does not miss segments that were deleted before."""
    dropped = read_dropped(directory)
    has_begun = first[0] > 0
    for number in range(max(1, first[0]), last[0] + 1):
        start = first[1] if number == first[0] else 0
        path = segment_file(directory, number)
        try:
            file = path.open("rb")
        except FileNotFoundError:
            if number in dropped:
                yield dropped[number]
            elif has_begun and not may_lack:
                raise _lost(f"{path} is gone") from None
            continue
        has_begun = True
        with file:
            end = last[1] if number == last[0] else os.fstat(file.fileno()).st_size
            at = start
            for message, at in records(file, start, end):  # noqa: B007 - `at` is checked below
                yield message
            if at != end and not may_lack:
                raise _lost(f"{path} is damaged at byte {at}")


def _lost(what: str) -> RecordsLostError:
    return RecordsLostError(
        f"{what}, which has received messages that are to be read",
        hint="set on_data_loss = 'continue' to continue with the messages that are stored; a longer 'intake.retention' "
        "stores more of them",
    )
