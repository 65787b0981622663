"""The loop: drivers are killed and paused at random, replaced by their successors, and woken up again."""

from __future__ import annotations

import os
import random
import select
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from engine.delivery.durable import replace_durably
from engine.delivery.faults import ALLOWED, ARMED, Point
from tests.chaos.check import Verdict, judge
from tests.chaos.driver import DONE, OVERTAKEN, SUPERSEDED, Spec, committed, drive, planned
from tests.chaos.processes import Child, fork
from tests.chaos.targets import Kind, Part, Place, View
from tests.delivery.mutants import replaced, without_ledger

PATIENCE = 120.0
"""Seconds after which something that should have happened has not."""
_REACH = 3
"""A fault lies in one of so many epochs from here."""


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """What a loop is to do."""

    kills: int
    zombies: int
    events: int
    seed: int
    epoch_rows: int = 1500
    without_ledger: bool = False
    minutes: float = 24 * 60
    """No cycle begins after so many."""


@dataclass(slots=True)
class Loop:
    """One pipeline and all its drivers."""

    kind: Kind
    place: Place
    settings: LoopSettings
    spec: Spec
    chance: random.Random
    generation: int = 0
    kills: int = 0
    zombies: int = 0
    epoch_seconds: float = 0.2
    points: list[Point] = field(default_factory=list)
    """Those at which no driver was killed or paused in this round."""
    ends: Counter[str] = field(default_factory=Counter)
    troubles: list[str] = field(default_factory=list)
    drivers: list[Child] = field(default_factory=list)

    def run(self) -> Verdict:
        """All cycles, then an undisturbed run to the end; what readers see then."""
        cycles = ["kill"] * self.settings.kills + ["zombie"] * self.settings.zombies
        self.chance.shuffle(cycles)
        until = time.monotonic() + 60 * self.settings.minutes
        with self._reading() as seen_meanwhile:
            for cycle in cycles:
                self._zombie() if cycle == "zombie" else self._kill()
                if self.troubles or time.monotonic() > until:
                    break
            # at least one more: the last epoch is planned as the last, which publishes files that are still open
            total = max(self.settings.events, planned(self.spec.paths.checkpoint) + 1)
            self.end_at(total)
            if not self.troubles:
                self._finish()
        verdict = judge(settled(self.kind.view(self.place), total), total)
        meanwhile = seen_meanwhile()
        if meanwhile:
            self.troubles.append(f"a reader that was there all the time: {meanwhile}")
        return verdict

    def _kill(self) -> None:
        is_armed = self.chance.random() < 0.5
        driver = self.start(fault=self._fault("") if is_armed else "")
        self._let_work(driver, _REACH + 1 if is_armed else self.chance.randrange(4))
        driver.kill()
        self._note(driver, "killed")
        self.kills += 1

    def _zombie(self) -> None:
        zombie = self.start(fault=self._fault(":stop") if self.chance.random() < 0.5 else "")
        self._let_work(zombie, self.chance.randrange(4))
        zombie.send(signal.SIGSTOP)
        successor = self.start()
        self._let_work(successor, self.chance.randrange(1, 4))
        if not self._wakes_up_and_ends(zombie):
            zombie.kill()
            self.troubles.append("a zombie went on although it had been replaced")
        self._note(zombie, "zombie", may_fail=True)
        self._let_work(successor, self.chance.randrange(3))
        successor.kill()
        self._note(successor, "successor")
        self.zombies += 1

    def _wakes_up_and_ends(self, zombie: Child) -> bool:
        """Whether it ends; armed, it may stand still once more on its way."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            zombie.send(signal.SIGCONT)
            if zombie.ends(0.2):
                return True
        return False

    def _finish(self) -> None:
        for _ in range(3):
            driver = self.start()
            driver.ends(PATIENCE * 10)
            driver.kill()
            self._note(driver, "last")
            if driver.code == DONE:
                return
        self.troubles.append("the last driver did not come to the end")

    def end_at(self, events: int) -> None:
        """Say where the input ends; until then it has no end."""
        (self.place.root / "end").write_text(str(events))

    def start(self, fault: str = "") -> Child:
        """Start the driver of the next generation, armed with a fault."""
        self.generation += 1
        generation = self.generation
        replace_durably(self.spec.paths.generation, f"{generation}\n".encode())

        def work(step: Callable[[], object]) -> int:
            if self.settings.without_ledger:
                with replaced(without_ledger()):
                    return drive(self.spec, generation, lambda _: step())
            return drive(self.spec, generation, lambda _: step())

        armed = {ARMED: fault, ALLOWED: "1"} if fault else {}
        driver = fork(work, str(self.place.root / "drivers.log"), **armed)
        self.drivers.append(driver)
        return driver

    def leave_none(self) -> None:
        """End all drivers that are still there: each holds what was open when it began, such as the way to a server."""
        for driver in self.drivers:
            driver.kill()

    def _fault(self, how: str) -> str:
        """A named point of an epoch that the next driver will come to; all points in turn, in any order."""
        if not self.points:
            self.points = [point for point in Point if point not in self.kind.lacks]
            self.chance.shuffle(self.points)
        number = self._committed_epochs() + self.chance.randrange(_REACH)
        return f"{self.points.pop()}:{number}{how}"

    def _committed_epochs(self) -> int:
        folder = self.spec.paths.checkpoint / "commits"
        return sum(1 for path in folder.glob("[0-9]*")) if folder.is_dir() else 0

    def _let_work(self, driver: Child, epochs: int) -> None:
        """Let it commit some epochs, and then go on for a part of one."""
        start = time.monotonic()
        if driver.steps(epochs, 10 if epochs == 0 else 5 + 20 * self.epoch_seconds * epochs) and epochs:
            self.epoch_seconds = 0.8 * self.epoch_seconds + 0.2 * (time.monotonic() - start) / epochs
        driver.ends(self.chance.random() * 1.5 * min(self.epoch_seconds, 2.0))

    def _note(self, driver: Child, role: str, *, may_fail: bool = False) -> None:
        names = {DONE: "done", SUPERSEDED: "superseded", OVERTAKEN: "overtaken", -signal.SIGKILL: "killed"}
        name = names.get(driver.code or 0, f"failed with {driver.code}")
        self.ends[f"{role} {name}"] += 1
        if name.startswith("failed") and not may_fail:
            self.troubles.append(f"a {role} driver {name}: {self.log_tail()}")

    def log_tail(self) -> str:
        """What the last driver that failed has said."""
        notes = sorted(self.place.root.glob("failed-*"), key=lambda path: path.stat().st_mtime)
        log = self.place.root / "drivers.log"
        return notes[-1].read_text().strip() if notes else log.read_text()[-2000:]

    @contextmanager
    def _reading(self) -> Iterator[Callable[[], str]]:
        """A reader that is there all the time; afterwards it says what was wrong, if anything."""
        answer = self.place.root / "reader"
        if not self.kind.shows_only_committed:
            yield lambda: ""
            return
        reader = fork(lambda _: _read(self.kind, self.place, self.spec), str(self.place.root / "reader.log"))
        yield lambda: answer.read_text() if answer.exists() else (self.place.root / "reader.log").read_text()[-2000:]
        (self.place.root / "enough").touch()
        reader.ends(PATIENCE)
        reader.kill()


def settled(view: View, events: int, earlier_parts: Sequence[Part] = ()) -> list[Part]:
    """What there is to read, once all events are there or have been waited for: some targets say yes to a commit before
    readers can see it."""
    parts, until = [*earlier_parts, *view.new()], time.monotonic() + 30
    while sum(len(part.numbers) for part in parts) < events and time.monotonic() < until:
        parts += view.new()
    return parts


def _read(kind: Kind, place: Place, spec: Spec) -> int:
    """Read what becomes visible until it is enough, and write down what was wrong."""
    view, parts = kind.view(place), list[Part]()
    while True:
        is_last = (place.root / "enough").exists()
        must = committed(spec.paths.checkpoint) if kind.shows_at_once or is_last else 0
        parts = settled(view, must, parts) if is_last else [*parts, *view.new()]
        may = planned(spec.paths.checkpoint)
        if is_last or len(parts) % 7 == 0:
            verdict = judge(parts, must, max(must, may))
            if is_last or not verdict.is_clean:
                (place.root / "reader").write_text("" if verdict.is_clean else str(verdict))
                return 0
        select.select([], [], [], 0.5)


@contextmanager
def opened(kind: Kind, root: Path, settings: LoopSettings) -> Iterator[Loop]:
    """A loop in a new directory, with the server that it needs."""
    root.mkdir(parents=True, exist_ok=True)
    with kind.server(root) as address:
        yield prepared(kind, Place(root, address), settings)


def prepared(kind: Kind, place: Place, settings: LoopSettings) -> Loop:
    """A loop in a directory that is there, on a server that runs."""
    for module in ("pandas", *kind.modules):  # pyarrow asks for pandas at its first array
        import_module(module)  # once, not by every driver anew
    # clients have threads, which a process that forks must not have

    def prepare(_: object) -> int:
        kind.prepare(place)
        return DONE

    preparing = fork(prepare, str(place.root / "prepared.log"))
    assert preparing.ends(PATIENCE)
    assert preparing.code == DONE, (place.root / "prepared.log").read_text()
    os.environ |= {"ARROYO_NET_ALLOW": "127.0.0.1", "AWS_EC2_METADATA_DISABLED": "true"}
    spec = Spec(place.root, (kind.table(place),), settings.epoch_rows, settings.seed, place.name)
    return Loop(kind, place, settings, spec, random.Random(settings.seed))


def line_of(loop: Loop, verdict: Verdict) -> str:
    """What a loop has shown, in a line."""
    events = f"{committed(loop.spec.paths.checkpoint)} events"
    return f"{events}, {loop.kills} kills, {loop.zombies} zombies: {verdict}"
