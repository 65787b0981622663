"""Protocol by which `arroyo run` passes its work to the spare process of the previous run, over a socket of the same
user.

    run      token, environment digest              a spare of another version closes the connection, and ends
    spare    ready
    run      the request, with the descriptors of its output
    spare    0, 2 or 3: exit code of the run        meanwhile the run forwards every signal that it gets

Before the request is sent, the run can still do the work itself; after that it never does. A closed connection means
that the peer has ended: a spare whose run has ended exits at once. See
docs/decisions/a-run-leaves-a-new-process-for-the-next.md.

Digest of a process's environment, as far as its work could depend on it.

A spare may do the work of another run only if both would have started the same processes: the same program, in the same
directory, with the same environment and limits.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import resource
import secrets
import site
import socket
import struct
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import engine
from engine.jobs.processes import processes

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
    """Whether it is a directory that only this user can enter."""
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
        """Close the connection."""
        self.connection.close()

    def say(self, content: Mapping[str, object], descriptors: tuple[int, ...] = ()) -> None:
        """Send a message, with descriptors attached to its first bytes."""
        text = json.dumps(content).encode() + b"\n"
        sent = socket.send_fds(self.connection, [text], list(descriptors)) if descriptors else 0
        self.connection.sendall(text[sent:])

    def hear(self) -> Mapping[str, object] | None:
        """Return the next message; None when the other end has closed the connection."""
        content, _ = self._receive(0)
        return content

    def hear_with_outputs(self) -> tuple[Mapping[str, object] | None, list[int]]:
        """Return the next message, and the descriptors that came with it."""
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
    """Provide a path of the socket in a directory that is short enough for a socket."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{handle}/{SOCKET}"
    finally:
        os.close(handle)


def listen(directory: Path) -> tuple[socket.socket, str]:
    """Return a socket for one caller, and the token that it has to send. Only the holder of the lock may call this."""
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
    """Return the line to a caller of this user who knows the token and has an equal environment."""
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
    """Return the line to the spare, which is ready and waits for an order; None if there is none that fits."""
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


_OF_THE_TERMINAL = frozenset({"_", "OLDPWD", "SHLVL", "COLUMNS", "LINES"})
"""Variables that differ between commands of one shell, and do not affect a run."""
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
_LIMITS = sorted(name for name in dir(resource) if name.startswith("RLIMIT_"))


def digest_of_surroundings(environ: Mapping[str, str]) -> str:
    """Return a digest that is equal for two processes of this user if either could run in place of the other."""
    content = [
        sorted((name, text) for name, text in environ.items() if name not in _OF_THE_TERMINAL),
        [os.getcwd(), sys.executable, list(sys.version_info), *sorted(_programs(environ))],  # noqa: PTH109 - as the kernel says
        [os.getresuid(), os.getresgid(), sorted(os.getgroups()), _umask(), os.nice(0), sorted(os.sched_getaffinity(0))],
        [resource.getrlimit(getattr(resource, name)) for name in _LIMITS],
        [*_namespaces(), *_control_groups()],
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _programs(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the files of the engine, and the directories of installed packages, which change with their content."""
    root = Path(engine.__file__).parent
    named = [entry for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    packages = {*named, sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.getusersitepackages()}
    for path in (*root.rglob("*.py"), *map(Path, packages)):
        with suppress(OSError):
            stat = path.stat()
            yield f"{path} {stat.st_size} {stat.st_mtime_ns}"


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _namespaces() -> Iterator[str]:
    for name in _NAMESPACES:
        with suppress(OSError):
            yield str(Path(f"/proc/self/ns/{name}").readlink())


def _control_groups() -> Iterator[str]:
    with suppress(OSError):
        yield Path("/proc/self/cgroup").read_text()


_LOOK = 0.05
_SPARE_PATIENCE = 10.0
"""Seconds for a spare to notice that its token is gone: it checks once per second."""


@dataclass(frozen=True, slots=True)
class LeftSpare:
    """A waiting spare; `pid` is None if an earlier version has started it."""

    pid: int | None
    since: datetime


def find_spare(directory: Path) -> LeftSpare | None:
    """Return the spare that waits for a run; one that has a run does not count."""
    lock = directory / LOCK
    if not is_private(directory) or not processes.is_locked(lock):
        return None
    try:
        text, since = lock.read_text(), datetime.fromtimestamp(lock.stat().st_mtime, UTC)
    except OSError:
        return None
    return LeftSpare(int(text) if text.isdigit() else None, since)


def end_spare(directory: Path, clock: Callable[[], float] = time.monotonic) -> LeftSpare | None:
    """End the spare that waits, and wait until it has ended; return which it was. One that does not react is killed."""
    spare = find_spare(directory)
    if spare is None:
        return None
    give_up = clock() + _SPARE_PATIENCE
    while processes.is_locked(directory / LOCK):
        # again and again: one that is just starting writes its token down later
        with suppress(OSError):
            (directory / TOKEN).unlink(missing_ok=True)
        if clock() > give_up and spare.pid is not None:
            processes.kill_group(spare.pid)
        time.sleep(_LOOK)
    return spare
