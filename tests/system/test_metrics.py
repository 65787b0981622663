"""Metrics of real processes: counters outlive the control plane, and a run's memory is that of its process."""

from __future__ import annotations

import signal
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.system.conftest import Served, until

EPOCHS = 120


def scrape(served: Served) -> dict[tuple[str, ...], float]:
    """The values of series, by name and the values of their labels in the order of the labels' names."""
    client = served.client
    answer = httpx.get(f"{client.url}/metrics", headers={"Authorization": f"Bearer {client.token}"}, trust_env=False)
    assert answer.status_code == 200, answer.text
    return {
        (sample.name, *(text for _, text in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


@pytest.mark.timeout(300)
def test_every_epoch_is_counted_once_while_the_control_plane_is_killed_again_and_again(tmp_path: Path) -> None:
    served = Served(tmp_path).start()
    try:
        served.deploy(says=f"-- epochs: {EPOCHS} -- pace: 30")
        used = until(lambda: scrape(served), lambda series: ("arroyo_run_memory_bytes", "orders", "driver") in series)
        for epoch in (10, 40):
            served.until_epoch(epoch)
            served.end(signal.SIGKILL)
            served.start()
        served.until(state="Finished")
        series = scrape(served)
    finally:
        served.close()

    assert used["arroyo_run_memory_bytes", "orders", "driver"] > 5_000_000
    assert 0 < used["arroyo_run_cpu_seconds_total", "orders", "driver"] < 300
    assert used["arroyo_drivers",] == 1
    assert series["arroyo_epochs_total", "orders"] == EPOCHS
    assert series["arroyo_rows_in_total", "orders"] == 10 * EPOCHS
    assert series["arroyo_job_state", "orders", "Finished"] == 1
    assert series["arroyo_drivers",] == 0
