"""The mailbox of a driver: it takes the files of tasks that see another disk, and writes them where they are read.

    a task posts        sinks/out/segments/000000000007-B/00000-9f2c41aa
    the mailbox writes  .00000-9f2c41aa.5be1.part in that directory, syncs it if it is to be durable, and renames it

Each connection has a thread: almost all of its time is spent outside of Python, with ciphers and the disk. A connection
that has not shown the token of the run is a stranger. Strangers have little time, and the oldest one goes when there
are too many. What a task posts must be one of the files that tasks write; all else is refused and counted.

See docs/decisions/task-files-travel-through-a-mailbox.md.
"""

from __future__ import annotations

import hmac
import logging
import os
import re
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from engine.connectors import kind_of
from engine.connectors.base import Table
from engine.delivery.disk_errors import is_disk_full
from engine.delivery.mailbox_protocol import (
    MOST_FILE_BYTES,
    BrokenConversationError,
    Conversation,
    MailboxAddress,
    Refusal,
)
from engine.errors import SettingError, message_of
from engine.spark.run.mailbox_certificate import make_certificate
from engine.spark.run.mailbox_inputs import Answer, Inputs

LOG = logging.getLogger(__name__)
_EXPECTED = re.compile(
    r"sinks/[^/]+/segments/\d{12}-[^/]+/\d{5}-[0-9a-f]{8}(\.[a-z]+)?|watermarks/[^/]+/(letters-)?[0-9a-f]{16}-\d+\.json"
)
"""The files below the state directory that tasks write: segments, and notes about slices."""
_EXPECTED_BESIDE = re.compile(r"[^/]+-[0-9a-f]{16}\.json")
"""The files that tasks write into a directory of dead letters."""


_CLOSING_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class MailboxLimits:
    """Limits: number of connections, and duration of each."""

    strangers: int = 64
    connections: int = 2048
    stranger_seconds: float = 10.0
    """For the handshake, and as long again for the token."""
    chunk_seconds: float = 60.0
    """For the next bytes of a file, or an answer to be taken."""
    idle_seconds: float = 900.0
    """From one file to the next. A worker that comes later connects anew."""


@dataclass(slots=True)
class MailboxCounts:
    """Counts of received files so far."""

    files: int = 0
    bytes: int = 0
    refused: int = 0


@dataclass(slots=True)
class Mailbox:
    """A mailbox that is open."""

    address: MailboxAddress
    places: Mapping[str, Path]
    """The directories into which tasks may write by their names; the state directory has the empty name."""
    inputs: Inputs = field(default_factory=Inputs)
    limits: MailboxLimits = field(default_factory=MailboxLimits)
    counts: MailboxCounts = field(default_factory=MailboxCounts)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _strangers: dict[ssl.SSLSocket, None] = field(default_factory=dict, repr=False)
    """The oldest first."""
    _known: set[ssl.SSLSocket] = field(default_factory=set, repr=False)
    _threads: set[threading.Thread] = field(default_factory=set, repr=False)
    _is_closed: bool = False

    @property
    def environment(self) -> Mapping[str, str]:
        """Return the variables that executors need."""
        return self.address.environment()

    def admit(self, tables: Sequence[Table]) -> None:
        """Accept dead letters of further tables, and let tasks read the files of these tables."""
        directories = [table.dead_letter_directory for table in tables if table.dead_letter_directory is not None]
        self.places = {**self.places, **{str(path): Path(os.path.realpath(path)) for path in directories}}
        paths = (path for table in tables for path in kind_of(table).reads(table.options))
        self.inputs = replace(self.inputs, paths=(*self.inputs.paths, *paths))

    def serve(self, listener: socket.socket, context: ssl.SSLContext) -> None:
        """Accept connections until the listener is shut down."""
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                if self._is_closed:
                    return
                time.sleep(0.1)  # no file descriptor is free
                continue
            try:
                self._admit(connection, context)
            except (OSError, RuntimeError) as error:  # it has gone already, or there can be no more threads
                self._count_refusal(f"a connection: {message_of(error)}")
                connection.close()

    def close(self) -> None:
        """End all connections, and wait until nothing is being written."""
        with self._lock:
            self._is_closed = True
            connections, threads = [*self._strangers, *self._known], [*self._threads]
        for connection in connections:
            _end(connection)
        deadline = time.monotonic() + _CLOSING_SECONDS
        for thread in threads:
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))

    def _admit(self, plain: socket.socket, context: ssl.SSLContext) -> None:
        with self._lock:
            if self._is_closed or len(self._known) >= self.limits.connections:
                self.counts.refused += 1
                plain.close()
                return
            if len(self._strangers) >= self.limits.strangers:
                self._drop(next(iter(self._strangers)))
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = context.wrap_socket(plain, server_side=True, do_handshake_on_connect=False)
            self._strangers[connection] = None
        thread = threading.Thread(target=self._converse, args=(connection,), name="mailbox", daemon=True)
        self._threads.add(thread)
        thread.start()

    def _drop(self, stranger: ssl.SSLSocket) -> None:
        self._strangers.pop(stranger, None)
        self.counts.refused += 1
        _end(stranger)

    def _converse(self, connection: ssl.SSLSocket) -> None:
        """Serve a connection to its end. An error ends this connection only."""
        try:
            connection.settimeout(self.limits.stranger_seconds)
            connection.do_handshake()
            conversation = Conversation(connection)
            if self._is_known(connection, conversation):
                while (message := conversation.read(seconds=self.limits.idle_seconds)) is not None:
                    self._answer(message, conversation)
        except (OSError, EOFError, BrokenConversationError) as error:
            self._count_refusal(f"a connection, which has ended: {message_of(error)}")
        except Exception:
            self._count_refusal("a connection, which has failed")
            LOG.exception("a connection to the mailbox has failed")
        finally:
            with self._lock:
                self._strangers.pop(connection, None)
                self._known.discard(connection)
                self._threads.discard(threading.current_thread())
            with suppress(OSError):
                connection.close()

    def _is_known(self, connection: ssl.SSLSocket, conversation: Conversation) -> bool:
        """Whether the client shows the token of this run."""
        message = conversation.read(seconds=self.limits.stranger_seconds)
        if message is None:
            return False
        if not hmac.compare_digest(str(message.get("token")).encode(), self.address.token.encode()):
            self._count_refusal("a token of another run")
            conversation.send({"error": Refusal.TOKEN}, seconds=self.limits.stranger_seconds)
            return False
        with self._lock:
            self._strangers.pop(connection, None)
            self._known.add(connection)
        conversation.send({}, seconds=self.limits.chunk_seconds)
        return True

    def _answer(self, message: Mapping[str, object], conversation: Conversation) -> None:
        """Do what a task requests, and reply with the result."""
        if "read" in message:
            answer = self.inputs.read(str(message["read"]), message.get("version"))
        elif "list" in message:
            answer = self.inputs.list_files(str(message["list"]), message.get("pattern"))
        else:
            answer = Answer(self._take(message, conversation))
        if answer.message.get("error") == Refusal.PATH:
            self._count_refusal(f"a file that tasks neither write nor read: {message}")
        with closing(answer.content) if answer.content is not None else nullcontext():
            conversation.send(answer.message, seconds=self.limits.chunk_seconds)
            for chunk in answer.chunks():
                conversation.send_bytes(chunk, seconds=self.limits.chunk_seconds)

    def _take(self, message: Mapping[str, object], conversation: Conversation) -> Mapping[str, object]:
        """Write or remove the file of a message; return the reply, which is empty on success."""
        size = message.get("bytes", -1)
        if size is not None and (not isinstance(size, int) or not 0 <= size <= MOST_FILE_BYTES):
            raise BrokenConversationError(f"a file of {size!r} bytes")
        target = self._target(str(message.get("place")), str(message.get("path")))
        if target is None:
            self._discard(conversation, size or 0)
            return {"error": Refusal.PATH, "message": "tasks do not write such files"}
        sync = message.get("sync") is True
        fault = _remove(target) if size is None else self._write(target, conversation, size, sync=sync)
        if fault is not None:
            kind = Refusal.DISK_FULL if is_disk_full(fault) else Refusal.UNWRITABLE
            return {"error": kind, "message": fault.strerror or message_of(fault)}
        with self._lock:
            self.counts.files += 1
            self.counts.bytes += size or 0
        return {}

    def _target(self, place: str, path: str) -> Path | None:
        """Return the path of a file that tasks may write; None for any other."""
        root = self.places.get(place)
        expected = _EXPECTED_BESIDE if place else _EXPECTED
        if root is None or not expected.fullmatch(path) or not {".", ".."}.isdisjoint(path.split("/")):
            return None
        target = root / path
        # a link would lead elsewhere
        return target if os.path.realpath(target.parent) == str(target.parent) and not target.is_symlink() else None

    def _write(self, target: Path, conversation: Conversation, size: int, *, sync: bool) -> OSError | None:
        """Write a file that is received, completely or not at all; return the error of the disk, if there is one. The
        file is received to its end even then, so that the task reads the reply."""
        draft = _Draft(target)
        try:
            while size:
                chunk = conversation.read_bytes(size, seconds=self.limits.chunk_seconds)
                draft.write(chunk)
                size -= len(chunk)
        except BaseException:
            draft.drop()
            raise
        draft.finish(sync=sync)
        return draft.fault

    def _discard(self, conversation: Conversation, size: int) -> None:
        while size:
            size -= len(conversation.read_bytes(size, seconds=self.limits.chunk_seconds))

    def _count_refusal(self, reason: str) -> None:
        with self._lock:
            self.counts.refused += 1
        if not self._is_closed:
            LOG.info("the mailbox has refused %s", reason)


class _Draft:
    """An incoming file, under a temporary name. After a disk error it drops its data."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._path = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
        self._file: BinaryIO | None = None
        self.fault: OSError | None = None
        with self._noting_fault():
            target.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("xb", buffering=0)

    def write(self, chunk: memoryview) -> None:
        """Append some bytes."""
        with self._noting_fault():
            while chunk and self._file is not None:
                chunk = chunk[self._file.write(chunk) :]

    def finish(self, *, sync: bool) -> None:
        """Give the file its name, with its contents durable if it is to `sync`."""
        with self._noting_fault():
            if self._file is not None:
                if sync:
                    os.fsync(self._file.fileno())
                self._file.close()
                self._path.replace(self._target)

    def drop(self) -> None:
        """Remove the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    @contextmanager
    def _noting_fault(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.fault = self.fault or error
            self.drop()


def _remove(target: Path) -> OSError | None:
    try:
        target.unlink(missing_ok=True)
    except OSError as error:
        return error
    return None


def _end(connection: ssl.SSLSocket) -> None:
    """Shut down a connection, so that the thread that reads from it closes it."""
    with suppress(OSError):
        # not the method of SSLSocket, which would have the thread read on without a cipher
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


@contextmanager
def open_mailbox(
    root: Path,
    bind: str,
    host: str,
    port: int,
    *,
    tables: Sequence[Table] = (),
    limits: MailboxLimits | None = None,
) -> Iterator[Mailbox]:
    """Serve the mailbox of a run while the context lasts: take the files of its tasks below the state directory `root`
    and in the dead-letter directories of its `tables`, and let tasks read the files of these tables. It listens on the
    address `bind`, and executors reach it at `host`; a port of 0 lets the system choose."""
    certificate = make_certificate()
    listener = _listen(bind, port)
    with listener:
        token = secrets.token_urlsafe(32)
        address = MailboxAddress(host, listener.getsockname()[1], str(root), certificate.fingerprint, token)
        for draft in root.glob("watermarks/*/.*.part"):  # of a driver that was killed
            draft.unlink(missing_ok=True)
        mailbox = Mailbox(address, {"": Path(os.path.realpath(root))}, limits=limits or MailboxLimits())
        mailbox.admit(tables)
        thread = threading.Thread(
            target=mailbox.serve, args=(listener, certificate.context), name="mailbox door", daemon=True
        )
        thread.start()
        try:
            yield mailbox
        finally:
            mailbox.close()
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes the thread
            thread.join(_CLOSING_SECONDS)


def _listen(bind: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    try:
        return socket.create_server((bind, port), family=family, backlog=256)
    except OSError as error:
        raise SettingError(
            f"the driver cannot listen on {bind}, port {port}, for the files of executors: {error.strerror or error}",
            hint="choose another mailbox_port, or an address of this machine for driver_bind_address",
        ) from error
