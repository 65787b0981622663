"""Send files from tasks to the driver: over a shared disk, or through the driver's mailbox.

    a worker of the driver's machine      writes sinks/out/segments/7-B/00000-9f2c, which the driver reads
    a worker that sees another disk       writes <its own directory>/sinks/out/segments/7-B/00000-9f2c, and posts it;
                                          the driver's mailbox writes sinks/out/segments/7-B/00000-9f2c

A worker knows by its environment which of both it is. Sinks need not know: `segment_path` says where to write, a
segment that is closed is posted, and `write_task` posts whatever a sink has left. A task answers only when the driver
has all its files. See docs/decisions/task-files-travel-through-a-mailbox.md.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from engine.delivery.durable import sync_file
from engine.delivery.mailbox_protocol import ADDRESS, TOKEN

if TYPE_CHECKING:
    from engine.delivery.mailbox_client import MailboxClient


def is_remote() -> bool:
    """Whether this process sees another disk than the driver."""
    return ADDRESS in os.environ


def stay_on_driver() -> None:
    """Let this process, which plans on the driver's machine, use the driver's disk, although Spark gives planners the
    environment of executors."""
    for name in (ADDRESS, TOKEN):
        os.environ.pop(name, None)


def task_path(path: Path) -> Path:
    """Return the path at which a task writes a file that belongs to `path` in the state directory."""
    return current_outbox().path(path) if is_remote() else path


def finish(path: Path, *, sync: bool) -> None:
    """Hand in a written file, under a path of `task_path`; durably with `sync`."""
    if is_remote():
        current_outbox().send(path, sync=sync)
    elif sync:
        sync_file(path)


def post(path: Path, content: bytes | None, *, sync: bool = False) -> bool:
    """Have the driver write `content` to `path`, or remove that file if `content` is None. Return False if this process
    sees the driver's disk and has to do it itself."""
    if not is_remote():
        return False
    current_outbox().post(path, content, sync=sync)
    return True


def clear() -> None:
    """Forget files that a failed task of this process has left."""
    if is_remote():
        current_outbox().clear()


def send_rest() -> None:
    """Post the files that were written and not handed in by their writers."""
    if is_remote():
        current_outbox().send_rest()


@dataclass(slots=True)
class Outbox:
    """The files of a process on their way to the driver, and its connection."""

    client: MailboxClient
    folder: Path
    pid: int = field(default_factory=os.getpid)

    def path(self, path: Path) -> Path:
        """Return the place of a file below the process's own directory."""
        return self.folder / path.relative_to(self.client.address.root)

    def send(self, path: Path, *, sync: bool) -> None:
        """Post a file below that directory, and remove it."""
        with path.open("rb") as content:
            size = os.fstat(content.fileno()).st_size
            self.client.post("", str(path.relative_to(self.folder)), content, size, sync=sync)
        path.unlink()

    def post(self, path: Path, content: bytes | None, *, sync: bool) -> None:
        """Post content that is not on this disk. A path outside of the state goes to the directory that its table
        names."""
        root = Path(self.client.address.root)
        place, name = ("", str(path.relative_to(root))) if path.is_relative_to(root) else (str(path.parent), path.name)
        if content is None:
            self.client.remove(place, name)
        else:
            self.client.post(place, name, io.BytesIO(content), len(content), sync=sync)

    def clear(self) -> None:
        """Remove all files."""
        for entry in self.folder.iterdir():
            shutil.rmtree(entry, ignore_errors=True)

    def send_rest(self) -> None:
        """Post all files in the outbox."""
        for folder, _, names in os.walk(self.folder):
            for name in names:
                self.send(Path(folder) / name, sync=True)


_current: Outbox | None = None


def current_outbox() -> Outbox:
    """Return the outbox of this process. A child process has one of its own: two must not share a connection."""
    global _current  # noqa: PLW0603 - a worker has one connection for all its tasks
    if _current is None or _current.pid != os.getpid():
        from engine.delivery.mailbox_client import client_of_environment  # noqa: PLC0415 - local runs need no TLS

        _current = Outbox(client_of_environment(), scratch_directory("outbox-"))
    return _current


def scratch_directory(prefix: str) -> Path:
    """Return a new directory for files of this process. Spark removes it when the application ends."""
    scratch = os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")[0]
    return Path(tempfile.mkdtemp(prefix=prefix, dir=scratch))
