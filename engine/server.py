"""`arroyo serve`: the control plane as one process. Its end is not the end of the jobs."""

from __future__ import annotations

import json
import logging
import os
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import uvicorn
from sqlalchemy.exc import DatabaseError, OperationalError

from engine import __version__
from engine.api.app import build_app
from engine.api.http.authentication import Rules
from engine.api.http.slow_requests import LIMITED_PROTOCOL
from engine.api.jobs.runs import hear_left_goodbye
from engine.api.partitions.push_watch import PushWatch
from engine.api.sweep import Sweeper
from engine.control import deletions
from engine.control.access import Sessions
from engine.control.caretaker import Caretaker
from engine.control.changes import Changes
from engine.control.context import Context, LastReports, read_unread
from engine.control.lineage_events.events import EventMaker
from engine.control.lineage_events.watch import LineageWatch, open_sender
from engine.control.rehearsals import check_rehearsal, free_bytes
from engine.control.savepoints import take_savepoints
from engine.control.savepoints.savepoint_tests import Drills, take_savepoint
from engine.control.upgrades import auto_rollback
from engine.control.upgrades.hand_over_steps import HandOverWatch
from engine.control.upgrades.plan_query import load_compiler, plan_query
from engine.control.upgrades.plan_reprocess import changing_sinks, check_redone, check_starts, plan_reprocess
from engine.control.upgrades.plan_upgrade import check_sinks, plan_fork, plan_hand_over, plan_upgrade
from engine.control.upgrades.rehearsal_watch import RehearsalWatch
from engine.control.upgrades.rendezvous import Planner, StateRendezvous
from engine.errors import InsecureBindError, ServerError, StoreUnavailableError, message_of
from engine.jobs.address import read_address
from engine.jobs.controller import Controller, DriverSettings, hash_key
from engine.jobs.decisions.decide import Policy
from engine.jobs.decisions.rollback import RehearsalLimits
from engine.jobs.disk import DataDirectory, Limits
from engine.jobs.processes.driver_environment import driver_environment
from engine.jobs.processes.forked_drivers import ForkedDrivers
from engine.jobs.processes.probes import LocalProbes, LocalStateRows
from engine.jobs.processes.processes import known_free_memory
from engine.jobs.processes.rehearsal_processes import LocalRehearsers
from engine.jobs.processes.runner import DRIVER_COMMAND, LocalRunner
from engine.jobs.processes.spares import SpareDrivers
from engine.settings import ApiSettings, PipelineSettings, Section, Settings, read_connections_file
from engine.store.access import tokens
from engine.store.access.vault import secure
from engine.store.backups import damaged
from engine.store.database import Database, open_database
from engine.store.jobs.records import StoredRecords
from engine.values.instants import now

if TYPE_CHECKING:
    from engine.control.traces.otel import Traces

T = TypeVar("T")
LOG = logging.getLogger(__name__)
SECRETS_KEY = "ARROYO_SECRETS_KEY"
OTEL_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
KindT = TypeVar("KindT", Limits, Policy, RehearsalLimits)
_UNREAD_LIMIT = timedelta(minutes=2)
"""So long somebody may take no byte of what was sent: then the connection is given up, and what it holds with it."""
_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def serve(settings: Settings) -> int:
    """Serve until SIGTERM or Ctrl-C. Drivers continue to run."""
    check_bind(settings.api)
    try:
        _serve_directory(settings, DataDirectory(settings.data_dir))
    except OperationalError as error:
        raise StoreUnavailableError(
            f"the control plane cannot use its database: {error.orig}",
            hint=f"see that there is room on the disk of {settings.data_dir}, and that it can be written",
        ) from error
    except DatabaseError as error:
        raise damaged(DataDirectory(settings.data_dir).database, str(error.orig)) from error
    return 0


def _serve_directory(settings: Settings, directory: DataDirectory) -> None:
    connections = read_connections_file(settings.connections)
    database = open_database(directory, os.environ.get(SECRETS_KEY), settings.kept_backups)
    try:
        stand_where_it_stood(database, directory)
        token = _admit_token(database, directory, settings.api)
        listener = _listen(settings.api, directory)
        _serve(settings, directory, database, listener, frozenset({hash_key(token)}), connections)
    finally:
        database.close()


def stand_where_it_stood(database: Database, directory: DataDirectory) -> None:
    """Change to the working directory of the previous control planes while they have pipelines here: relative paths
    start there, and output elsewhere would be split in two without notice."""
    with database.reading() as connection:
        is_empty = connection.exec_driver_sql("SELECT 1 FROM pipelines LIMIT 1").first() is None
    with suppress(OSError, ValueError):  # an unreadable or missing file has no output
        folder = Path(directory.folder.read_text().rstrip("\n"))
        if not is_empty and folder.is_absolute():
            if folder != Path.cwd():
                os.chdir(folder)
                sys.stdout.write(f"relative paths of pipelines start in {folder}, where they were deployed first\n")
            return
    with suppress(OSError):
        secure(directory.folder, f"{Path.cwd()}\n")


def log_to_standard_error() -> None:
    """Log what happens here, with its time, and only warnings of other packages."""
    formatter = logging.Formatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")
    formatter.converter = time.gmtime
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("engine").setLevel(logging.INFO)


def check_bind(api: ApiSettings) -> None:
    """Raise for an address that others can reach unless the owner has set a token or allowed it explicitly."""
    if not is_loopback(api.host) and api.token is None and not api.insecure:
        raise InsecureBindError(
            f"{api.host} can be reached from other machines",
            hint="set a token of your own (ARROYO__API__TOKEN), or use --insecure if you mean it",
        )


def is_loopback(host: str) -> bool:
    """Whether an address is this machine's own."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def _serve(
    settings: Settings,
    directory: DataDirectory,
    database: Database,
    listener: socket.socket,
    hashes: frozenset[str],
    connections: str,
) -> None:
    log_to_standard_error()
    changes, last_reports = Changes(), LastReports()

    def stepped(pipeline_id: str) -> None:
        """Notify those who wait for a job that has advanced."""
        changes.notify(pipeline_id)
        take_savepoints.take_due(context, pipeline_id)
        auto_rollback.roll_back_if_failed(context, pipeline_id)

    spares, forks = _spares(settings.pipeline, directory), _forks(settings.pipeline, directory)
    controller = Controller(
        records=StoredRecords(database, directory),
        runner=_runner(settings.pipeline, directory, spares, forks),
        last_reports=last_reports,
        directory=directory,
        clock=now,
        policy=read_section(Policy, settings.pipeline, healthy=settings.pipeline.healthy_duration),
        driver_settings=DriverSettings(
            settings.pipeline.heartbeat_interval, settings.pipeline.lease, settings.pipeline.stuck_limit, connections
        ),
        on_change=stepped,
        hear_goodbye=lambda run: hear_left_goodbye(context, run),
        troubles=database.troubles,
    )
    instance = secrets.token_hex(8)
    traces = _open_traces(settings, instance)
    context = Context(
        database=database,
        directory=directory,
        clock=now,
        wake=controller.wake,
        changes=changes,
        last_reports=last_reports,
        planner=_planner(connections, settings.literal_secrets),
        take=take_savepoint,
        version=__version__,
        instance=instance,
        meetings=StateRendezvous(connections),
        connections=connections,
        emit_span=None if traces is None else traces.tell,
        sessions=Sessions(database.vault.digest("sessions of browsers").encode()),
    )
    context = _with_settings(context, settings)
    with database.reading() as connection:
        context.admission.load(tokens.named(connection))
        context.sessions.remember(tokens.read(connection))
    _resume(context)
    works: list[tuple[str, _Work]] = [("controller", controller), *_works(settings, context), ("spares", spares)]
    threads = [threading.Thread(target=work.run, name=name) for name, work in works]
    for thread in threads:
        thread.start()
    try:
        _answer(settings, context, hashes, listener)
    finally:
        for _, work in works:
            work.close()
        if forks is not None:
            forks.close()
        for thread in threads:
            thread.join()
        context.workers.shutdown()
        context.readers.shutdown(cancel_futures=True)
        if traces is not None:
            traces.close()


class _Work(Protocol):
    """Work of the control plane on a thread of its own."""

    def run(self) -> None:
        """Work until closed."""

    def close(self) -> None:
        """Make `run` return."""


def _with_settings(context: Context, settings: Settings) -> Context:
    """Return the services of the handlers with the limits and the subprocesses that settings decide on."""
    environment = settings.pipeline.driver_environment
    return replace(
        context,
        rehearsals=read_section(RehearsalLimits, settings.rehearsal),
        previews_at_once=settings.preview.at_once,
        free_bytes=partial(free_bytes, context.directory.root),
        free_memory=known_free_memory,
        probe=LocalProbes(environment).ask,
        read_state_rows=LocalStateRows(environment).read,
        drill=Drills(context.directory, environment).play,
        limits=read_section(Limits, settings.sweep),
        max_query_bytes=settings.api.max_query_bytes,
        long_poll_max=settings.api.long_poll_max,
        lineage_namespace=settings.openlineage.namespace,
    )


def _resume(context: Context) -> None:
    """Continue what an earlier control plane has begun."""
    read_unread(context)
    take_savepoints.resume(context)
    auto_rollback.resume(context)
    deletions.resume(context)


def _works(settings: Settings, context: Context) -> Iterator[tuple[str, _Work]]:
    """Yield the work besides jobs and spares, with the names of its threads."""
    yield "sweeper", Sweeper(context, settings.sweep.interval)
    yield "caretaker", Caretaker(context)
    yield "hand-overs", HandOverWatch(context)
    rehearsers = LocalRehearsers(context.directory, settings.pipeline.driver_environment)
    yield "rehearsals", RehearsalWatch(context, rehearsers)
    yield "pushes", PushWatch(context)
    if (lineage_watch := _lineage_watch(settings, context)) is not None:
        yield "openlineage", lineage_watch


def _answer(settings: Settings, context: Context, hashes: frozenset[str], listener: socket.socket) -> None:
    """Answer requests until a signal ends this."""
    rules = Rules(hashes, _hosts(settings.api), settings.api.max_body_bytes, settings.api.open_metrics)
    config = uvicorn.Config(
        build_app(context, rules),
        http=LIMITED_PROTOCOL,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=5,
    )
    Listener(config, context, Address(context.directory, _url(listener))).run(sockets=[listener])


def _runner(
    pipeline: PipelineSettings, directory: DataDirectory, spares: SpareDrivers, forks: ForkedDrivers | None
) -> LocalRunner:
    command = pipeline.driver_command or DRIVER_COMMAND
    return LocalRunner(directory, command, pipeline.driver_environment, spares, forks, pipeline.start_limit)


def _spares(pipeline: PipelineSettings, directory: DataDirectory) -> SpareDrivers:
    """Return the spare drivers; none if drivers are not the engine's own."""
    count = 0 if pipeline.driver_command else pipeline.spare_drivers
    return SpareDrivers(directory, count, lambda: driver_environment(os.environ, pipeline.driver_environment))


def _forks(pipeline: PipelineSettings, directory: DataDirectory) -> ForkedDrivers | None:
    """Return the process that forks drivers; None if drivers are not the engine's own, or cannot be forked."""
    if pipeline.driver_command or sys.platform != "linux":
        return None
    environment = partial(driver_environment, os.environ, pipeline.driver_environment)
    return ForkedDrivers(directory.forks_log, environment)


def _planner(connections: str, literal_secrets: bool) -> Planner:
    """Return the planner over the compiler, with the administrator's connections."""

    def bound(ask: Callable[..., T]) -> Callable[..., T]:
        return partial(ask, connections=connections, may_hold_secrets=literal_secrets)

    return Planner(
        plan=bound(plan_query),
        upgrade=bound(plan_upgrade),
        reprocess=bound(plan_reprocess),
        fork=bound(plan_fork),
        hand_over=bound(plan_hand_over),
        changing_sinks=bound(changing_sinks),
        check_redone=bound(check_redone),
        check_sinks=bound(check_sinks),
        check_starts=bound(check_starts),
        check_rehearsal=bound(check_rehearsal),
    )


def _open_traces(settings: Settings, instance: str) -> Traces | None:
    """Return the connection to the collector that was named, if one was."""
    endpoint = settings.traces.endpoint
    if endpoint is None and not any(os.environ.get(name) for name in OTEL_ENDPOINTS):
        return None
    from engine.control.traces.otel import open_traces  # noqa: PLC0415 - its packages are there only if they are wanted

    return open_traces(endpoint, __version__, instance)


def _lineage_watch(settings: Settings, context: Context) -> LineageWatch | None:
    """Return the watch that reports runs to OpenLineage, if that is configured."""
    sender = open_sender(settings.openlineage)
    return None if sender is None else LineageWatch(context, sender, EventMaker(context), settings.openlineage.interval)


@dataclass(frozen=True, slots=True)
class Address:
    """Address of the control plane, and the file that contains it."""

    directory: DataDirectory
    url: str


class Listener(uvicorn.Server):
    """Writes its address down once it answers, loads the compiler then, and lets held requests go when it is to end."""

    def __init__(self, config: uvicorn.Config, context: Context, address: Address) -> None:
        super().__init__(config)
        self._context = context
        self._address = address

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        directory, url = self._address.directory, self._address.url
        address = {"url": url, "pid": os.getpid(), "instance": self._context.instance}
        secure(directory.server, json.dumps(address))
        sys.stdout.write(f"control plane at {url}, token in {directory.token}\n")
        sys.stdout.flush()
        threading.Thread(target=load_compiler, name="compiler").start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Shut down; at a second Ctrl-C immediately. The signal is not passed on, so that the cleanup completes."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True
        self._context.changes.close()


def _admit_token(database: Database, directory: DataDirectory, api: ApiSettings) -> str:
    """Return the accepted token: the configured one, or the one that was generated at the first start."""
    if api.token is not None:
        return api.token.get_secret_value()
    with database.writing() as connection:
        admitted = tokens.hashes(connection)
        with suppress(OSError, ValueError):  # a file that is no text holds no token
            stored = directory.token.read_text().strip()
            if hash_key(stored) in admitted:
                return stored
        fresh = secrets.token_urlsafe(32)
        tokens.add(connection, hash_key(fresh), now())
        secure(directory.token, fresh + "\n")
    return fresh


def _listen(api: ApiSettings, directory: DataDirectory) -> socket.socket:
    """Return a listening socket; its connections inherit its timeout for clients that do not read."""
    listener = _bind(api, directory)
    if hasattr(socket, "TCP_USER_TIMEOUT"):  # Linux alone has it
        milliseconds = int(_UNREAD_LIMIT / timedelta(milliseconds=1))
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
    return listener


def _bind(api: ApiSettings, directory: DataDirectory) -> socket.socket:
    """Bind the port. With port 0 the last port is reused if it is free, since clients may know it."""
    family = socket.AF_INET6 if ":" in api.host else socket.AF_INET
    if api.port == 0:
        with suppress(OSError, ValueError):
            last = int((read_address(directory.server) or "").rpartition(":")[2])
            return socket.create_server((api.host, last), family=family)
    try:
        return socket.create_server((api.host, api.port), family=family)
    except (OSError, ValueError) as error:  # a name that cannot be one is a ValueError
        raise ServerError(
            f"the control plane cannot listen on {api.host}:{api.port}: {message_of(error)}",
            hint="--port 0 takes a free one",
        ) from error


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _hosts(api: ApiSettings) -> frozenset[str] | None:
    """Return the host names that a request may have; None behind another address, whose names are unknown."""
    if not is_loopback(api.host) and not api.allowed_hosts:
        return None
    return _LOOPBACK | {api.host.lower()} | {host.lower() for host in api.allowed_hosts}


def read_section(kind: type[KindT], section: Section, **others: Any) -> KindT:
    """Return a value whose fields, except the `others`, have the names of settings."""
    names = {field.name for field in fields(kind)} - others.keys()
    values: dict[str, Any] = {name: getattr(section, name) for name in names}
    return kind(**values, **others)
