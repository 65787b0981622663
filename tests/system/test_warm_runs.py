"""A run that leaves Java and Spark to the next: that is the same as one of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.driver.handover import LOCK
from engine.jobs.processes import processes
from engine.spark.jvm.class_archive import cache_dir
from tests.system.conftest import until

ROOT = Path(__file__).parents[2]
COUNTED = """
CREATE TABLE ticks WITH (connector = 'impulse', event_rate = '1000', message_count = '{count}');
CREATE TABLE printed WITH (connector = 'stdout', format = 'json', type = 'sink');
INSERT INTO printed SELECT counter, counter * 3 AS n FROM ticks WHERE counter % 10 = 0;
"""
SECONDS = re.compile(r" +\d+ rows/s")
Run = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Starts a run of a file in the directory of the test."""
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "classes").symlink_to(cache_dir(os.environ) / "classes")
    path = f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "ARROYO_CACHE": str(cache), "PYTHONPATH": path}
    environment.pop("PYTEST_CURRENT_TEST", None)

    def start(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "engine", "run", *arguments],
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    yield start

    token = cache / "spare" / "token"
    until(token.exists, bool)  # every run leaves a spare, which is not found before
    token.unlink()
    until(lambda: processes.is_locked(cache / "spare" / LOCK), lambda held: not held)


def warm_spare(tmp_path: Path) -> Path:
    """The directory of the spare, once it is warm."""
    spares = tmp_path / "cache" / "spare"
    (home,) = until(lambda: [path for path in spares.glob("*") if path.is_dir()], bool, 240)
    until(lambda: (home / "spark.log").exists() and (home / "warm-up").exists(), bool, 240)
    until((home / "warm-up").exists, lambda exists: not exists, 240)
    return home


@pytest.mark.timeout(900)
def test_a_run_on_what_another_has_left_is_as_one_of_its_own(tmp_path: Path, run: Run) -> None:
    (tmp_path / "counted.sql").write_text(COUNTED.format(count=30))
    (tmp_path / "endless.sql").write_text(COUNTED.format(count=10_000_000))
    cold = run("counted.sql", "--warm", "--state-dir", "cold")
    rows, progress = cold.communicate(timeout=240)
    assert cold.returncode == 0
    assert len(rows.splitlines()) == 3

    home = warm_spare(tmp_path)
    warm = run("counted.sql", "--warm", "--state-dir", "warm")
    assert [SECONDS.sub("", text) for text in warm.communicate(timeout=240)] == [rows, SECONDS.sub("", progress)]
    assert warm.returncode == 0
    until(home.exists, lambda exists: not exists)

    warm_spare(tmp_path)
    endless = run("endless.sql", "--warm", "--state-dir", "endless")
    assert endless.stdout is not None
    first = endless.stdout.readline()
    endless.send_signal(signal.SIGINT)
    printed, progress = endless.communicate(timeout=240)
    assert endless.returncode == 130
    assert progress.splitlines()[-1] == "stopped: the same command goes on from here"
    counters = [int(re.findall(r"\d+", line)[0]) for line in [first, *printed.splitlines()]]
    assert counters == list(range(0, len(counters) * 10, 10))
    assert not processes.is_locked(tmp_path / "endless" / "lock")
