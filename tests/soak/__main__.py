"""`python -m tests.soak`: pipelines of all shapes, disturbed for two hours; what has grown, and what is wrong."""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.cli.base import RefusedError
from engine.errors import UnreachableError
from engine.jobs.processes import processes
from tests.soak.growth import Growth, Sample, growths
from tests.soak.measure import measure
from tests.soak.pipelines import SHAPES, Shape, read_rows
from tests.system.conftest import Served

PATIENCE = 600.0


@dataclass
class Soak:
    """One control plane, and what happens to it."""

    served: Served
    outputs: Path
    chance: random.Random
    rate: int
    samples: list[Sample] = field(default_factory=list)

    def deploy(self) -> None:
        """Start all pipelines, one after the other: five Javas that start at once only wait for each other."""
        for shape in SHAPES:
            body: Any = {"query": shape.script(self._output(shape), self.rate), "checkpoint_interval_micros": 5_000_000}
            self.served.client.send("PUT", f"/pipelines/by-name/{shape.name}", body)
            self._wait_for_epoch(shape.name)

    def disturb(self) -> str:
        """Do something to somebody, and wait until all is well again; what it was."""
        shape = self.chance.choice(SHAPES)
        deed = self.chance.choice(
            [self._kill_driver, self._kill_java, self._kill_server, self._restart, self._stop_and_start, self._save]
        )
        deed(shape.name)
        self._wait_for_epoch(shape.name)
        return f"{deed.__name__[1:]} {shape.name}"

    def sample(self, second: float) -> None:
        """Measure everything now."""
        server = self.served.process
        if server is None:
            return
        runs = [self._mark(shape.name) for shape in SHAPES]
        self.samples.append(Sample(second, measure(server.pid, runs, self.served.data_dir)))
        with (self.outputs / "samples.jsonl").open("a") as lines:  # for whoever cannot wait for the end
            lines.write(
                json.dumps(
                    {"second": second, **{name: figure for (name, _), figure in self.samples[-1].figures.items()}}
                )
                + "\n"
            )

    def finish(self) -> list[str]:
        """Stop all pipelines with a checkpoint; what is wrong with their output."""
        for shape in SHAPES:
            self.served.patch(shape.name, stop="checkpoint")
        for shape in SHAPES:
            self.served.until(shape.name, within=PATIENCE, state="Stopped")
        complaints = [(shape.name, shape.complain(read_rows(self._output(shape)))) for shape in SHAPES]
        return [f"{name}: {complaint}" for name, complaint in complaints if complaint is not None]

    def _output(self, shape: Shape) -> Path:
        return self.outputs / f"{shape.name}.json"

    def _mark(self, name: str) -> str:
        job = self.served.job(name)
        return f"{job['id']}/{job['run_id']}"

    def _wait_for_epoch(self, name: str) -> None:
        """Wait for a new epoch of a run that goes on."""
        before = self.served.job(name)["epoch"] or 0
        self.served.until_epoch(before + 1, name, PATIENCE)
        self.served.until(name, within=PATIENCE, state="Running")

    def _kill_driver(self, name: str) -> None:
        os.kill(self.served.holder(name)["pid"], signal.SIGKILL)

    def _kill_java(self, name: str) -> None:
        for pid in processes.marked(self._mark(name)):
            if (Path("/proc") / str(pid) / "comm").read_bytes().strip() == b"java":
                os.kill(pid, signal.SIGKILL)

    def _kill_server(self, _: str) -> None:
        self.served.end(signal.SIGKILL)
        self.served.start()

    def _restart(self, name: str) -> None:
        self.served.client.send("POST", f"/pipelines/{name}/restart", {})

    def _stop_and_start(self, name: str) -> None:
        self.served.patch(name, stop="checkpoint")
        self.served.until(name, within=PATIENCE, state="Stopped")
        self.served.patch(name, stop="none")

    def _save(self, name: str) -> None:
        self.served.client.send("POST", f"/pipelines/{name}/savepoints", {"label": "soak"})


def run(soak: Soak, minutes: float, pause: float, tell: Callable[[str], None]) -> None:
    """Disturb and measure for so long; measuring goes on while somebody recovers."""
    begun = time.monotonic()
    next_deed, deed = begun + pause, None
    with ThreadPoolExecutor(1) as hand:
        while (now := time.monotonic()) < begun + minutes * 60:
            if deed is None and now >= next_deed:
                deed = hand.submit(soak.disturb)
            elif deed is not None and deed.done():
                tell(f"{(now - begun) / 60:6.1f} min: {deed.result()}")
                next_deed, deed = now + pause * soak.chance.uniform(0.5, 1.5), None
            with suppress(OSError, LookupError, RefusedError, UnreachableError):  # the control plane is away as well
                soak.sample(now - begun)
            time.sleep(10)


def line_of(growth: Growth) -> str:
    """A row of the table."""
    verdict = "  TOO MUCH" if growth.is_too_much else ""
    return f"{growth.subject:24} {growth.then:10.1f} {growth.now:10.1f} {growth.unit:8} {growth.share:+7.1%}{verdict}"


def tell(line: str) -> None:
    """Say it where it is seen at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Run one soak."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=120.0)
    parser.add_argument("--settled", type=float, help="minutes after which nothing may grow; by default a quarter")
    parser.add_argument("--pause", type=float, default=4.0, help="minutes between disturbances")
    parser.add_argument("--rate", type=int, default=100, help="rows per second of each pipeline")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--root", type=Path, help="where to work")
    options = parser.parse_args()
    root = options.root or Path(tempfile.mkdtemp(prefix="soak-"))
    settled = options.minutes / 4 if options.settled is None else options.settled
    (root / "data").mkdir(parents=True)
    (root / "out").mkdir()
    patient = {"HEARTBEAT_INTERVAL": "500ms", "HEARTBEAT_LIMIT": "60s"}
    soak = Soak(
        Served(root / "data", patient, driver=None).start(), root / "out", random.Random(options.seed), options.rate
    )
    try:
        soak.deploy()
        run(soak, options.minutes, options.pause * 60, tell)
        complaints = soak.finish()
    finally:
        soak.served.close()
    found = growths(soak.samples, settled * 60, options.minutes * 60 / 12)
    tell("\n".join(["", *map(line_of, found), *complaints, f"what was left is in {root}"]))
    return 1 if complaints or any(growth.is_too_much for growth in found) else 0


if __name__ == "__main__":
    raise SystemExit(main())
