"""The same with real drivers: whatever of a driver is killed in the middle of a request, the job ends in the state that
was asked for, one run at a time has worked for it, and the windows that it writes are those of an undisturbed run."""

from __future__ import annotations

import json
import logging
import os
import signal
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from engine.checkpoints.savepoints import verify
from engine.jobs.processes import processes
from tests.kills.stories import SCRATCH, ArmedPlane, Story
from tests.kills.windows import QUERY, windows_of, write_events
from tests.system.conftest import until

LOG = logging.getLogger(__name__)
pytestmark = [pytest.mark.system, pytest.mark.timeout(3600)]
IN_AN_EPOCH = ("after_offsets", "after_sinks")
"""Points that a run comes to by itself: there it stands still until it is asked for something, and dies then."""


SWAP = ("before_swap", "after_swap_decision", "while_swapping", "after_swap")


@dataclass(frozen=True, slots=True)
class SparkKill:
    """What is asked for, the point at which something dies, and what: the process that comes to it, which is a driver,
    work between runs or the control plane, or the Java of a process that stands still there. Where it is nobody, the
    control plane has to notice that the process stands still."""

    verb: str
    fault: str
    victim: Literal["process", "java", "server", "nobody"] = "process"

    def __str__(self) -> str:
        return f"{self.verb}-{self.fault}-{self.victim}"

    @property
    def stands_still(self) -> bool:
        """Whether its process is stopped at the point, for the test to kill."""
        return self.victim in ("java", "nobody") or self.is_before_request

    @property
    def is_before_request(self) -> bool:
        """Whether its point is reached without the request, and before it."""
        return self.verb != "deploy" and self.fault in IN_AN_EPOCH


KILLS = [
    SparkKill("deploy", "after_spawn", "server"),
    *(SparkKill("deploy", fault) for fault in ("after_offsets", "after_sinks", "after_commit")),
    *(SparkKill("deploy", fault, "java") for fault in ("after_offsets", "after_sinks")),
    SparkKill("stop", "after_sinks"),
    SparkKill("stop", "after_sinks", "java"),
    SparkKill("stop", "before_goodbye"),
    SparkKill("stop-with-savepoint", "after_sinks", "java"),
    SparkKill("savepoint", "after_sinks"),
    SparkKill("savepoint", "after_offsets", "java"),
    SparkKill("redeploy", "before_goodbye"),
    SparkKill("redeploy", "after_offsets", "java"),
    SparkKill("restore", "while_swapping"),
    SparkKill("restore", "after_sinks", "java"),
    *(SparkKill("rescale", fault) for fault in ("while_building", *SWAP)),
    SparkKill("rescale", "before_swap", "java"),
    SparkKill("rescale", "before_swap", "nobody"),
    SparkKill("rescale", "after_intent:Repartition", "server"),
    *(SparkKill("upgrade", fault) for fault in ("while_copying", "after_copying", "after_skeleton", "while_building")),
    *(SparkKill("upgrade", fault) for fault in SWAP),
    SparkKill("upgrade", "after_skeleton", "java"),
    SparkKill("upgrade", "after_spawn", "server"),
]
SHORT = ("rescale-while_swapping-process",)
"""What every run plays."""
CHOSEN = KILLS if os.environ.get("KILLS") == "all" else [kill for kill in KILLS if str(kill) in SHORT]


@dataclass
class SparkStory(Story):
    """One pipeline of windows over a file."""

    most_workers: int = 0
    """How many processes have worked for it at a time."""

    def deploy(self, key: str | None = None, **body: Any) -> Any:
        settings = {"quick": "true", "memory": "600m", "max_epoch_rows": "200"}
        query = QUERY.format(events=self.folder / "events.json", out=self.out)
        content = {"query": query, "settings": settings, "checkpoint_interval_micros": 1_000_000, **body}
        shown = self.ask("PUT", f"/pipelines/by-name/{self.name}", content, key)
        self.id = shown["id"]
        return shown

    def job(self) -> dict[str, Any]:
        if self.id:
            drivers = self.drivers()
            # what is being started by a driver still has its command line
            workers = [pid for pid in drivers if parent_of(pid) not in drivers]
            self.most_workers = max(self.most_workers, len(workers))
        return super().job()

    def marked(self) -> list[int]:
        """All processes of all runs."""
        job = self.job()
        return [pid for run in range(1, job["run_id"] + 1) for pid in processes.marked(f"{job['id']}/{run}")]


@pytest.fixture(scope="module")
def armed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArmedPlane]:
    """A control plane that all stories share."""
    limits = {"HEARTBEAT_LIMIT": "60s", "STOP_GRACE": "60s", "START_LIMIT": "2m"}
    plane = ArmedPlane(tmp_path_factory.mktemp("armed"), limits, None)
    plane.start()
    yield plane
    plane.close()


@pytest.mark.parametrize("kill", CHOSEN, ids=str)
def test_a_job_ends_in_the_state_asked_for_whatever_of_its_driver_is_killed(
    armed: ArmedPlane, kill: SparkKill, tmp_path: Path
) -> None:
    expected, began = write_events(tmp_path / "events.json"), time.monotonic()
    armed.revive()
    story, savepoint, key = SparkStory(armed, tmp_path), "", uuid.uuid4().hex
    if kill.verb != "deploy":
        story.deploy()
        story.until(state="Running")
    if kill.verb == "restore":
        savepoint = story.savepoint()
        assert story.saved(savepoint)["state"] == "completed"
    armed.fault.write_text(f"{kill.fault}::stop" if kill.stands_still else kill.fault)

    if kill.is_before_request:
        was_reached(armed)
    ask(story, kill.verb, savepoint, key)
    if not kill.is_before_request:
        was_reached(armed)
    if kill.victim == "nobody":
        until(story.job, lambda job: job["failure_code"] == "run.maintenance_stuck", 600)
    elif kill.stands_still:
        kill_what_stands_still(story, kill)
    ask(story, kill.verb, savepoint, key)

    is_as_asked(story, kill.verb)
    job = until(story.job, lambda job: job["state"] in ("Finished", "Failed"), 1200)
    assert job["state"] == "Finished", job["failure_message"]
    until(lambda: [*story.marked(), *story.drivers()], lambda pids: not pids, 300)
    LOG.info("%s: %.0f s, %s starts after failures", kill, time.monotonic() - began, job["restarts_total"])
    assert windows_of(story.out) == expected
    assert story.most_workers == 1
    assert leftovers(story) == []


def was_reached(armed: ArmedPlane) -> None:
    """Somebody has come to the point."""
    until(armed.fault.exists, lambda is_armed: not is_armed, 900)


def ask(story: SparkStory, verb: str, savepoint: str, key: str) -> None:
    """Ask for what the case is about; once more with the same key is the same request."""
    name = f"/pipelines/{story.name}"
    match verb:
        case "deploy":
            story.deploy(key)
        case "redeploy":
            story.deploy(key, checkpoint_interval_micros=1_100_000)
        case "stop":
            story.ask("PATCH", name, {"stop": "checkpoint"}, key)
        case "stop-with-savepoint":
            story.savepoint(key, stop="checkpoint")
        case "savepoint":
            assert story.saved(story.savepoint(key))["state"] == "completed"
        case "restore":
            story.ask("POST", f"{name}/restore", {"savepoint_id": savepoint, "allow_replay": True}, key)
        case "rescale":
            story.ask("PATCH", name, {"parallelism": 2}, key)
        case "upgrade":
            story.deploy(key, query=changed(story))


def changed(story: SparkStory) -> str:
    """Another query, behind whose windows nothing is left out."""
    whole = QUERY.format(events=story.folder / "events.json", out=story.out)
    return whole.replace("GROUP BY window\n);", "GROUP BY window\n) WHERE n > 0;")


def is_as_asked(story: SparkStory, verb: str) -> None:
    """The job comes to the state that was asked for; one that stops is started again."""
    if verb in ("stop", "stop-with-savepoint"):
        story.until(state="Stopped")
        until(story.marked, lambda pids: not pids, 300)
        assert len(savepoints_of(story)) == (verb == "stop-with-savepoint")
        story.ask("PATCH", f"/pipelines/{story.name}", {"stop": "none"})
    if verb == "rescale":
        story.until(tasks=2)
    if verb == "upgrade":
        until(story.job, lambda job: job["settled"] and job["state"] in ("Running", "Finished"), 300)
        assert json.loads((story.state / "pipeline.json").read_text())["sql"] == changed(story)
    if verb in ("savepoint", "upgrade"):
        assert len(savepoints_of(story)) == 1
    shown: Any = story.plane.client.get(f"/pipelines/{story.name}")
    version, query = (2 if verb in ("redeploy", "upgrade") else 1), changed(story) if verb == "upgrade" else None
    assert shown["version"] == version, "it was deployed more than once, or went back"
    assert shown["query"] == (query or QUERY.format(events=story.folder / "events.json", out=story.out))


def savepoints_of(story: SparkStory) -> list[str]:
    """The savepoints of a pipeline; each is complete, and what it says it is."""
    answer: Any = story.plane.client.get(f"/pipelines/{story.name}/savepoints")
    for shown in answer["data"]:
        assert story.saved(shown["id"])["state"] == "completed"
        verify(Path(shown["path"]))
    return [shown["id"] for shown in answer["data"]]


def kill_what_stands_still(story: SparkStory, kill: SparkKill) -> None:
    """Kill the process that was stopped at its point, or its Java, after which it goes on."""
    stopped = until(lambda: [pid for pid in story.drivers() if stat(pid)[0] == "T"], bool, 300)
    victims = stopped if kill.victim == "process" else [pid for pid in javas() if parent_of(pid) in stopped]
    assert victims
    for pid in victims:
        os.kill(pid, signal.SIGKILL)
    for pid in stopped:
        os.kill(pid, signal.SIGCONT)


def leftovers(story: SparkStory) -> list[Path]:
    """What should not lie about when nobody is at work any more. Spark's own files are Spark's."""
    known = {story.state / "checkpoint", story.state / "logs"}
    parts = [part for part in story.state.iterdir() if part not in known]
    files = [path for part in parts for path in (part, *part.rglob("*"))]
    scratch = [path for path in files if path.name in SCRATCH or path.name.startswith(".")]
    scratch += [path for path in (story.state / "sinks").rglob("segments/*") if path.is_file()]
    savepoints = {story.state / "savepoints" / savepoint for savepoint in savepoints_of(story)}
    folder = story.state / "savepoints"
    scratch += [path for path in (folder.iterdir() if folder.is_dir() else ()) if path not in savepoints]
    # Hadoop's checksums go with the files they are of, into savepoints and into states that are put aside
    return [path for path in scratch if path.suffix != ".crc"]


def javas() -> list[int]:
    """Every Java of this machine."""
    pids = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "exe").readlink().name == "java":
                pids.append(int(entry.name))
        except OSError:
            continue
    return pids


def parent_of(pid: int) -> int:
    """The process that has started another; 0 when that is gone."""
    return int(stat(pid)[1])


def stat(pid: int) -> list[str]:
    """What the kernel says of a process, from its state on."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].decode().split()
    except OSError:
        return ["", "0"]
