"""A whole control plane in this process: real store, real controller stepped by hand, a runner that starts nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from engine.api.app import build_app
from engine.api.http.authentication import Rules
from engine.api.jobs.runs import hear_left_goodbye
from engine.checkpoints.lineage import Lineage
from engine.checkpoints.manifest import NAME, Origin, SavepointManifest, read_manifest, write_manifest
from engine.control.changes import Changes
from engine.control.context import Context, LastReports, SavepointContent
from engine.control.savepoints import take_savepoints
from engine.control.upgrades import auto_rollback
from engine.control.upgrades.rendezvous import Planner
from engine.errors import (
    LeftSinkError,
    ScriptRefused,
    StartPositionError,
    TextPosition,
    UnknownColumnError,
    UnknownTableError,
)
from engine.jobs.controller import Controller, hash_key
from engine.jobs.decisions.decide import Policy
from engine.jobs.decisions.observe import Maintenance, MaintenanceTask, Process, RestoreSavepoint
from engine.jobs.decisions.spec import PlannedFork, PlannedQuery, Restore, ShownUpgrade, Upgrade
from engine.jobs.decisions.status import Failure, Run
from engine.jobs.disk import DataDirectory
from engine.jobs.processes.assignment import Assignment
from engine.jobs.processes.runner import Holder
from engine.store.jobs.records import StoredRecords
from engine.store.pipelines.versions import by_fingerprint
from engine.store.savepoints import Savepoint, page
from engine.values.start_positions import StartPosition
from tests.api.stand_in_server import StandInServer
from tests.databases import new_database

T0 = datetime(2026, 1, 1, tzinfo=UTC)
TOKEN = "a-token"
LATE_GRAPH = """{"nodes": [
  {"node_id": 0, "operator": "Scan", "description": "Scan clicks (n)"},
  {"node_id": 1, "operator": "Write", "description": "Write counts"},
  {"node_id": 2, "operator": "LateRows", "description": "LateRows of tumble"},
  {"node_id": 3, "operator": "Write", "description": "Write late"},
  {"node_id": 4, "operator": "Write", "description": "Write copy"},
  {"node_id": 5, "operator": "Scan", "description": "Scan orders (n)"}
], "edges": [
  {"src_id": 0, "dest_id": 1}, {"src_id": 0, "dest_id": 2}, {"src_id": 2, "dest_id": 3}, {"src_id": 5, "dest_id": 4}
]}"""
FORK = PlannedFork(ShownUpgrade("f0", "SELECT 1", False, True, "all is kept", "", "{}"))


@dataclass
class FakeRunner:
    """Processes that are only noted. A test ends them, or lets maintenance end."""

    launched: list[Assignment] = field(default_factory=list)
    processes: dict[int, Process] = field(default_factory=dict)
    endings: dict[int, str] = field(default_factory=dict)
    killed: list[int] = field(default_factory=list)
    poked: list[int] = field(default_factory=list)
    work: dict[str, Maintenance] = field(default_factory=dict)
    restored: list[Restore] = field(default_factory=list)
    save: Callable[[str, Restore], None] = lambda *_: None
    """Takes the savepoint that comes before a restore."""

    def launch(self, assignment: Assignment) -> Holder:
        self.launched.append(assignment)
        self.processes[assignment.generation] = Process.ALIVE
        return Holder(pid=1000 + assignment.generation, born="b", generation=assignment.generation)

    def find(self, run: Run) -> Holder | None:
        return None

    def look(self, run: Run) -> Process:
        return self.processes.get(run.generation, Process.GONE)

    def ending(self, run: Run) -> str | None:
        return self.endings.get(run.generation)

    def poke(self, run: Run) -> None:
        self.poked.append(run.generation)

    def kill(self, run: Run) -> None:
        self.killed.append(run.generation)
        self.processes[run.generation] = Process.GONE

    def begin_maintenance(self, pipeline_id: str, task: MaintenanceTask) -> None:
        if isinstance(task, RestoreSavepoint):
            self.restored.append(task.restore)
            self.save(pipeline_id, task.restore)
        self.work[pipeline_id] = Maintenance(task, "done")

    def maintenance(self, pipeline_id: str) -> Maintenance | None:
        return self.work.get(pipeline_id)

    def kill_maintenance(self, pipeline_id: str, failure: Failure) -> None:
        self.work[pipeline_id] = Maintenance(self.work[pipeline_id].task, "failed", failure)

    def end_maintenance(self, pipeline_id: str) -> None:
        self.work.pop(pipeline_id, None)


@dataclass
class Plane:
    """The control plane, and the hands that move it."""

    http: TestClient
    controller: Controller
    runner: FakeRunner
    context: Context
    now: datetime = T0
    upgrade: ShownUpgrade | None = None
    """What is said of every query that is to take over the state; None when there is none."""
    while_planning: Callable[[], None] = lambda: None
    """What happens while the state is looked at for that."""
    fork: PlannedFork = FORK
    """What is said of every fork."""
    requested_starts: list[tuple[Path | None, str, tuple[str, ...]]] = field(default_factory=list)
    asked_redone: list[tuple[object, ...]] = field(default_factory=list)
    """The arguments with which an upgrade that is done once more was checked."""
    """Which start positions were looked at: of what, for which query, which."""
    refuses_starts: bool = False
    refuses_sinks: bool = False
    """Whether sinks of a version that is brought back were left."""

    def plans_by(self, **changes: Any) -> Context:
        """The context with a planner that does something else."""
        return replace(self.context, planner=replace(self.context.planner, **changes))

    def deploy(self, name: str = "orders", query: str = "SELECT 1", **body: Any) -> dict[str, Any]:
        answer = self.http.put(f"/api/v1/pipelines/by-name/{name}", json={"query": query, **body})
        assert answer.is_success, answer.text
        self.settle()
        pipeline: dict[str, Any] = answer.json()
        return pipeline

    def settle(self) -> None:
        """Let the controller do all it can do now."""
        for _ in range(8):
            self.controller.round()

    def let_pass(self, seconds: int) -> None:
        """Let time pass, the controller looking every second."""
        for _ in range(seconds):
            self.now += timedelta(seconds=1)
            self.controller.round()

    def get(self, path: str) -> dict[str, Any]:
        answer = self.http.get(f"/api/v1{path}")
        assert answer.is_success, answer.text
        content: dict[str, Any] = answer.json()
        return content

    def state(self, name: str = "orders") -> str:
        return str(self.get(f"/pipelines/{name}")["state"])

    def job(self, name: str = "orders") -> dict[str, Any]:
        job: dict[str, Any] = self.get(f"/pipelines/{name}/jobs")["data"][0]
        return job

    def call(self, call_name: str, body: dict[str, Any], run: Assignment | None = None) -> dict[str, Any]:
        """Call home as the newest driver, or as another one."""
        assignment = run or self.runner.launched[-1]
        answer = self.http.post(
            f"/api/v1/runs/{assignment.job_id}/{assignment.generation}/{call_name}",
            json=body,
            headers={"Authorization": f"Bearer {assignment.key}"},
        )
        assert answer.is_success, answer.text
        self.settle()
        content: dict[str, Any] = answer.json()
        return content

    def run(self, name: str = "orders", **body: Any) -> dict[str, Any]:
        """A pipeline that is deployed and runs."""
        pipeline = self.deploy(name, **body)
        self.come_up()
        assert self.state(name) == "Running"
        return pipeline

    def come_up(self) -> None:
        """The newest driver says hello and runs."""
        assignment = self.runner.launched[-1]
        self.save_before(assignment)
        self.call("hello", {"nonce": assignment.key, "pid": 1})
        self.call("heartbeat", {"state": "running", "reports": []})

    def save_before(self, assignment: Assignment) -> None:
        """The driver takes the savepoint that its version wants of the state before it."""
        if (upgrade := assignment.upgrade) is not None and upgrade.savepoint_id is not None:
            version = upgrade.from_version or 1
            stored = Savepoint(upgrade.savepoint_id, assignment.pipeline_id, None, T0, before_version=version + 1)
            with self.context.database.reading() as connection:
                known = by_fingerprint(connection, assignment.pipeline_id, version)
            fake_take(self.context.directory.state(assignment.pipeline_id), stored, known)

    def save_before_restore(self, pipeline_id: str, restore: Restore) -> None:
        """What a restore saves of the state that is there."""
        if restore.save_as is not None:
            with self.context.database.reading() as connection:
                [stored] = [saved for saved in page(connection, pipeline_id, 100) if saved.id == restore.save_as]
                known = by_fingerprint(connection, pipeline_id, (stored.before_version or 1) - 1)
            fake_take(self.context.directory.state(pipeline_id), stored, known)

    def end(self, outcome: str | None = "stopped", error: dict[str, str] | None = None) -> None:
        """The newest driver says goodbye, or nothing, and is gone."""
        if outcome is not None:
            self.call("goodbye", {"outcome": outcome, "error": error})
        self.runner.processes[self.runner.launched[-1].generation] = Process.GONE
        self.settle()


def report(epoch: int, minutes: int) -> dict[str, Any]:
    """An epoch whose output is complete up to so many minutes after midnight."""
    at = int((T0 + timedelta(minutes=minutes)).timestamp() * 1_000_000)
    return {
        "epoch": epoch,
        "rows_in": 10,
        "rows_out": 5,
        "rows_per_second": 2.5,
        "duration": 1000,
        "watermark": at,
        "source_watermarks": {"clicks": at},
        "sinks": {"counts": {"complete_until": at, "output_until": at}},
        "at": at,
    }


def fake_plan(query: str, udfs: Sequence[str]) -> PlannedQuery:
    """A plan is the query without its comments, and those of its words are targets that begin with `file:`, and take
    back what a restore leaves; those with `kafka:` are sinks that take nothing back, and those with `table:` tables
    that it writes. Its state is bound to what comes before INTO, so that another target is another version of the same
    state, and to its first functions that say of which objects they are. With GROUP it has operators. `bad` is refused,
    twice."""
    if "bad" in query:
        first = UnknownTableError("no table 'x'", at=TextPosition(2, 1), hint="make one")
        raise ScriptRefused([first, UnknownColumnError("no column 'y'", at=TextPosition(1, 8))])
    words = re.sub("--[^\n]*", "", query).split()
    targets = tuple(word for word in words if word.startswith("file:"))
    text = " ".join(words)
    written = [word.removeprefix("table:") for word in words if word.startswith("table:")]
    tables = [{"name": name, "direction": "sink", "connector": "stdout", "uri": None} for name in written]
    graph = json.dumps({"nodes": [], "edges": [], **({"tables": tables} if tables else {})})
    graph = LATE_GRAPH if "LATE" in words else graph
    lasting = tuple((word.removeprefix("kafka:"), "kafka") for word in words if word.startswith("kafka:"))
    objects = next((text for text in udfs if text.startswith("# objects")), "")
    fingerprint, meaning = text.partition(" INTO ")[0], f"{text} {list(udfs)}"
    return PlannedQuery(fingerprint, graph, meaning, targets, lasting, targets, objects, keeps_state="GROUP" in words)


def fake_take(state: Path, stored: Savepoint, versions: Mapping[str, int]) -> SavepointContent:
    """A savepoint of epoch seven and the newest version, or that before an upgrade, unless the label is `broken`. One
    that is there already is the answer."""
    if stored.label == "broken":
        raise UnknownTableError("cannot be saved")
    if (state / "savepoints" / stored.id / NAME).exists():
        return SavepointContent(7, T0, 2, 100, read_manifest(state / "savepoints" / stored.id).origin.version)
    known = [item for item in versions.items() if stored.before_version is None or item[1] < stored.before_version]
    fingerprint, version = max(known, key=lambda item: item[1])
    folder = state / "savepoints" / stored.id
    commit = folder / "checkpoint" / "commits" / "7"
    commit.parent.mkdir(parents=True, exist_ok=True)
    commit.write_text('v1\n{"nextBatchWatermarkMs": 0}')
    manifest = SavepointManifest(
        stored.id, stored.label, 7, None, "one", (), 2, fingerprint, T0, (), origin=Origin(version)
    )
    write_manifest(folder, manifest)
    return SavepointContent(7, T0, 2, 100, version)


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Plane]:
    database = new_database(DataDirectory(tmp_path))
    runner, changes, last_reports = FakeRunner(), Changes(), LastReports()
    planes: list[Plane] = []

    def clock() -> datetime:
        return planes[0].now if planes else T0

    def plan_upgrade(*_: object) -> ShownUpgrade | None:
        planes[0].while_planning()
        return planes[0].upgrade

    def check_starts(
        place: Path | None, query: str, udfs: Sequence[str], starts: Mapping[str, StartPosition], wish: Upgrade
    ) -> None:
        planes[0].requested_starts.append((place, query, (*starts, *wish.reset)))
        if planes[0].refuses_starts and starts:
            raise StartPositionError("clicks cannot begin there")

    def check_redone(*asked: object) -> None:
        planes[0].asked_redone.append(asked)

    def check_sinks(state: Path, query: str, udfs: Sequence[str], saved: tuple[Lineage, int]) -> None:
        if planes[0].refuses_sinks:
            raise LeftSinkError(f"{query} cannot go on from {saved[0].id} at {saved[1]}")

    def stepped(pipeline_id: str) -> None:
        changes.notify(pipeline_id)
        take_savepoints.take_due(context, pipeline_id)
        auto_rollback.roll_back_if_failed(context, pipeline_id)

    controller = Controller(
        StoredRecords(database, DataDirectory(tmp_path)),
        runner,
        last_reports,
        DataDirectory(tmp_path),
        clock,
        Policy(allowed_restarts=2),
        on_change=stepped,
        hear_goodbye=lambda run: hear_left_goodbye(context, run),
        troubles=database.troubles,
    )
    context = Context(
        database,
        DataDirectory(tmp_path),
        clock,
        lambda: None,
        changes,
        last_reports,
        Planner(
            fake_plan,
            upgrade=plan_upgrade,
            check_redone=check_redone,
            check_sinks=check_sinks,
            check_starts=check_starts,
            fork=lambda *_: planes[0].fork,
        ),
        fake_take,
        "1.2.3",
        "me",
    )
    rules = Rules(frozenset({hash_key(TOKEN)}), frozenset({"testserver"}), 2 * 1024 * 1024)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with TestClient(build_app(context, rules), headers=headers, raise_server_exceptions=False) as http:
        planes.append(Plane(http, controller, runner, context))
        runner.save = planes[0].save_before_restore
        yield planes[0]
    context.workers.shutdown()
    database.close()


@pytest.fixture
def server() -> Iterator[StandInServer]:
    running = StandInServer()
    yield running
    running.close()
