"""Everything that can be set, in one place.

Strongest first: the command line, the environment (`ARROYO__SECTION__KEY`), a TOML file, the default.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from engine.errors import SettingError

PREFIX = "ARROYO__"
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def _duration(value: object) -> object:
    """`500ms`, `10s`, `2m`, `1h` and plain seconds; anything else is left to pydantic."""
    if isinstance(value, str) and (length := re.fullmatch(r"\s*([0-9.]+)\s*(ms|s|m|h|d)?\s*", value)):
        return timedelta(seconds=float(length[1]) * _UNITS[length[2] or "s"])
    return value


def _command(value: object) -> object:
    """A command line as one text, taken apart as a shell would."""
    return tuple(shlex.split(value)) if isinstance(value, str) else value


Command: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_command)]
"""A command and its first arguments."""
Duration: TypeAlias = Annotated[timedelta, BeforeValidator(_duration)]
"""A length of time, written as `500ms`, `10s`, `2m` or `1h`."""


class Section(BaseModel):
    """A group of settings; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ApiSettings(Section):
    """How the control plane is reached."""

    host: str = Field(default="127.0.0.1", description="Address the control plane listens on.")
    port: int = Field(default=5115, ge=0, le=65535, description="Port it listens on; 0 takes any free one.")
    token: SecretStr | None = Field(default=None, description="Admin token; made at the first start when not given.")
    insecure: bool = Field(
        default=False, description="Let another address than loopback be used with the token made at first start."
    )
    allowed_hosts: tuple[str, ...] = Field(
        default=(), description="Further names that a request's Host header may have."
    )
    max_body_bytes: int = Field(default=2 * 1024 * 1024, description="Largest request body that is read.")
    max_query_bytes: int = Field(default=1024 * 1024, description="Longest SQL text that is accepted.")
    long_poll_max: Duration = Field(default=timedelta(seconds=55), description="Longest time a request may be held.")


class PipelineSettings(Section):
    """How jobs are started, watched, and started again."""

    allowed_restarts: int = Field(
        default=20, ge=-1, description="Failures in a row before a job is given up; -1 is no limit."
    )
    initial_backoff: Duration = Field(
        default=timedelta(milliseconds=500), description="Wait after the first failure; doubled each time."
    )
    max_backoff: Duration = Field(default=timedelta(minutes=1), description="Longest wait between two starts.")
    healthy_duration: Duration = Field(
        default=timedelta(minutes=2), description="A run this long forgets the failures before it."
    )
    heartbeat_interval: Duration = Field(default=timedelta(seconds=1), description="How often a driver calls home.")
    heartbeat_limit: Duration = Field(
        default=timedelta(seconds=30), description="A driver silent for this long is killed."
    )
    start_limit: Duration = Field(
        default=timedelta(minutes=5), description="A driver must be running within this time."
    )
    stop_grace: Duration = Field(
        default=timedelta(minutes=2), description="A driver asked to stop is killed after this time."
    )
    driver_command: Command = Field(default=(), description="What starts a driver, when not this engine's own.")
    lease: Duration = Field(
        default=timedelta(minutes=10), description="A driver that cannot call home for this long ends itself."
    )


class Settings(Section):
    """All settings of the control plane."""

    data_dir: Path = Field(
        default=Path("~/.local/share/arroyo"), description="Where the control plane keeps everything."
    )
    connections: Path | None = Field(
        default=None, description="A file of CREATE CONNECTION statements that every pipeline may use."
    )
    literal_secrets: bool = Field(
        default=False, description="Take scripts that hold secrets as they are; they are kept and shown so."
    )
    api: ApiSettings = Field(default=ApiSettings(), description="How the control plane is reached.")
    pipeline: PipelineSettings = Field(default=PipelineSettings(), description="How jobs are started and watched.")


def load(
    environ: Mapping[str, str], file: Path | None = None, overrides: Mapping[str, object] | None = None
) -> Settings:
    """Read the settings; `overrides` holds dotted names from the command line and wins over all else."""
    values: dict[str, object] = {}
    if file is not None:
        values = tomllib.loads(file.read_text())
    if home := environ.get("ARROYO_HOME"):
        values["data_dir"] = home
    for name, text in environ.items():
        if name.startswith(PREFIX):
            _put(values, name.removeprefix(PREFIX).lower().split("__"), text)
    for name, value in (overrides or {}).items():
        _put(values, name.split("."), value)
    try:
        settings = Settings.model_validate(values)
    except ValidationError as refused:
        first = refused.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise SettingError(f"{name}: {first['msg']}", hint="`arroyo serve --help` names the settings") from refused
    return settings.model_copy(update={"data_dir": settings.data_dir.expanduser().absolute()})


def read_connections_file(path: Path | None) -> str:
    """The text of the file of connections; none is none."""
    try:
        return "" if path is None else path.expanduser().read_text()
    except (OSError, UnicodeDecodeError) as wrong:
        raise SettingError(
            f"the file of connections, {path}, cannot be read: {wrong}", hint="is its path right?"
        ) from wrong


def _put(values: dict[str, object], path: list[str], value: object) -> None:
    """Set one value in nested tables, making the tables on the way."""
    for step in path[:-1]:
        inner = values.setdefault(step, {})
        if not isinstance(inner, dict):
            raise SettingError(f"{step} is a value, not a section")
        values = inner
    values[path[-1]] = value
