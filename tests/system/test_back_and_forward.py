"""A pipeline that goes back to a savepoint and forward again to a later one, with a real engine: gates that were passed
in between stand on rows that are of no history any more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.system.conftest import Served, until

QUERY = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '500', event_time_interval = '2 milliseconds',
  start_time = '2026-01-01T00:00:00Z');
CREATE TABLE seconds (start TIMESTAMP, n BIGINT) WITH (connector = 'blackhole', type = 'sink');
INSERT INTO seconds SELECT window.start, n FROM (
  SELECT tumble(INTERVAL '1 second') AS window, count(*) AS n FROM ticks GROUP BY 1
);
"""


@pytest.mark.timeout(900)
def test_gates_passed_between_a_restore_back_and_one_forward_are_void_and_later_ones_count(tmp_path: Path) -> None:
    served = Served(tmp_path, {"HEARTBEAT_LIMIT": "60s"}, driver=None).start()
    try:
        _go_back_and_forward(served)
    finally:
        served.close()


def _go_back_and_forward(served: Served) -> None:
    # An epoch every two seconds: the other history must not come past the later savepoint before its gate is passed.
    wish = {"query": QUERY, "settings": {"quick": "true"}, "checkpoint_interval_micros": 2_000_000}
    served.client.send("PUT", "/pipelines/by-name/ticks", wish)
    _until_epoch_of_run(served, 1, 2)
    assert _pass_gate(served, "before")
    early = _save(served)
    _until_epoch_of_run(served, 1, early["epoch"] + 4)
    on_the_way = _pass_gate(served, "on the way")
    later = _save(served)
    assert early["epoch"] < on_the_way["epoch"] <= later["epoch"]

    assert _restore(served, early, dry_run=True) == ["on the way"]
    _restore(served, early)
    _until_epoch_of_run(served, 2, early["epoch"] + 1)
    assert _void(served) == {"before": False, "on the way": True}
    in_between = _pass_gate(served, "in between")
    assert early["epoch"] < in_between["epoch"] <= later["epoch"]

    assert _restore(served, later, dry_run=True) == ["in between"]
    _restore(served, later)
    _until_epoch_of_run(served, 3, later["epoch"] + 1)
    after = _pass_gate(served, "after")
    assert after["epoch"] > later["epoch"]
    assert len({gate["lineage"] for gate in (on_the_way, in_between, after)}) == 3
    assert _void(served) == {"before": False, "on the way": True, "in between": True, "after": False}


def _until_epoch_of_run(served: Served, run: int, epoch: int) -> None:
    """Look until a run has come to an epoch, which a run before it may have come to as well."""

    def is_there(job: dict[str, Any]) -> bool:
        return bool(job["run_id"] == run and job["state"] == "Running" and (job["epoch"] or 0) >= epoch)

    until(lambda: served.job("ticks"), is_there, 240)


def _pass_gate(served: Served, batch: str) -> dict[str, Any]:
    """Let a run of a DAG rely on the first second of what is there; its certificate."""
    gate = {"past": "2026-01-01T00:00:01Z", "dag_id": "seconds", "run_id": batch}

    def look() -> Any:
        return served.client.get("/pipelines/ticks/watermark", gate)

    seen = until(look, lambda seen: bool(seen["certificate"]), 240)
    return dict(seen["certificate"])


def _save(served: Served) -> dict[str, Any]:
    saved: Any = served.client.send("POST", "/pipelines/ticks/savepoints", {})
    assert saved["state"] == "completed", saved
    return dict(saved)


def _restore(served: Served, savepoint: dict[str, Any], *, dry_run: bool = False) -> list[str]:
    """Go on from a savepoint, or only say what that comes to; the runs of the DAG whose gates it voids."""
    path = f"/pipelines/ticks/restore{'?dry_run=true' if dry_run else ''}"
    answer: Any = served.client.send("POST", path, {"savepoint_id": savepoint["id"], "allow_replay": True})
    return [name.partition(" of seconds ")[2] for name in answer.get("voided", [])]


def _void(served: Served) -> dict[str, bool]:
    """The runs of the DAG that rely on the pipeline, and whether they do so in vain."""
    answer: Any = served.client.get("/pipelines/ticks/certificates")
    return {each["run_id"]: each["voided_at"] is not None for each in answer["data"]}
