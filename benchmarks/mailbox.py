"""CPU of notes and segments that go through the mailbox of a driver, beside that of files on a shared disk.

    python -m benchmarks.mailbox [notes] [megabytes]

A worker process leaves notes and writes segments: on the disk of the driver, or as one that sees another disk. What
counts is the CPU time of both processes, and for the mailbox also that of the driver alone. Files are not synced, since
that costs the same on both ways.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from engine.delivery.epoch import Epoch
from engine.delivery.segments import SegmentFile
from engine.spark.read import notes
from engine.spark.run.mailbox import Mailbox, open_mailbox

_NOTE = notes.ReaderNote(9, 1_000_000, 0, 40, 2_000_000, 1)
_MEGABYTE = os.urandom(1024 * 1024)


def main(note_count: int, megabytes: int) -> None:
    """Print the figures of each kind of file, each way."""
    works: dict[str, tuple[int, Callable[[Path], None]]] = {
        "note": (note_count, lambda root: _leave_notes(root, note_count)),
        "segment of 8 KiB": (note_count, lambda root: _write_segments(root, note_count, 8)),
        "MB in segments of 16 MB": (megabytes, lambda root: _write_segments(root, megabytes // 16, 16 * 1024)),
    }
    for name, (count, work) in works.items():
        for is_remote in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                root = Path(folder)
                with open_mailbox(root, "127.0.0.1", "127.0.0.1", 0) if is_remote else nullcontext() as mailbox:
                    worker, driver, wall = _measured(work, root, mailbox)
            way = "mailbox" if is_remote else "local"
            print(
                f"{name:24} {way:8} {1e6 * (worker + driver) / count:8.0f} us of CPU, of which the driver "
                f"{1e6 * driver / count:6.0f}; {1e6 * wall / count:8.0f} us"
            )


def _measured(work: Callable[[Path], None], root: Path, mailbox: Mailbox | None) -> tuple[float, float, float]:
    """The CPU seconds of a worker and of this process, and the seconds it took."""
    environment = {} if mailbox is None else dict(mailbox.environment)
    reader, writer = multiprocessing.Pipe()

    def child() -> None:
        os.environ.update(environment)
        work(root / "warm")
        before, begun, started = _cpu(), time.monotonic(), True
        writer.send(started)
        work(root)
        writer.send((_cpu() - before, time.monotonic() - begun))

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    reader.recv()
    before = _cpu()
    worker, wall = reader.recv()
    driver = _cpu() - before
    process.join()
    return worker, driver, wall


def _leave_notes(root: Path, count: int) -> None:
    for number in range(10 if root.name == "warm" else count):
        notes.leave(_state(root) / "watermarks/t", "p0", number % 16, _NOTE)


def _write_segments(root: Path, count: int, kilobytes: int) -> None:
    for number in range(1 if root.name == "warm" else count):
        segment = SegmentFile(_state(root) / "sinks/t", Epoch(number, "a", 1, ""), 0)
        for start in range(0, kilobytes, 1024):
            segment.write(_MEGABYTE[: min(kilobytes - start, 1024) * 1024], 1)
        segment.close(sync=False)


def _state(root: Path) -> Path:
    address = os.environ.get("ARROYO_MAILBOX")
    return root if address is None else Path(json.loads(address)["root"])


def _cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:])) if len(sys.argv) > 2 else main(2000, 512)
