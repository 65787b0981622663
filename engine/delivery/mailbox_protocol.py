"""Protocol between a task on another machine and the mailbox of the driver, over TLS.

    task      {"token": "..."}                                       once per connection
    driver    {}
    task      {"place": "", "path": "watermarks/clicks/3f2a-0.json", "bytes": 71, "sync": false}, and 71 bytes
    driver    {}                                                     the file is there
    task      {"place": "", "path": "sinks/out/segments/...", "bytes": 12000000, "sync": true}, and 12,000,000 bytes
    driver    {"error": "disk_full", "message": "No space left on device"}
    task      {"read": "/data/shops.csv", "version": null}           a file that a table of the script reads
    driver    {"bytes": 310, "version": "310-1732800000"}, and 310 bytes
    task      {"read": "/data/shops.csv", "version": "310-1732800000"}
    driver    {"version": "310-1732800000"}                          it is the same
    task      {"list": "/data", "pattern": null}
    driver    {"bytes": 90}, and 90 bytes, which are JSON

A message is JSON behind four bytes with its length. The bytes of a file have no frame: the message says how many they
are. See docs/decisions/task-files-travel-through-a-mailbox.md.
"""

from __future__ import annotations

import json
import socket
import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

ADDRESS = "ARROYO_MAILBOX"
TOKEN = "ARROYO_MAILBOX_TOKEN"  # noqa: S105 - the name of a variable; Spark hides the values of such names
MOST_MESSAGE_BYTES = 64 * 1024
"""A message has a path and some numbers; a longer one is refused unread."""
MOST_FILE_BYTES = 1 << 40
MOST_READ_BYTES = 1 << 30
"""Each worker gets its own copy of a file that it reads; larger ones belong into an object store."""
CHUNK_BYTES = 256 * 1024
"""How much of a file is in memory at once."""
_LENGTH = struct.Struct("!I")


class Refusal(StrEnum):
    """Why the mailbox has not taken a file."""

    TOKEN = "token"  # noqa: S105 - a reason
    """The token is that of another run."""
    PATH = "path"
    """Tasks do not write such a file."""
    PROTOCOL = "protocol"
    """It is no message."""
    DISK_FULL = "disk_full"
    UNWRITABLE = "unwritable"
    UNREADABLE = "unreadable"
    TOO_LARGE = "too_large"
    """A file that is read is too large to be sent to each worker."""


class BrokenConversationError(Exception):
    """The other side has said something that is no message, or nothing for too long, or has gone."""


@dataclass(frozen=True, slots=True)
class MailboxAddress:
    """Address of a run's mailbox, and the credentials of its tasks. `root` is the state directory as the driver names
    it, and `certificate` the SHA-256 of the certificate in hexadecimal digits."""

    host: str
    port: int
    root: str
    certificate: str
    token: str = field(repr=False)

    def environment(self) -> Mapping[str, str]:
        """Return the variables from which a worker reads the address. Spark hides the one with the token."""
        where = {"host": self.host, "port": self.port, "root": self.root, "certificate": self.certificate}
        return {ADDRESS: json.dumps(where), TOKEN: self.token}


def read_address(environ: Mapping[str, str]) -> MailboxAddress | None:
    """Read the address from the variables of a process; return None in a process that sees the driver's disk."""
    text = environ.get(ADDRESS)
    return None if not text else MailboxAddress(**json.loads(text), token=environ.get(TOKEN, ""))


class Conversation:
    """Messages and bytes over a connected socket. Each read has a deadline of its own for all that it reads."""

    def __init__(self, connection: socket.socket, clock: Callable[[], float] = time.monotonic) -> None:
        self._connection = connection
        self._clock = clock
        self._buffer = bytearray()
        self._chunk = bytearray()

    def send(self, message: Mapping[str, object], content: bytes = b"", *, seconds: float) -> None:
        """Send a message, followed by some bytes."""
        text = json.dumps(message).encode()
        self.send_bytes(_LENGTH.pack(len(text)) + text + content, seconds=seconds)

    def send_bytes(self, content: bytes | memoryview, *, seconds: float) -> None:
        """Send bytes of a file."""
        self._connection.settimeout(seconds)
        self._connection.sendall(content)

    def read(self, *, seconds: float) -> dict[str, Any] | None:
        """Return the next message; None if the other side has ended the conversation before it."""
        deadline = self._clock() + seconds
        if not self._buffer and not self._receive(deadline):
            return None
        (length,) = _LENGTH.unpack(self._exactly(_LENGTH.size, deadline))
        if length > MOST_MESSAGE_BYTES:
            raise BrokenConversationError(f"a message of {length} bytes, and {MOST_MESSAGE_BYTES} are allowed")
        try:
            message = json.loads(self._exactly(length, deadline))
        except ValueError as error:
            raise BrokenConversationError("a message that is not JSON") from error
        if not isinstance(message, dict):
            raise BrokenConversationError("a message that is not an object")
        return message

    def read_bytes(self, most: int, *, seconds: float) -> memoryview:
        """Return at most `most` of the next bytes of a file, as many as fit into a chunk; valid until the next read."""
        deadline = self._clock() + seconds
        if not self._chunk:
            self._chunk = bytearray(CHUNK_BYTES)
        chunk = memoryview(self._chunk)[: min(most, CHUNK_BYTES)]
        filled = min(len(chunk), len(self._buffer))
        chunk[:filled] = self._cut(filled)
        while filled < len(chunk):
            self._limit(deadline)
            received = self._connection.recv_into(chunk[filled:])
            if not received:
                raise BrokenConversationError("the connection has ended in the middle of a file")
            filled += received
        return chunk

    def _exactly(self, count: int, deadline: float) -> bytes:
        while len(self._buffer) < count:
            if not self._receive(deadline):
                raise BrokenConversationError("the connection has ended in the middle of a message")
        return self._cut(count)

    def _cut(self, count: int) -> bytes:
        if count == len(self._buffer):
            content, self._buffer = bytes(self._buffer), bytearray()
            return content
        content = bytes(self._buffer[:count])
        del self._buffer[:count]
        return content

    def _receive(self, deadline: float) -> bool:
        """Wait for bytes; return False at the end of the connection."""
        self._limit(deadline)
        received = self._connection.recv(CHUNK_BYTES)
        self._buffer += received
        return bool(received)

    def _limit(self, deadline: float) -> None:
        remaining = deadline - self._clock()
        if remaining <= 0:
            raise TimeoutError("nothing has come in time")
        self._connection.settimeout(remaining)
