"""A file system of a few megabytes, which a test can fill."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SIZE = "64m"


def may_mount(place: Path) -> bool:
    """Whether this user may mount a file system: who may not cannot fill a disk without filling that of the machine."""
    return _run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)) and _run("umount", str(place))


@contextmanager
def small_disk(place: Path) -> Iterator[None]:
    """A file system of its own at a directory, which is made."""
    place.mkdir(parents=True)
    assert _run("mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(place))
    try:
        yield
    finally:
        _run("umount", "--lazy", str(place))


@contextmanager
def full(place: Path) -> Iterator[None]:
    """No byte is free there, whatever others give back."""
    filler = place / "filler"
    is_full, is_over = threading.Event(), threading.Event()

    def fill() -> None:
        with filler.open("ab", buffering=0) as file:
            while not is_over.is_set():
                with suppress(OSError):
                    while file.write(bytes(1 << 16)):
                        pass
                is_full.set()
                is_over.wait(0.02)

    filling = threading.Thread(target=fill)
    filling.start()
    is_full.wait()
    try:
        yield
    finally:
        is_over.set()
        filling.join()
        filler.unlink()


def _run(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
