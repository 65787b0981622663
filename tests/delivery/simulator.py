"""Drivers that take turns by chance, over the real sinks and real files, in one process.

A driver is a coroutine which lets go at every operation on a file. Who goes on, who is killed there, who is replaced
and wakes up later, and when a savepoint is restored, comes from a seed. `python -m tests.delivery.simulator 100000`
plays so many schedules.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from greenlet import getcurrent, greenlet

from engine.checkpoints.layout import StatePaths
from engine.checkpoints.lineage import Lineage
from engine.connectors.base import Epoch, Table
from engine.delivery.durable import create_durably, replace_durably
from engine.delivery.segments import SegmentFile, to_message
from engine.errors import EngineError
from engine.spark.read.offset_log import hash_offsets
from tests.connectors.tables import NUMBERS, sink, table

EPOCHS = 4
_FUNCTIONS: tuple[tuple[Any, str], ...] = (
    (os, "link"), (os, "replace"), (os, "fsync"), (shutil, "rmtree"), (Path, "open"), (Path, "replace"),
    (Path, "unlink"), (Path, "exists"), (Path, "glob"), (Path, "iterdir"), (Path, "rename"),
)  # fmt: skip


class Killed(BaseException):
    """The driver is gone; nothing may catch it, and nothing that it does on its way out has an effect."""


class Wrong(Exception):  # noqa: N818 - it is what one looks for
    """Something that must never be."""


@dataclass(slots=True)
class Driver:
    """A run of the pipeline, which may stand still at any operation."""

    generation: int
    lineage: Lineage
    coroutine: greenlet = field(init=False)
    operations_left: int = 0
    """How many operations it may do before the next one gets its turn."""
    is_dead: bool = False
    error: Exception | None = None
    """Why it gave up. A zombie may cost its successor an attempt, so that is no fault before the last one."""


@dataclass(slots=True)
class Machine:
    """A pipeline, its drivers, and chance."""

    kind: str
    root: Path
    chance: random.Random
    table: Table = field(init=False)
    lineage: Lineage = field(default_factory=lambda: Lineage("l0"))
    histories: dict[str, Lineage] = field(default_factory=dict)
    drivers: list[Driver] = field(default_factory=list)
    generation: int = 0

    def __post_init__(self) -> None:
        self.table = target(self.kind, self.root)

    @property
    def paths(self) -> StatePaths:
        """The pipeline's state."""
        return StatePaths(self.root / "state")

    def play(self, turns: int) -> None:
        """So many turns by chance, then an undisturbed run to the end; raises when that finds something wrong."""
        for _ in range(turns):
            self._turn()
        for driver in self.drivers:
            self._kill(driver)
        last = self._start()
        self._go_on(last, 10**9)
        if last.error is not None:
            raise Wrong(f"the last driver could not go on: {last.error}")
        self._check()

    def _turn(self) -> None:
        alive = [driver for driver in self.drivers if not driver.is_dead]
        number = self.chance.random()
        if len(alive) < 2 and (not alive or number < 0.3):
            if not alive and number < 0.1:
                self._restore()
            alive.append(self._start())
        driver = self.chance.choice(alive)
        self._go_on(driver, self.chance.choice((3, 20, 60, 150)))
        if not driver.is_dead and self.chance.random() < 0.25:
            self._kill(driver)

    def _start(self) -> Driver:
        self.generation += 1
        replace_durably(self.paths.generation, f"{self.generation}\n".encode())
        driver = Driver(self.generation, self.lineage)
        driver.coroutine = greenlet(lambda: self._drive(driver))
        self.drivers.append(driver)
        return driver

    def _go_on(self, driver: Driver, operations: int) -> None:
        driver.operations_left = self.chance.randrange(1, operations)
        with _watched(driver):
            driver.coroutine.switch()
        driver.is_dead = driver.is_dead or driver.coroutine.dead

    def _kill(self, driver: Driver) -> None:
        driver.is_dead = True
        if driver.coroutine and not driver.coroutine.dead:
            with _watched(driver), suppress(Killed):
                driver.coroutine.throw(Killed)

    def _drive(self, driver: Driver) -> None:
        try:
            while self._epoch(driver):
                pass
        except Killed:
            pass
        except (EngineError, OSError) as error:
            driver.error = error

    def _epoch(self, driver: Driver) -> bool:
        """Take the next epoch by the rules of Spark's logs; False at the end, or when another driver was first."""
        checkpoint = self.paths.checkpoint
        number = max(_numbers(checkpoint / "commits"), default=-1) + 1
        if number >= EPOCHS:
            return False
        planned = checkpoint / "offsets" / str(number)
        if not planned.exists() and not create_durably(planned, f"v1\n{{}}\n{number}\n".encode()):
            return False
        epoch = Epoch(
            number,
            driver.lineage.id,
            driver.generation,
            hash_offsets(checkpoint, number),
            driver.lineage.parents,
            is_last=number == EPOCHS - 1,
        )
        directory = self.paths.sinks / "t"
        sink(self.table, directory).commit(epoch, [staged(directory, epoch)])
        return create_durably(checkpoint / "commits" / str(number), driver.lineage.id.encode())

    def _restore(self) -> None:
        """Put the checkpoint back to an epoch, as a savepoint does; nobody is at work meanwhile."""
        numbers = sorted(_numbers(self.paths.checkpoint / "commits"))
        if not numbers:
            return
        back = self.chance.choice(numbers)
        for log in ("offsets", "commits"):
            for number in _numbers(self.paths.checkpoint / log):
                if number > back:
                    (self.paths.checkpoint / log / str(number)).unlink()
        self.histories[self.lineage.id] = self.lineage
        owner = self.histories[(self.paths.checkpoint / "commits" / str(back)).read_text()]
        parents = tuple(parent for parent in owner.parents if parent[1] < back)
        self.lineage = Lineage(owner.id, parents).forked_at(back, f"l{self.generation}x{len(self.histories)}")

    def _check(self) -> None:
        rows = Counter(written(self.root))
        expected = Counter((number, name) for number in range(EPOCHS) for name in "ab")
        if rows != expected:
            raise Wrong(f"lost {sorted((expected - rows).elements())}, too many {sorted((rows - expected).elements())}")


def target(kind: str, root: Path) -> Table:
    """The table that is written."""
    rolling: dict[str, Any] = {"rolling_policy__file_size": 100} if kind == "rolling" else {}
    path, by = root / "out", ("name",)
    return table("filesystem", NUMBERS, path=path, type="sink", format="json", partitioning__fields=by, **rolling)


def staged(directory: Path, epoch: Epoch) -> bytes:
    """What a task writes, one row into each of two parts of the table."""
    segments = []
    for name in "ab":
        segment = SegmentFile(directory, epoch, 0)
        segment.write(json.dumps({"n": epoch.number, "name": name}).encode() + b"\n", 1)
        segments.append(segment.close(f"name={name}"))
    return to_message(segments)


def written(root: Path) -> Iterator[tuple[int, str]]:
    """What readers see."""
    for path in (root / "out").rglob("[!.]*.json"):
        for line in path.read_text().splitlines():
            row = json.loads(line)
            yield row["n"], row["name"]


@contextmanager
def simulated() -> Iterator[None]:
    """Operations on files let the driver go that does them, when its turn is over."""
    before = [(owner, name, getattr(owner, name)) for owner, name in _FUNCTIONS]
    try:
        for owner, name, function in before:
            setattr(owner, name, _interrupted(function if name != "fsync" else _nothing))
        yield
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)


_active: list[Driver] = []


@contextmanager
def _watched(driver: Driver) -> Iterator[None]:
    _active.append(driver)
    try:
        yield
    finally:
        _active.pop()


def _nothing(*_: object) -> None:
    """Nothing is lost but processes, so nothing need be synced."""


def _interrupted(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        if _active:
            driver = _active[-1]
            if driver.is_dead:
                raise Killed
            driver.operations_left -= 1
            if driver.operations_left <= 0:
                getcurrent().parent.switch()
        return function(*arguments, **named)

    return call


def _numbers(folder: Path) -> list[int]:
    return [int(name) for name in os.listdir(folder) if name.isdigit()] if os.path.isdir(folder) else []  # noqa: PTH112, PTH208


def play(kind: str, seed: int) -> None:
    """Play one schedule; raises what was wrong. Short ones find as much in a second as long ones, but not the same."""
    chance = random.Random(seed)
    folder = Path(tempfile.mkdtemp(prefix="simulated-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    try:
        with simulated():
            Machine(kind, folder, chance).play(chance.randrange(4, 13))
    except Wrong as wrong:
        raise Wrong(f"{kind}, seed {seed}: {wrong}") from wrong
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Play many schedules and say how many were wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.delivery.simulator", description=__doc__)
    parser.add_argument("schedules", type=int)
    parser.add_argument("--kind", default="plain")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    begin, wrong = time.monotonic(), 0
    for seed in range(options.seed, options.seed + options.schedules):
        try:
            play(options.kind, seed)
        except Wrong as error:
            wrong += 1
            print(error, flush=True)  # noqa: T201 - it is what one waits for
    took = time.monotonic() - begin
    print(f"{options.schedules} schedules of {options.kind} in {took:.0f} s: {wrong} wrong")  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
