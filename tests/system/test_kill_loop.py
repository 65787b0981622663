"""A run that is killed again and again, at random moments, writes what an undisturbed one writes."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

ROWS = int(os.environ.get("KILL_LOOP_ROWS", "100000"))
KILLS = int(os.environ.get("KILL_LOOP_KILLS", "10"))
SEEDS = [int(seed) for seed in os.environ.get("KILL_LOOP_SEEDS", "1").split(",")]
EPOCH_ROWS = 4000

SCRIPT = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, key BIGINT, amount BIGINT, WATERMARK FOR ts AS ts - INTERVAL '1 minute')
WITH (connector = 'single_file', path = '{folder}/events.json', format = 'json', type = 'source');
CREATE TABLE sums (start TIMESTAMP, key BIGINT, n BIGINT, total BIGINT)
WITH (connector = 'single_file', path = '{folder}/sums.json', format = 'json', type = 'sink');
INSERT INTO sums SELECT window.start, key, n, total FROM (
  SELECT tumble(INTERVAL '1 minute') AS window, key, count(*) AS n, sum(amount) AS total
  FROM events GROUP BY window, key
);
"""


def write_events(path: Path, seed: int) -> Counter[tuple[str, int, int, int]]:
    """Events up to half a minute out of order, and the batch answer over them."""
    chance = random.Random(seed)
    start = datetime(2024, 1, 1, tzinfo=UTC)
    counts: Counter[tuple[str, int]] = Counter()
    totals: Counter[tuple[str, int]] = Counter()
    with path.open("w") as file:
        for number in range(ROWS):
            ts = start + timedelta(milliseconds=number * 20 + chance.randrange(30_000))
            key, amount = chance.randrange(20), chance.randrange(1000)
            file.write(json.dumps({"ts": ts.isoformat(timespec="milliseconds"), "key": key, "amount": amount}) + "\n")
            bucket = ts.replace(second=0, microsecond=0).strftime("%Y-%m-%dT%H:%M:%S"), key
            counts[bucket] += 1
            totals[bucket] += amount
    return Counter((minute, key, n, totals[minute, key]) for (minute, key), n in counts.items())


def read_sums(path: Path) -> Counter[tuple[str, int, int, int]]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return Counter((row["start"], row["key"], row["n"], row["total"]) for row in rows)


def start_run(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "engine", "run", str(folder / "sums.sql"), "--state-dir", str(folder / "state")]
    command += ["--max-epoch-rows", str(EPOCH_ROWS), "--json-progress", "--set", "quick=true"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def wait_for_epochs(run: subprocess.Popen[str], count: int) -> int:
    """Read the run's progress until it has committed so many epochs, or has ended."""
    if run.stderr is None:
        raise AssertionError
    epochs = 0
    for line in run.stderr:
        epochs += line.startswith("{")
        if epochs >= count:
            break
    return epochs


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_kills_change_nothing(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    expected = write_events(tmp_path / "events.json", seed)
    (tmp_path / "sums.sql").write_text(SCRIPT.format(folder=tmp_path))

    kills = 0
    while kills < KILLS:
        run = start_run(tmp_path)
        wait_for_epochs(run, chance.randrange(3))
        try:
            # from the commit that was just seen, some way into the next epochs
            run.wait(timeout=chance.random() * 0.8)
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGKILL)
            kills += 1
        run.communicate()
        if run.returncode == 0:
            break
    last = start_run(tmp_path)
    _, errors = last.communicate(timeout=600)

    assert last.returncode == 0, errors
    assert kills >= min(KILLS, 5), f"seed {seed}: only {kills} kills before the end"
    assert read_sums(tmp_path / "sums.json") == expected, f"seed {seed}"
