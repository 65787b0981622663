"""Protocol by which `arroyo run` passes its work to the spare process of the previous run, over a socket of the same
user.

    run      token, environment digest              a spare of another version closes the connection, and ends
    spare    ready
    run      the request, with the descriptors of its output
    spare    0, 2 or 3: exit code of the run        meanwhile the run forwards every signal that it gets

Before the request is sent, the run can still do the work itself; after that it never does. A closed connection means
that the peer has ended: a spare whose run has ended exits at once. See
docs/decisions/a-run-leaves-a-new-process-for-the-next.md.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

SOCKET, TOKEN, LOCK = "socket", "token", "lock"
"""Files of the directory. The available spare holds the lock."""
_READY = {"is": "ready"}
_PATIENCE = 2.0
"""Seconds for a spare to answer: it has nothing else to do."""
_MOST = 64 * 2**20
_OUTPUTS = 2


def spares_directory(environ: Mapping[str, str]) -> Path:
    """Return the folder of this user's spare: in the runtime directory, or in that of caches."""
    if directory := environ.get("ARROYO_CACHE"):
        return Path(directory) / "spare"
    base = environ.get("XDG_RUNTIME_DIR") or environ.get("XDG_CACHE_HOME")
    return Path(base or Path(environ.get("HOME", "~")).expanduser() / ".cache") / "arroyo" / "spare"


def is_private(directory: Path) -> bool:
    """Whether it is a directory that nobody but this user can enter."""
    try:
        stat = directory.lstat()
    except OSError:
        return False
    return (
        directory.is_dir() and not directory.is_symlink() and stat.st_uid == os.geteuid() and not stat.st_mode & 0o077
    )


@dataclass(slots=True)
class Line:
    """JSON lines over a connection."""

    connection: socket.socket
    _rest: bytes = b""

    def close(self) -> None:
        """Hang up."""
        self.connection.close()

    def say(self, content: Mapping[str, object], descriptors: tuple[int, ...] = ()) -> None:
        """Send one, with descriptors beside its first bytes."""
        text = json.dumps(content).encode() + b"\n"
        sent = socket.send_fds(self.connection, [text], list(descriptors)) if descriptors else 0
        self.connection.sendall(text[sent:])

    def hear(self) -> Mapping[str, object] | None:
        """The next one; None when the other end has hung up."""
        content, _ = self._receive(0)
        return content

    def hear_with_outputs(self) -> tuple[Mapping[str, object] | None, list[int]]:
        """The next one, and the descriptors that came with it."""
        return self._receive(_OUTPUTS)

    def _receive(self, most: int) -> tuple[Mapping[str, object] | None, list[int]]:
        descriptors: list[int] = []
        while b"\n" not in self._rest:
            if most:
                block, received, _, _ = socket.recv_fds(self.connection, 65536, most)
                descriptors += received
            else:
                block = self.connection.recv(65536)
            if not block or len(self._rest) > _MOST:
                return None, descriptors
            self._rest += block
        line, _, self._rest = self._rest.partition(b"\n")
        content = json.loads(line)
        return (content if isinstance(content, dict) else None), descriptors


@contextmanager
def short_path(directory: Path) -> Iterator[str]:
    """The path of the socket in a directory, by a name that is short enough for one."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{handle}/{SOCKET}"
    finally:
        os.close(handle)


def listen(directory: Path) -> tuple[socket.socket, str]:
    """A socket for one caller, and the token that it has to say. Only who holds the lock may ask for it."""
    token = secrets.token_hex(32)
    for name in (TOKEN, SOCKET):
        (directory / name).unlink(missing_ok=True)
    handle = os.open(directory / TOKEN, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(token)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with short_path(directory) as path:
        listener.bind(path)
    listener.listen(1)
    return listener, token


def admit(connection: socket.socket, token: str, surroundings: str) -> Line | None:
    """The line to a caller of this user who knows the token and comes from the same surroundings."""
    connection.settimeout(_PATIENCE)
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    line = Line(connection)
    try:
        greeting = line.hear() or {}
        is_known = hmac.compare_digest(str(greeting.get("token")), token)
        if struct.unpack("3i", peer)[1] != os.geteuid() or not is_known or greeting.get("around") != surroundings:
            return None
        line.say(_READY)
    except (OSError, ValueError):
        return None
    return line


def call(directory: Path, surroundings: str) -> Line | None:
    """The line to the spare, which is ready and waits for an order; None when there is none that fits."""
    if not is_private(directory):
        return None
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(_PATIENCE)
    line = Line(connection)
    with suppress(OSError, ValueError):
        token = (directory / TOKEN).read_text()
        with short_path(directory) as path:
            connection.connect(path)
        line.say({"token": token, "around": surroundings})
        if line.hear() == _READY:
            connection.settimeout(None)
            return line
    connection.close()
    return None
