"""What runs say that they use of the machine, as the control plane remembers it."""

from __future__ import annotations

from typing import Any

from engine.control.context import MeasuredUsage
from tests.api.conftest import Plane


def send(plane: Plane, **usage: tuple[float, int]) -> None:
    parts = {role: {"cpu_seconds": cpu, "memory_bytes": memory} for role, (cpu, memory) in usage.items()}
    plane.call("heartbeat", {"state": "running", "usage": parts or None})


def remembered(plane: Plane) -> MeasuredUsage | None:
    run = plane.runner.launched[-1]
    return plane.context.last_reports.usage(run.job_id, run.generation)


def test_usage_is_kept_until_the_next_look_with_the_cores_in_between(plane: Plane) -> None:
    plane.run()
    assert remembered(plane) is None

    send(plane, driver=(1.0, 10), java=(10.0, 100))
    first = remembered(plane)
    plane.let_pass(10)
    send(plane)
    plane.let_pass(10)
    send(plane, driver=(2.0, 20), java=(24.0, 200), workers=(5.0, 50), later_role=(9.0, 9))
    second = remembered(plane)

    assert first is not None
    assert (first.cpu_seconds, first.memory_bytes, first.cores) == (11.0, 110, None)
    assert second is not None
    assert (second.cpu_seconds, second.memory_bytes, second.cores) == (31.0, 270, 1.0)
    assert set(second.usage) == {"driver", "java", "workers"}


def test_the_next_run_and_a_deleted_job_have_no_usage(plane: Plane) -> None:
    pipeline: dict[str, Any] = plane.run()
    send(plane, driver=(5.0, 10))
    first = plane.runner.launched[-1]
    plane.end(None)
    plane.let_pass(2)
    plane.come_up()

    assert remembered(plane) is None
    send(plane, driver=(1.0, 10))
    assert plane.context.last_reports.usage(first.job_id, first.generation) is None

    plane.http.patch(f"/api/v1/pipelines/{pipeline['id']}", json={"stop": "force"})
    plane.settle()
    plane.let_pass(2)
    assert plane.http.delete(f"/api/v1/pipelines/{pipeline['id']}").is_success
    assert remembered(plane) is None
