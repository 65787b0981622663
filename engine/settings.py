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
from typing import Annotated, Self, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError, model_validator

from engine.errors import SettingError, message_of

PREFIX = "ARROYO__"
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def _duration(value: object) -> object:
    """Parse `500ms`, `10s`, `2m`, `1h` and plain seconds; leave anything else to pydantic."""
    if isinstance(value, str) and (length := re.fullmatch(r"\s*([0-9.]+)\s*(ms|s|m|h|d)?\s*", value)):
        return timedelta(seconds=float(length[1]) * _UNITS[length[2] or "s"])
    return value


def _command(value: object) -> object:
    """Return a command line as one text, taken apart as a shell would."""
    return tuple(shlex.split(value)) if isinstance(value, str) else value


def _names(value: object) -> object:
    """Return names with commas between them."""
    return tuple(name.strip() for name in value.split(",") if name.strip()) if isinstance(value, str) else value


Command: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_command)]
"""A command and its first arguments."""
Names: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_names)]
"""Some names, written as one text with commas between them, or as a list."""
Duration: TypeAlias = Annotated[timedelta, BeforeValidator(_duration)]
"""A length of time, written as `500ms`, `10s`, `2m` or `1h`."""


class Section(BaseModel):
    """A group of settings; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ApiSettings(Section):
    """Address and access of the control plane."""

    host: str = Field(default="127.0.0.1", description="The address that the control plane listens on.")
    port: int = Field(default=5115, ge=0, le=65535, description="The port that it listens on; 0 takes a free one.")
    token: SecretStr | None = Field(
        default=None, description="The admin token; by default one is made at the first start."
    )
    insecure: bool = Field(
        default=False,
        description="Whether it may listen on an address that others can reach with the token made at the first start.",
    )
    allowed_hosts: tuple[str, ...] = Field(default=(), description="Further host names that requests may be sent to.")
    open_metrics: bool = Field(default=False, description="Whether `/metrics` is shown to those without a token, too.")
    max_body_bytes: int = Field(default=2 * 1024 * 1024, description="The longest request body that is accepted.")
    max_query_bytes: int = Field(default=1024 * 1024, description="The longest SQL text that is accepted.")
    long_poll_max: Duration = Field(
        default=timedelta(seconds=55), description="The longest time that a request is held."
    )


class TraceSettings(Section):
    """Receiver of traces."""

    endpoint: str | None = Field(
        default=None,
        pattern=r"^https?://",
        description="The base address of a collector that takes traces of OpenTelemetry over HTTP, such as "
        "`http://localhost:4318`; by default that of `OTEL_EXPORTER_OTLP_ENDPOINT`, and without either there are none.",
    )


class OpenLineageSettings(Section):
    """Receiver of OpenLineage events. Without `url` and `file` there are none."""

    url: str | None = Field(
        default=None,
        pattern=r"^https?://[^@]+$",
        description="The base address of an API of OpenLineage that takes events, such as `http://localhost:5000`.",
    )
    endpoint: str = Field(default="api/v1/lineage", description="The path below it that events are posted to.")
    api_key: SecretStr | None = Field(default=None, description="What is sent along as a bearer token.")
    file: Path | None = Field(default=None, description="A file that gets an event a line, instead of an API.")
    namespace: str = Field(
        default="arroyo", min_length=1, max_length=500, description="The namespace of the jobs, which pipelines are."
    )
    interval: Duration = Field(
        default=timedelta(minutes=5), description="The interval of progress events of a running run."
    )

    @model_validator(mode="after")
    def _has_one_place(self) -> Self:
        if self.url is not None and self.file is not None:
            raise ValueError("events go to `url` or to `file`, not to both")
        return self


class PipelineSettings(Section):
    """Start, monitoring and restart of jobs."""

    allowed_restarts: int = Field(
        default=20,
        ge=-1,
        description="How many failures of unknown cause a job survives, in a row or within `restart_window`; -1 is no "
        "limit. Outages do not count.",
    )
    restart_window: Duration = Field(
        default=timedelta(hours=1),
        description="For how long a failure of unknown cause counts, also where the job was healthy after it.",
    )
    initial_backoff: Duration = Field(
        default=timedelta(milliseconds=500),
        description="The pause after the first failure; each further failure doubles it.",
    )
    max_backoff: Duration = Field(default=timedelta(minutes=1), description="The longest pause between two starts.")
    healthy_duration: Duration = Field(
        default=timedelta(minutes=2), description="How long a run must last for the failures before it to be forgotten."
    )
    heartbeat_interval: Duration = Field(
        default=timedelta(seconds=1), description="How often a driver reports to the control plane."
    )
    heartbeat_limit: Duration = Field(
        default=timedelta(seconds=30), description="How long a driver may be silent before it is killed."
    )
    stuck_limit: Duration = Field(
        default=timedelta(seconds=60),
        description="How long the work of a driver may make no progress before it is killed.",
    )
    start_limit: Duration = Field(
        default=timedelta(minutes=5),
        description="How long a driver's start may stay at one step, and how long a restore or a rescale may "
        "make no progress; in all it may take six times that, and a second for each MiB.",
    )
    stop_grace: Duration = Field(
        default=timedelta(minutes=2),
        description="How long a driver may take to stop before it is killed; with the mode `graceful`, how long its "
        "work may make no progress meanwhile.",
    )
    drain_limit: Duration = Field(
        default=timedelta(minutes=30),
        description="How long a driver may take in all to stop with the mode `graceful` before it is killed.",
    )
    driver_command: Command = Field(
        default=(), description="The command that starts a driver; by default the engine's own."
    )
    driver_environment: Names = Field(
        default=(),
        description="Further environment variables that drivers inherit, separated by commas; `NAME_*` stands for all "
        "that begin so.",
    )
    spare_drivers: int = Field(
        default=1,
        ge=0,
        le=16,
        description="How many drivers are kept ready with Java and Spark up, so that a pipeline starts in seconds. "
        "Each takes about 1 GiB, and none is started while less than 3 GiB are free. Pipelines with a parallelism, "
        "memory or master of their own start without.",
    )
    lease: Duration = Field(
        default=timedelta(minutes=10), description="How long a driver goes on without an answer from the control plane."
    )


class RehearsalSettings(Section):
    """Execution and limits of rehearsals."""

    at_once: int = Field(
        default=1, ge=1, le=16, description="How many are played at the same time; the others wait for their turn."
    )
    limit: Duration = Field(default=timedelta(hours=1), description="How long one may take before it is ended.")
    free_bytes: int = Field(
        default=1024**3,
        ge=0,
        description="So much room on the disk is left to the pipelines: none is begun that would take of it, and one "
        "is ended that has taken half of it.",
    )
    kept: int = Field(default=50, ge=1, description="How many ended rehearsals of a pipeline stay in the list.")


class PreviewSettings(Section):
    """Limits of previews."""

    at_once: int = Field(
        default=4,
        ge=1,
        le=64,
        description="How many run at the same time; each has a driver of its own. A further one is refused.",
    )


class SweepSettings(Section):
    """Retention of old data, and the interval of its removal."""

    interval: Duration = Field(
        default=timedelta(hours=1), description="How often is looked for what may go; also at every start."
    )
    kept_runs: int = Field(
        default=10, ge=1, description="How many runs of a pipeline keep their logs and assignments, whatever their age."
    )
    files_for: Duration = Field(
        default=timedelta(days=7), description="How long the logs and assignments of older runs are kept."
    )
    kept_events: int = Field(
        default=1000, ge=0, description="How many events of a pipeline are kept, whatever their age."
    )
    history_for: Duration = Field(
        default=timedelta(days=90),
        description="How long older events are kept, certificates of gates, acknowledged deliveries of partitions, and "
        "records of runs that were never up.",
    )


class Settings(Section):
    """All settings of the control plane."""

    data_dir: Path = Field(
        default=Path("~/.local/share/arroyo"), description="The directory in which the control plane keeps everything."
    )
    connections: Path | None = Field(
        default=None, description="A file of CREATE CONNECTION statements that every pipeline may use."
    )
    kept_backups: int = Field(
        default=5,
        ge=1,
        description="How many copies of the control plane are kept of those made before its database is changed for a "
        "newer version.",
    )
    literal_secrets: bool = Field(
        default=False, description="Whether scripts may hold secrets as plain text, which are then kept and shown."
    )
    api: ApiSettings = Field(default=ApiSettings(), description="How the control plane is reached.")
    traces: TraceSettings = Field(default=TraceSettings(), description="Where traces go.")
    openlineage: OpenLineageSettings = Field(
        default=OpenLineageSettings(), description="The endpoint for OpenLineage events of pipeline runs."
    )
    pipeline: PipelineSettings = Field(default=PipelineSettings(), description="How jobs are started and watched.")
    rehearsal: RehearsalSettings = Field(default=RehearsalSettings(), description="How rehearsals are played.")
    preview: PreviewSettings = Field(default=PreviewSettings(), description="What previews of scripts may take.")
    sweep: SweepSettings = Field(default=SweepSettings(), description="What of the past is kept.")


def load(
    environ: Mapping[str, str], file: Path | None = None, overrides: Mapping[str, object] | None = None
) -> Settings:
    """Read the settings; `overrides` holds dotted names from the command line and wins over all else."""
    values: dict[str, object] = {}
    if file is not None:
        values = _read_file(file)
    if home := environ.get("ARROYO_HOME"):
        values["data_dir"] = home
    for name, text in environ.items():
        if name.startswith(PREFIX):
            _put(values, name.removeprefix(PREFIX).lower().split("__"), text)
    for name, value in (overrides or {}).items():
        _put(values, name.split("."), value)
    try:
        settings = Settings.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise SettingError(f"{name}: {first['msg']}", hint="docs/reference/settings.md lists the settings") from error
    return settings.model_copy(update={"data_dir": settings.data_dir.expanduser().absolute()})


def _read_file(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text())
    except OSError as error:
        reason = error.strerror or message_of(error)
    except UnicodeDecodeError:
        reason = "it is not UTF-8 text"
    except ValueError as error:
        reason = message_of(error)
    raise SettingError(f"the file of settings {path} cannot be read: {reason}", hint="settings are written as TOML")


def read_connections_file(path: Path | None) -> str:
    """Return the text of the file of connections; none is none."""
    try:
        return "" if path is None else path.expanduser().read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(
            f"the file of connections {path} cannot be read: {message_of(error)}", hint="check its path"
        ) from error


def _put(values: dict[str, object], path: list[str], value: object) -> None:
    """Set one value in nested tables, making the tables on the way."""
    for step in path[:-1]:
        inner = values.setdefault(step, {})
        if not isinstance(inner, dict):
            raise SettingError(f"{step!r} is a setting, not a section of settings")
        values = inner
    values[path[-1]] = value
