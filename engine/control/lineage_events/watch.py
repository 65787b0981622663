"""Emit OpenLineage events about the runs of all pipelines, on a thread of its own, so that jobs never wait for it. The
receivers are an OpenLineage API, or a file with an event per line.

Events are derived from the store one at a time, and recorded once they are accepted. So an unreachable receiver, or a
killed control plane, loses no event and fills no queue.
"""

from __future__ import annotations

import logging
import os
import random
import threading
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Protocol

import httpx
from sqlalchemy import Connection

from engine.control.context import Context
from engine.control.limited_time import LimitedTransport
from engine.control.lineage_events.events import EventMaker, Seen, Telling, next_telling
from engine.errors import EngineError, LineageEventRefusedError, LineageUnreachableError, PipelineNotFoundError
from engine.jobs.decisions.partitions import Chance, pause
from engine.jobs.decisions.totals import EmittedRun
from engine.settings import OpenLineageSettings
from engine.store import columns, openlineage
from engine.store.jobs import jobs, runs
from engine.store.jobs.records import read_record
from engine.store.partitions import certificates
from engine.store.pipelines import previews

LOG = logging.getLogger(__name__)
_REST = timedelta(minutes=1)
"""Pause after a failure with a pipeline."""
_AT_ONCE = 100
"""Largest number of certificates in one event."""


@dataclass(slots=True)
class LineageWatch:
    """Emits the events of all pipelines."""

    context: Context
    sender: Sender
    maker: EventMaker
    interval: timedelta
    look_every: timedelta = timedelta(seconds=1)
    chance: Chance = random.random
    _due: dict[str, datetime | None] = field(default_factory=dict)
    """Pipelines that may have an event, and when; None means now."""
    _stages: dict[str, tuple[str, int]] = field(default_factory=dict)
    """State of each job, and the number of its run, at its newest change."""
    _read_until: int = -1
    _certificates_until: int = -1
    _failures: int = 0
    _again: datetime | None = None
    """Time of the next attempt after a failure."""
    _is_over: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Emit events periodically until closed."""
        while not self._is_over.is_set():
            try:
                self.look()
            except Exception:
                LOG.exception("an error ended this check of OpenLineage events; the next one tries again")
            self._is_over.wait(self.look_every.total_seconds())
        self.sender.close()

    def close(self) -> None:
        """Make `run` return."""
        self._is_over.set()

    def look(self) -> None:
        """Emit all events that are due, until one cannot be sent."""
        self._notice()
        now = self.context.clock()
        if self._again is not None and now < self._again <= now + timedelta(minutes=5):
            return
        for pipeline_id in [each for each, at in self._due.items() if at is None or at <= now]:
            self._due[pipeline_id] = None
            while not self._is_over.is_set():
                try:
                    if self._step(pipeline_id):
                        break
                except LineageUnreachableError as error:
                    self._fail(error)
                    return
                except Exception:
                    LOG.exception("an error stops the OpenLineage events of %s; they are tried again", pipeline_id)
                    self._due[pipeline_id] = now + _REST
                    break

    def _notice(self) -> None:
        """Record which pipelines have news."""
        with self.context.database.reading() as connection:
            if self._read_until < 0:
                self._due |= dict.fromkeys(openlineage.left(connection))
            news = columns.since(connection, self._read_until)
            stages = jobs.stages(connection, [change.pipeline_id for change in news])
            for change in news:
                stage, self._read_until = stages.get(change.pipeline_id), change.number
                if self._stages.get(change.pipeline_id, ()) != stage:
                    self._due[change.pipeline_id] = None
                else:  # another epoch, which is reported later
                    self._due.setdefault(change.pipeline_id, None)
                if stage is None:
                    self._stages.pop(change.pipeline_id, None)
                else:
                    self._stages[change.pipeline_id] = stage
            self._certificates_until, certified = certificates.given_since(connection, self._certificates_until)
            self._due |= dict.fromkeys(certified)

    def _step(self, pipeline_id: str) -> bool:
        """Emit one event of a pipeline; return whether nothing more is due."""
        with self.context.database.reading() as connection:
            told = openlineage.find_emitted_run(connection, pipeline_id) or _first(connection, pipeline_id)
            seen = Seen() if told is None else _seen(connection, told)
        if told is None:
            del self._due[pipeline_id]
            return True
        match next_telling(told, seen, self.context.clock(), self.interval):
            case Telling() as telling:
                self._write(told)  # so that it is known of even if it is gone before it can be told
                self._send(told, telling)
                self._write(telling.after, told)
                return telling.after is None
            case EmittedRun() as following:
                self._write(following)
                return False
            case None:
                del self._due[pipeline_id]
                return True
            case at:
                self._due[pipeline_id] = at
                return True

    def _send(self, told: EmittedRun, telling: Telling) -> None:
        event = self.maker.make(told, telling)
        try:
            self.sender.send(event.to_json())
        except LineageEventRefusedError as error:
            LOG.error("%s: %s of %s: %s", error.code, telling.kind, told.name, error.message)
        if self._failures > 0:
            LOG.info("OpenLineage gets events of runs again")
        self._failures, self._again = 0, None

    def _write(self, told: EmittedRun | None, before: EmittedRun | None = None) -> None:
        with self.context.database.writing() as connection:
            if told is not None:
                openlineage.put_emitted_run(connection, told)
            elif before is not None:
                openlineage.remove(connection, before)

    def _fail(self, error: EngineError) -> None:
        self._failures += 1
        self._again = self.context.clock() + pause(self._failures, self.chance)
        if self._failures == 1:
            LOG.warning("%s: OpenLineage gets no events now: %s; %s", error.code, error.message, error.hint)


def _first(connection: Connection, pipeline_id: str) -> EmittedRun | None:
    """Return the newest run of a pipeline without emitted events; earlier ones are history, and previews are
    internal."""
    if previews.among(connection, [pipeline_id]):
        return None
    try:
        record = read_record(connection, pipeline_id)
    except PipelineNotFoundError:
        return None
    run = runs.find(connection, record.status.job_id, record.status.generation)
    if run is None:
        return None
    return EmittedRun(
        run.job_id,
        pipeline_id,
        record.pipeline.name,
        run.generation,
        run.version,
        run.launched_at,
        certificate_at=run.launched_at,
    )


def _seen(connection: Connection, told: EmittedRun) -> Seen:
    try:
        record = read_record(connection, told.pipeline_id)
    except PipelineNotFoundError:
        return Seen()
    given = certificates.after(connection, told.pipeline_id, told.certificate_at, told.certificate, _AT_ONCE)
    return Seen(
        run=runs.find(connection, told.job_id, told.generation),
        next_run=runs.find_after(connection, told.job_id, told.generation),
        status=record.status,
        certificates=[
            (each, number, runs.of_epoch(connection, told.job_id, each.epoch, each.at)) for each, number in given
        ],
    )


_TIMEOUT = httpx.Timeout(10.0, connect=5.0)
_LIMIT = 20.0
"""Deadline of one event in seconds."""
_LATER = frozenset({401, 403, 404, 408, 429})
"""HTTP statuses after which the event is sent again, because the cause may be temporary or be fixed."""


class Sender(Protocol):
    """Sends events, each as JSON text."""

    def send(self, event: str) -> None:
        """Send an event. Raise LineageUnreachableError if it is to be sent again, and LineageEventRefusedError if it
        will never be accepted."""

    def close(self) -> None:
        """Release open resources."""


class HttpSender:
    """Posts events. Redirects are not followed, and no proxy or credentials are taken from the environment."""

    def __init__(self, settings: OpenLineageSettings, transport: httpx.BaseTransport | None = None) -> None:
        assert settings.url is not None
        self._url = f"{settings.url.rstrip('/')}/{settings.endpoint.lstrip('/')}"
        self._key = settings.api_key
        self._http = httpx.Client(
            timeout=_TIMEOUT,
            follow_redirects=False,
            trust_env=False,
            transport=transport or LimitedTransport(self._url, _LIMIT),
        )

    def send(self, event: str) -> None:
        """Post an event."""
        headers = {"content-type": "application/json"}
        if self._key is not None:
            headers["authorization"] = f"Bearer {self._key.get_secret_value()}"
        try:
            with self._http.stream("POST", self._url, content=event, headers=headers) as answer:
                status = answer.status_code  # what else it says is of no use here
        except httpx.HTTPError as error:
            raise LineageUnreachableError(
                f"{self._url} does not answer: {type(error).__name__} {error}".rstrip(),
                hint="see the setting openlineage.url, and that there is an API of OpenLineage",
            ) from error
        if httpx.codes.is_success(status):
            return
        if status >= 500 or status in _LATER or httpx.codes.is_redirect(status):
            raise LineageUnreachableError(
                f"{self._url} answers {status}", hint="see the settings openlineage.url, endpoint and api_key"
            )
        raise LineageEventRefusedError(f"{self._url} answers {status} to an event, which is left out")

    def close(self) -> None:
        """Close the connection."""
        self._http.close()


class FileSender:
    """Appends events to a file."""

    def __init__(self, path: Path) -> None:
        self._path = path.expanduser()

    def send(self, event: str) -> None:
        """Append an event. An incomplete line, such as after a full disk, stays, and a new one begins."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a+b") as file:
                if file.tell() > 0:
                    file.seek(-1, os.SEEK_END)
                    is_whole = file.read(1) == b"\n"
                else:
                    is_whole = True
                file.write((b"" if is_whole else b"\n") + event.encode() + b"\n")
        except OSError as error:
            raise LineageUnreachableError(
                f"{self._path} cannot be written: {error.strerror}", hint="see the setting openlineage.file"
            ) from error

    def close(self) -> None:
        """Do nothing: no file is open."""


def open_sender(settings: OpenLineageSettings) -> Sender | None:
    """Return the configured sender; None if there is none."""
    if settings.url is not None:
        return HttpSender(settings)
    return None if settings.file is None else FileSender(settings.file)
