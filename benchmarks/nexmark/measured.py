"""What a run of the benchmark has measured, as it is kept in a file of JSON."""

from __future__ import annotations

import json
import math
import os
import platform
import re
import statistics
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

OURS = ("ours", "fused")
"""The engine, with `fuse` off and on."""
PEERS = (*OURS, "spark", "flink", "duckdb")


@dataclass(frozen=True, slots=True)
class Play:
    """One play of a query: CPU seconds of all processes and by kind of process, seconds, the most memory that was held,
    how many epochs there were, and what time they spent in which phase."""

    cpu: float
    wall: float
    megabytes: float
    epochs: int = 0
    by_kind: Mapping[str, float] = field(default_factory=dict)
    phases: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Result:
    """A run: what it was played with and on, and the plays of each round by query and peer. `refused` says why a peer
    has no times of a query: it does not play it, or its answer was wrong."""

    date: str
    commit: str
    machine: Mapping[str, str]
    load: Sequence[float]
    events: int
    epochs: int
    rounds: int
    layout: str
    plays: Mapping[str, Mapping[str, Sequence[Play]]]
    refused: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    rows: Mapping[str, int] = field(default_factory=dict)

    def cpu(self, query: str, peer: str) -> float | None:
        """The median of the CPU seconds, if the peer has played the query."""
        return self.median(query, peer, "cpu")

    def median(self, query: str, peer: str, figure: str) -> float | None:
        """The median of a figure of the plays."""
        plays = self.plays.get(query, {}).get(peer)
        return float(statistics.median(getattr(play, figure) for play in plays)) if plays else None

    def ratio(self, query: str, peer: str, other: str, figure: str = "cpu") -> float | None:
        """The median of the ratios of the rounds, each of two plays one after the other."""
        pair = [self.plays.get(query, {}).get(name) for name in (peer, other)]
        if not pair[0] or not pair[1]:
            return None
        both = zip(pair[0], pair[1], strict=True)
        return statistics.median(float(getattr(play, figure) / getattr(beside, figure)) for play, beside in both)

    def save(self, path: Path) -> None:
        """Write it down."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(_rounded(asdict(self)), indent=1) + "\n")

    @staticmethod
    def load_from(path: Path) -> Result:
        """One that was written down."""
        content = json.loads(path.read_text())
        plays = {
            query: {peer: [Play(**play) for play in rounds] for peer, rounds in peers.items()}
            for query, peers in content.pop("plays").items()
        }
        return Result(**content, plays=plays)


def geometric_mean(ratios: Iterable[float]) -> float:
    """What ratios come to in the middle."""
    return math.exp(statistics.fmean(map(math.log, ratios)))


def describe_machine() -> Mapping[str, str]:
    """What there is to know of the machine, without its name."""
    cpus = re.findall(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
    kilobytes = re.findall(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())
    java = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    return {
        "processor": cpus[0] if cpus else platform.machine(),
        "cores": str(os.cpu_count()),
        "memory": f"{int(kilobytes[0]) / 2**20:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "java": next(iter(re.findall(r'version "([^"]+)"', java)), "none"),
    }


def _rounded(value: object) -> object:
    match value:
        case float():
            return round(value, 3)
        case dict():
            return {key: _rounded(member) for key, member in value.items()}
        case list() | tuple():
            return [_rounded(member) for member in value]
    return value
