"""Where the control plane keeps what, below its data directory. Every name is one we made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.jobs.disk.ids import is_id


@dataclass(frozen=True, slots=True)
class DataDirectory:
    """Paths below one data directory; asking for one makes nothing."""

    root: Path

    @property
    def database(self) -> Path:
        """The records."""
        return self.root / "arroyo.db"

    @property
    def lock(self) -> Path:
        """Held by the one control plane that works here."""
        return self.root / "server.lock"

    @property
    def server(self) -> Path:
        """Return the file with the address of the running control plane."""
        return self.root / "server.json"

    @property
    def token(self) -> Path:
        """The admin token, readable by its owner alone."""
        return self.root / "token"

    @property
    def secrets_key(self) -> Path:
        """Return the file with the key that encrypts the secrets of pipelines; only its owner can read it."""
        return self.root / "secrets.key"

    @property
    def folder(self) -> Path:
        """Says in which directory the first control plane stood that looked after the pipelines that are here."""
        return self.root / "folder"

    @property
    def backups(self) -> Path:
        """Copies of the control plane from before its database was changed for a newer version."""
        return self.root / "backups"

    @property
    def spares(self) -> Path:
        """Return the folder of spare drivers' files, a directory each."""
        return self.root / "spares"

    @property
    def hosts(self) -> Path:
        """Return the folder of the shared JVMs, a directory each."""
        return self.root / "hosts"

    @property
    def forks_log(self) -> Path:
        """Return the log of the process that forks drivers."""
        return self.root / "forks.log"

    @property
    def drills(self) -> Path:
        """Scratch space of the drill that is being played."""
        return self.root / "drills"

    @property
    def rehearsals(self) -> Path:
        """Return the folder of running rehearsals, a directory each."""
        return self.root / "rehearsals"

    def rehearsal(self, rehearsal_id: str) -> Path:
        """Return the work directory of one rehearsal; it is deleted when that has ended."""
        if not is_id(rehearsal_id, "reh"):
            raise ValueError(f"{rehearsal_id!r} is not a rehearsal id")
        return self.rehearsals / rehearsal_id

    def state(self, pipeline_id: str) -> Path:
        """A pipeline's state directory."""
        return self.root / "state" / _checked(pipeline_id)

    @property
    def has_pipelines(self) -> bool:
        """Whether there is state of a pipeline."""
        states = self.root / "state"
        return states.is_dir() and any(is_id(entry.name, "pl") for entry in states.iterdir())

    def has_state(self, pipeline_id: str) -> bool:
        """Whether a pipeline has committed an epoch."""
        commits = self.state(pipeline_id) / "checkpoint" / "commits"
        return commits.is_dir() and any(entry.name.isdigit() for entry in commits.iterdir())

    def savepoint(self, pipeline_id: str, savepoint_id: str) -> Path:
        """A savepoint of a pipeline."""
        if not is_id(savepoint_id, "sp"):
            raise ValueError(f"{savepoint_id!r} is not a savepoint id")
        return self.state(pipeline_id) / "savepoints" / savepoint_id

    def runs(self, pipeline_id: str) -> Path:
        """Return the folder of a pipeline's processes: assignments, logs, the lock."""
        return self.root / "runs" / _checked(pipeline_id)

    def driver_lock(self, pipeline_id: str) -> Path:
        """Held by the one process that works on a pipeline's state."""
        return self.runs(pipeline_id) / "lock"

    def assignment(self, pipeline_id: str, generation: int) -> Path:
        """Return the assignment file of one run."""
        return self.runs(pipeline_id) / f"{generation:06}.json"

    def log(self, pipeline_id: str, generation: int) -> Path:
        """Return the log of one run."""
        return self.runs(pipeline_id) / f"{generation:06}.log"

    def mark(self, pipeline_id: str, generation: int) -> Path:
        """Return the file with the mark that the processes of one run have in their environment, if it is not the run's
        own name."""
        return self.runs(pipeline_id) / f"{generation:06}.mark"

    def maintenance_log(self, pipeline_id: str) -> Path:
        """Return the log of maintenance between runs."""
        return self.runs(pipeline_id) / "chore.log"

    def maintenance_result(self, pipeline_id: str) -> Path:
        """Why work between runs has failed, in its own words."""
        return self.runs(pipeline_id) / "chore.json"


def _checked(pipeline_id: str) -> str:
    """The id, which must be one of ours."""
    if not is_id(pipeline_id, "pl"):
        raise ValueError(f"{pipeline_id!r} is not a pipeline id")
    return pipeline_id
