"""Real drivers whose disk is full for a while: that of the state, of the sinks, or of the control plane's database.
`OUTAGE_SECONDS=60` makes it as long as that.

The control plane gives a job up at its first failure that is no outage, so that a job which comes to its end has used
up no restart.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from engine.cli.base import RefusedError
from engine.delivery.ownership import MARK as OWNER_MARK
from tests.kills.windows import QUERY, ROWS, windows_of, write_events
from tests.system.conftest import Served, until
from tests.system.small_disk import full, may_mount, small_disk

LOG = logging.getLogger(__name__)
OUTAGE_SECONDS = float(os.environ.get("OUTAGE_SECONDS", "20"))
"""How long a disk is full at least: longer than a driver may be silent."""
NO_RESTARTS = {"HEARTBEAT_LIMIT": "10s", "STUCK_LIMIT": "60s", "MAX_BACKOFF": "2s", "ALLOWED_RESTARTS": "0"}
COPY = """
CREATE TABLE copies WITH (connector = 'filesystem', path = '{folder}', format = 'json', type = 'sink');
INSERT INTO copies SELECT n FROM events;
"""


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[Path]:
    """A folder with three disks: `store`, `store/state` and `sinks`."""
    probe = tmp_path / "probe"
    probe.mkdir()
    if not may_mount(probe):
        assert not os.environ.get("CI"), "this user may not mount disks: it is not known what full ones do"
        pytest.skip(
            "who may not mount a small disk could only fill that of the machine, and everybody else's work with it"
        )
    with ExitStack() as mounted:
        for name in ("store", "store/state", "sinks"):
            mounted.enter_context(small_disk(tmp_path / name))
        yield tmp_path


@pytest.fixture
def plane(disks: Path) -> Iterator[Served]:
    """A control plane with real drivers on the disk `store`."""
    served = Served(disks / "store", NO_RESTARTS, driver=None).start()
    yield served
    served.close()


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("disk", ["store/state", "sinks"])
def test_a_disk_that_is_full_is_waited_for(disk: str, plane: Served, disks: Path) -> None:
    expected = write_events(disks / "events.json")
    begin(plane, disks)
    with full(disks / disk):
        began = time.monotonic()
        job = until(lambda: plane.job("full"), lambda job: job["failure_code"] is not None, 600)
        assert (job["failure_code"], job["failure_cause"]) == ("data.disk_full", "outage")
        has_lasted(began)
        tell(plane, f"the disk of {disk} is full", began)
    ends_well(plane, disks)
    tell(plane, "the same at the end", began)
    assert windows_of(disks / "sinks" / "sums.json") == expected
    assert copied(disks / "sinks" / "copies") == list(range(ROWS))


@pytest.mark.timeout(3000)
def test_while_the_disk_of_the_database_is_full_a_job_goes_on_to_its_end(plane: Served, disks: Path) -> None:
    expected = write_events(disks / "events.json")
    begin(plane, disks)
    with full(disks / "store"):
        began = time.monotonic()
        until(lambda: is_refused(plane), bool, 60)
        until(lambda: windows_of(disks / "sinks" / "sums.json"), lambda windows: windows == expected, 900)
        has_lasted(began)
        job = plane.job("full")
        assert (job["state"], job["failure_code"], job["blocked"]) == ("Running", "data.disk_full", True)
        assert str(disks / "store") in job["failure_message"]
        tell(plane, "the disk of the database is full", began)
    ends_well(plane, disks)
    tell(plane, "the same at the end", began)
    assert plane.job("full")["restarts_total"] == 0
    assert windows_of(disks / "sinks" / "sums.json") == expected
    assert copied(disks / "sinks" / "copies") == list(range(ROWS))


def begin(plane: Served, disks: Path) -> None:
    """Deploy a pipeline with two sinks, and let it come as far as its third epoch."""
    query = QUERY.format(events=disks / "events.json", out=disks / "sinks" / "sums.json")
    query += COPY.format(folder=disks / "sinks" / "copies")
    settings = {"quick": "true", "memory": "600m", "max_epoch_rows": "150"}
    body = {"query": query, "settings": settings, "checkpoint_interval_micros": 1_000_000}
    plane.client.send("PUT", "/pipelines/by-name/full", body)
    plane.until("full", state="Running", within=900)
    plane.until_epoch(3, "full", within=600)


def has_lasted(since: float) -> None:
    """Wait until an outage has been as long as it is to be."""
    until(lambda: time.monotonic() - since, lambda seconds: seconds >= OUTAGE_SECONDS, OUTAGE_SECONDS + 60)


def ends_well(plane: Served, disks: Path) -> None:
    """Now that there is room the job ends, and nothing that it drafted lies about."""
    job = until(lambda: plane.job("full"), lambda job: job["state"] in ("Finished", "Failed"), 1200)
    assert job["state"] == "Finished", job["failure_message"]
    hidden = [path for path in (disks / "sinks").rglob(".*") if path.is_file()]
    assert [path for path in hidden if not path.name.endswith(OWNER_MARK)] == []


def is_refused(plane: Served) -> bool:
    """Whether a request is refused because the database has no room."""
    try:
        plane.client.send("POST", "/tokens", {"name": f"t-{time.monotonic_ns()}"})
    except RefusedError as refusal:
        return refusal.problem_code == "server.store_unavailable"
    return False


def tell(plane: Served, what: str, since: float) -> None:
    """Log the figures, for those who play this by hand."""
    job, seconds = plane.job("full"), time.monotonic() - since
    restarts = (job["restarts_total"], job["restart_code"])
    LOG.info("%s: %.0f s, %s starts after failures, the last for %s", what, seconds, *restarts)


def copied(folder: Path) -> list[int]:
    """The rows that readers of the other sink find, in order."""
    files = [path for path in folder.rglob("*.json") if not any(part.startswith(".") for part in path.parts)]
    return sorted(json.loads(line)["n"] for path in files for line in path.read_text().splitlines())
