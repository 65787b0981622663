"""A rehearsal as the control plane has it played: what is rehearsed, and what the process is told that plays it.

rehearsals/reh_1/    order.json      what is to be played
process.json    who plays it
step            what that is at
log             what it has printed
work/           the copies of the state, and the rows
result.json     what came of it; written once, at the end
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field


@dataclass(frozen=True, slots=True)
class RehearsedChange:
    """A new query in the place of the one that runs. `udfs` are the texts of its files of functions, `old_udfs` those
    of the one that runs; of `settings` memory and start_from count. So many `examples` of rows are shown."""

    query: str
    udfs: tuple[str, ...] = ()
    old_udfs: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    keep_state: tuple[str, ...] = ()
    reset: tuple[str, ...] = ()
    hold_back: tuple[str, ...] = ()
    examples: int = 10


@dataclass(frozen=True, slots=True)
class RehearsalLimits:
    """How many rehearsals are played at once, how long one may take, so many bytes that it leaves free, and how many of
    a pipeline are listed that are over."""

    at_once: int = 1
    limit: timedelta = timedelta(hours=1)
    free_bytes: int = 1024**3
    kept: int = 50


class RehearsalOrder(BaseModel):
    """What a process is to play, as a file that only its owner can read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    change: RehearsedChange = Field(repr=False)
    state_dir: Path
    savepoint: Path | None = Field(description="Played from there; without one from the newest epoch of the state.")
    connections: str = Field(default="", repr=False)
    limit_seconds: float = Field(description="After so long the process ends, also without a control plane.")

    def write(self, folder: Path) -> Path:
        """Store it in the new folder of the rehearsal, for the eyes of this user only."""
        folder.mkdir(mode=0o700, parents=True)
        path = folder / "order.json"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(self.model_dump_json())
        return path

    @staticmethod
    def read(path: Path) -> RehearsalOrder:
        """Read what `write` stored."""
        return RehearsalOrder.model_validate_json(path.read_text())


@dataclass(frozen=True, slots=True)
class RehearsalFolder:
    """The files of a rehearsal that is being played."""

    root: Path

    @property
    def process(self) -> Path:
        """Names the process that plays it."""
        return self.root / "process.json"

    @property
    def step(self) -> Path:
        """Says what that is at."""
        return self.root / "step"

    @property
    def log(self) -> Path:
        """Return the log file."""
        return self.root / "log"

    @property
    def work(self) -> Path:
        """Return the folder with copies of the state, and the rows."""
        return self.root / "work"

    @property
    def result(self) -> Path:
        """Return the result file."""
        return self.root / "result.json"

    def read_step(self) -> str | None:
        """Return the current step, if it was recorded."""
        try:
            return self.step.read_text() or None
        except (OSError, ValueError):
            return None
