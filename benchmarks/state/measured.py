"""What a run of a benchmark of state has measured, as it is kept in a file of JSON."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.nexmark.measured import describe_machine

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"


@dataclass(frozen=True, slots=True)
class Measured:
    """A run of one `kind`: what it was played with and on, and the figures of each of its cases."""

    kind: str
    date: str
    commit: str
    machine: Mapping[str, str]
    load: Sequence[float]
    """Of the last one, five and fifteen minutes, at the end."""
    settings: Mapping[str, float]
    cases: Mapping[str, Mapping[str, float]]

    @staticmethod
    def now(kind: str, settings: Mapping[str, float], cases: Mapping[str, Mapping[str, float]]) -> Measured:
        """What has just been measured here, with what is checked out."""
        command = ["git", "rev-parse", "--short", "HEAD"]
        commit = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()
        date, load = datetime.now(UTC).date().isoformat(), [round(load, 1) for load in os.getloadavg()]
        return Measured(kind, date, commit, describe_machine(), load, settings, cases)

    def save(self, folder: Path = RESULTS) -> Path:
        """Write it down; the file's name says when that was."""
        path = folder / f"state-{self.kind}-{datetime.now(UTC):%Y-%m-%d-%H%M}.json"
        path.write_text(json.dumps(asdict(self), indent=1) + "\n")
        return path


def read_measured(kind: str, folder: Path = RESULTS) -> Sequence[Measured]:
    """All runs of a kind, from the oldest to the newest."""
    return [Measured(**json.loads(path.read_text())) for path in sorted(folder.glob(f"state-{kind}-*.json"))]
