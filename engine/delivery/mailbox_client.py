"""The side of a task: one connection to the mailbox of the driver, kept for all tasks of a worker process.

A post is tried again on a new connection if the old one breaks: the driver replaces a file by the same file. What the
driver refuses is not tried again.
"""

from __future__ import annotations

import hmac
import json
import os
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from typing import BinaryIO

from engine.delivery.mailbox_protocol import (
    CHUNK_BYTES,
    BrokenConversationError,
    Conversation,
    MailboxAddress,
    Refusal,
    read_address,
)
from engine.errors import (
    DiskFullError,
    EngineError,
    LocalPathOnClusterError,
    MailboxRefusedError,
    MailboxUnreachableError,
    UnreadableFileError,
    UnwritableTargetError,
    message_of,
)

PAUSES = (0.0, 0.1, 0.5, 2.0)
"""The seconds before each try. The first after a long pause often finds that the driver has closed the connection."""
_CONNECT_SECONDS = 20.0
_SEND_SECONDS = 60.0
_ANSWER_SECONDS = 180.0
"""A disk may take long to make a large file durable."""


@dataclass(slots=True)
class MailboxClient:
    """Posts files to one mailbox."""

    address: MailboxAddress
    sleep: Callable[[float], None] = time.sleep
    _socket: ssl.SSLSocket | None = field(default=None, init=False)
    _conversation: Conversation | None = field(default=None, init=False)

    def post(self, place: str, path: str, content: BinaryIO, size: int, *, sync: bool) -> None:
        """Have the driver write a file; on return it exists, and is durable with `sync`."""
        self._ask({"place": place, "path": path, "bytes": size, "sync": sync}, content, size)

    def remove(self, place: str, path: str) -> None:
        """Have the driver remove a file, if there is one."""
        self._ask({"place": place, "path": path, "bytes": None}, None, 0)

    def close(self) -> None:
        """End the connection."""
        if self._socket is not None:
            with suppress(OSError):
                self._socket.close()
        self._socket = self._conversation = None

    def read(self, path: str, version: str | None, write: Callable[[memoryview], object]) -> str:
        """Read a file of the driver's disk, unless it still has that version, and return its version. `write` gets the
        content; it is called again from the beginning after `write` has got an empty chunk."""

        def once(conversation: Conversation) -> dict[str, object]:
            conversation.send({"read": path, "version": version}, seconds=_SEND_SECONDS)
            answer = _answer(conversation)
            write(memoryview(b""))
            _read_content(conversation, answer, write)
            return answer

        return str(self._tried(once, path)["version"])

    def list_files(self, path: str, pattern: str | None) -> list[tuple[int, str, int]]:
        """Return the time, the name and the size of each file in a directory of the driver's disk."""
        content = bytearray()

        def once(conversation: Conversation) -> dict[str, object]:
            content.clear()
            conversation.send({"list": path, "pattern": pattern}, seconds=_SEND_SECONDS)
            answer = _answer(conversation)
            _read_content(conversation, answer, content.extend)
            return answer

        self._tried(once, path)
        return [(time, name, size) for time, name, size in json.loads(content)]

    def reach(self) -> None:
        """Raise MailboxUnreachableError if the driver cannot be reached, MailboxRefusedError if it belongs to another
        run."""
        try:
            self._connect()
        except (OSError, BrokenConversationError) as error:
            raise MailboxUnreachableError(
                f"{socket.gethostname()} does not reach the driver at {self._where}: {_reason(error)}",
                hint="check that executors reach the driver at its host and mailbox_port",
            ) from error

    def _ask(self, message: dict[str, object], content: BinaryIO | None, size: int) -> None:
        """Send a file, and wait until the driver has it."""

        def once(conversation: Conversation) -> dict[str, object]:
            if content is None:
                conversation.send(message, seconds=_SEND_SECONDS)
                return _answer(conversation)
            content.seek(0)
            # a small file goes with its message in one packet
            conversation.send(message, content.read(min(size, CHUNK_BYTES)), seconds=_SEND_SECONDS)
            for start in range(CHUNK_BYTES, size, CHUNK_BYTES):
                chunk = content.read(min(CHUNK_BYTES, size - start))
                conversation.send_bytes(chunk, seconds=_SEND_SECONDS)
            return _answer(conversation)

        self._tried(once, str(message["path"]))

    def _tried(self, once: Callable[[Conversation], dict[str, object]], path: str) -> dict[str, object]:
        """Return the answer of the driver about a file, after some retries. Raise the error that the driver reports."""
        failure: Exception | None = None
        for pause in PAUSES:
            if pause:
                self.sleep(pause)
            try:
                answer = once(self._conversation or self._connect())
            except (OSError, BrokenConversationError) as error:
                failure = error
                self.close()
                continue
            if "error" in answer:
                raise _refused(path, answer)
            return answer
        assert failure is not None
        raise MailboxUnreachableError(
            f"{socket.gethostname()} does not reach the driver at {self._where}, for the file {path}: "
            f"{_reason(failure)}",
            hint="check that executors reach the driver at its host and mailbox_port; the epoch is run again",
        ) from failure

    def _connect(self) -> Conversation:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        # not an authority but the certificate itself is known, and compared below
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        plain = socket.create_connection((self.address.host, self.address.port), _CONNECT_SECONDS)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            secure = context.wrap_socket(plain)
        except BaseException:
            plain.close()
            raise
        self._socket = secure
        certificate = secure.getpeercert(binary_form=True) or b""
        if not hmac.compare_digest(sha256(certificate).hexdigest(), self.address.certificate):
            self.close()
            raise MailboxRefusedError(
                f"{self._where} shows another certificate than the driver of this run",
                hint="another run listens there: this one has ended, or was replaced",
            )
        self._conversation = Conversation(secure)
        self._conversation.send({"token": self.address.token}, seconds=_SEND_SECONDS)
        answer = _answer(self._conversation)
        if "error" in answer:
            self.close()
            raise _refused("", answer)
        return self._conversation

    @property
    def _where(self) -> str:
        return f"{self.address.host}:{self.address.port}"


def client_of_environment() -> MailboxClient:
    """Return the client for the mailbox that the environment of this process names."""
    address = read_address(os.environ)
    assert address is not None, "only workers that see another disk post files"
    return MailboxClient(address)


def _reason(error: Exception) -> str:
    """Return what went wrong with a connection, without the number of the error."""
    return (error.strerror if isinstance(error, OSError) else None) or message_of(error)


def _answer(conversation: Conversation) -> dict[str, object]:
    answer = conversation.read(seconds=_ANSWER_SECONDS)
    if answer is None:
        raise BrokenConversationError("the driver has closed the connection")
    return answer


def _read_content(conversation: Conversation, answer: dict[str, object], write: Callable[[memoryview], object]) -> None:
    """Read the bytes that follow an answer, if any do."""
    size = answer.get("bytes", 0)
    if not isinstance(size, int) or size < 0:
        raise BrokenConversationError(f"a file of {size!r} bytes")
    while size:
        chunk = conversation.read_bytes(size, seconds=_SEND_SECONDS)
        write(chunk)
        size -= len(chunk)


def _refused(path: str, answer: dict[str, object]) -> EngineError:
    reason, text = answer.get("error"), str(answer.get("message", ""))
    match reason:
        case Refusal.DISK_FULL:
            return DiskFullError(
                f"{path} cannot be written on the disk of the driver: {text}",
                hint="free space on the disk; nothing is lost",
            )
        case Refusal.UNWRITABLE:
            return UnwritableTargetError(
                f"{path} cannot be written on the disk of the driver: {text}",
                hint="check the permissions and the disk of the driver",
            )
        case Refusal.UNREADABLE:
            return UnreadableFileError(
                f"{path} cannot be read on the disk of the driver: {text}", hint="check that it is there, and readable"
            )
        case Refusal.TOO_LARGE:
            return LocalPathOnClusterError(
                f"{path} is on the disk of the driver, and executors do not see it: {text}",
                hint="put it into a bucket and name it as s3://..., or set shared_disk = on if all executors see it",
            )
        case Refusal.TOKEN:
            return MailboxRefusedError(
                "the driver does not know this run", hint="this run has ended, or was replaced by a newer one"
            )
    return MailboxRefusedError(
        f"the driver refuses the file {path}: {text}",
        hint="on a cluster, connectors may write segments, and read the paths that they declare",
    )
