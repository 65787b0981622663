"""Description of a moving pipeline for its target; its state is copied through a location."""

from __future__ import annotations

import hashlib
from datetime import timedelta

from pydantic import Field

from engine.api.http.bodies import Body, Tags
from engine.api.pipelines.deployments import Name
from engine.jobs.decisions.spec import Spec


def lock_of(key: str) -> str:
    """Return a digest of a key, which does not reveal it."""
    return hashlib.sha256(key.encode()).hexdigest()


class Passport(Body):
    """A pipeline at its export, without its secrets."""

    move: str = Field(min_length=1, max_length=64, description="The id of the move.")
    pipeline_id: str = Field(description="Its id, which it keeps: by that its targets know their owner.")
    name: Name = Field(description="What it is called, here and there.")
    version: int = Field(ge=1, description="The number of its version.")
    parallelism: int = Field(ge=1, le=1024, description="How many tasks run in parallel.")
    query: str = Field(min_length=1, description="The SQL text.")
    udfs: tuple[str, ...] = Field(default=(), description="The files of its Python functions.")
    settings: dict[str, str] = Field(default={}, description="The settings of its runs.")
    checkpoint_interval_micros: int | None = Field(default=None, description="The least time between epochs.")
    fingerprint: str = Field(description="What its state is bound to.")
    tags: Tags = Field(default={}, description="Its labels.")
    secrets: tuple[str, ...] = Field(default=(), description="The names of the secrets that its script names.")
    runs: bool = Field(description="Whether it is to run there.")
    lock: str = Field(max_length=64, description="The digest of the key with which it may be started there.")
    generation: int = Field(ge=0, description="The number of its newest run.")
    committed: int | None = Field(default=None, description="The newest epoch that its state has committed.")
    planned: int | None = Field(default=None, description="The newest epoch that its state has planned.")

    @property
    def spec(self) -> Spec:
        """Return the version's content."""
        micros = self.checkpoint_interval_micros
        interval = None if micros is None else timedelta(microseconds=micros)
        return Spec(self.query, self.udfs, self.settings, interval)
