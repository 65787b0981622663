"""Assignment of a driver, in a file that only its owner can read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator

from engine.jobs.decisions.spec import Upgrade
from engine.values.run_settings import RunSettings, read_run_settings, write_run_settings


def _read_settings(value: object) -> object:
    """Read the texts in the file; drivers of earlier versions have written them, too."""
    return read_run_settings(value) if isinstance(value, Mapping) else value


Settings: TypeAlias = Annotated[
    RunSettings, PlainValidator(_read_settings), PlainSerializer(write_run_settings, return_type=dict[str, str])
]
"""The settings of a run, which are texts by name in the file."""


class Assignment(BaseModel):
    """One run of one job, and how to report to the control plane."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    job_id: str
    pipeline_id: str
    generation: int
    key: str = Field(repr=False, description="The secret that this run shows in its reports.")
    server_file: Path = Field(description="Names the control plane's address; read again when it does not answer.")
    lock: Path
    state_dir: Path
    name: str
    query: str = Field(repr=False)
    udfs: tuple[str, ...] = Field(default=(), repr=False)
    connections: str = Field(default="", repr=False, description="CREATE CONNECTION statements it may use.")
    secrets: dict[str, str] = Field(
        default={}, repr=False, exclude=True, description="Handed over in the environment; they are in no file."
    )
    settings: Settings = RunSettings()
    parallelism: int = 1
    force: bool = False
    upgrade: Upgrade | None = None
    predecessors: tuple[str, ...] = Field(default=(), description="Pipelines that no longer write its targets.")
    checkpoint_interval_seconds: float | None = None
    heartbeat_seconds: float = 1.0
    lease_seconds: float = 600.0
    stuck_seconds: float = 60.0

    def write(self, path: Path) -> None:
        """Store the assignment, readable by this user only."""
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(self.model_dump_json())

    @staticmethod
    def read(path: Path) -> Assignment:
        """Read what `write` stored."""
        return Assignment.model_validate_json(path.read_text())
