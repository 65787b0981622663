"""Held gates in a flood: 300 requests that are held 20 s each, while 300 event streams are open, and 300 connections
have sent half a request. A gate that has no answer 5 s after its time is lost.

`python -m benchmarks.flood [EACH]` prints how many gates were answered, how long they took, and what the server used.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.api import DRIVERS, Load, Wire, control_plane, cpu_seconds, minute

EACH, HELD_SECONDS, GRACE = 300, 20, 5
HALF = b"GET /api/v1/pipelines HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "


@dataclass(frozen=True, slots=True)
class Answer:
    """Outcome of a gate: `shut` after its time, or what went wrong instead, and the seconds it took."""

    outcome: str
    seconds: float


async def flood(load: Load, each: int) -> list[Answer]:
    """Open streams and half requests, and send all gates at once."""
    beats = [asyncio.create_task(load.beat(driver)) for driver in load.drivers]
    streams = [asyncio.create_task(_stream(load)) for _ in range(each)]
    halves = [asyncio.create_task(_half(load)) for _ in range(each)]
    answers = await asyncio.gather(*(_gate(load, load.drivers[at % DRIVERS].pipeline_id) for at in range(each)))
    for task in (*beats, *streams, *halves):
        task.cancel()
    await asyncio.gather(*beats, *streams, *halves, return_exceptions=True)
    return answers


async def _gate(load: Load, pipeline: str) -> Answer:
    begin = time.perf_counter()
    path = f"/api/v1/pipelines/{pipeline}/watermark?past={minute(10**6)}&timeout_seconds={HELD_SECONDS}"
    try:
        async with asyncio.timeout(HELD_SECONDS + GRACE):
            wire = await Wire.open(load.port, load.token)
            passed = json.loads(await wire.ask("GET", path))["passed"]
        outcome = "passed" if passed else "shut"
    except (TimeoutError, OSError, EOFError, SystemExit) as error:
        outcome = f"lost: {type(error).__name__} {error}"
    return Answer(outcome, time.perf_counter() - begin)


async def _stream(load: Load) -> None:
    """Read the events of all changes for ever."""
    wire = await Wire.open(load.port, load.token)
    head = f"GET /api/v1/changes/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {load.token}\r\n\r\n"
    wire.writer.write(head.encode())
    while await wire.reader.read(2**20):
        pass


async def _half(load: Load) -> None:
    """Send a byte of a header a second, and connect again when the server has given up."""
    while True:
        wire = await Wire.open(load.port, load.token)
        try:
            wire.writer.write(HALF)
            while not wire.reader.at_eof():
                wire.writer.write(b"x")
                await wire.writer.drain()
                await asyncio.sleep(1)
        except OSError:
            pass


def show(answers: Sequence[Answer], share: float) -> int:
    """Print the figures; the exit code says whether all gates were answered in time."""
    counts = Counter(answer.outcome for answer in answers)
    seconds = sorted(answer.seconds for answer in answers)
    print(f"{len(answers)} gates of {HELD_SECONDS} s, as many event streams, as many half requests; {dict(counts)}")
    p50, p99 = seconds[len(seconds) // 2], seconds[int(len(seconds) * 0.99)]
    print(f"p50 {p50:.2f} s, p99 {p99:.2f} s, {seconds[-1]:.2f} s at most")
    print(f"the server used {share:.2f} of a core; load {os.getloadavg()[0]:.1f}")
    return 0 if set(counts) == {"shut"} else 1


def main() -> int:
    """Serve, flood, and print what came of it."""
    each = int(sys.argv[1]) if len(sys.argv) > 1 else EACH
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix="bench-flood-") as folder, control_plane(Path(folder)) as (load, _, server):
        before, begin = cpu_seconds(server), time.monotonic()
        answers = asyncio.run(flood(load, each))
        share = (cpu_seconds(server) - before) / (time.monotonic() - begin)
    return show(answers, share)


if __name__ == "__main__":
    sys.exit(main())
