"""What a benchmark has started is gone when it is interrupted."""

from __future__ import annotations

import secrets
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.served import marked

BENCHMARK = """
import subprocess, sys
from pathlib import Path
from benchmarks.served import MARK, served

with served(Path(sys.argv[1]), sys.argv[2]):
    subprocess.Popen(["sleep", "600"], env={"PATH": "/usr/bin:/bin", MARK: sys.argv[2]}, start_new_session=True)
    print("up", flush=True)
    signal.pause()
"""
pytestmark = pytest.mark.system
INTERRUPTED = {signal.SIGINT: 130, signal.SIGTERM: 143}


@pytest.mark.parametrize("end", INTERRUPTED)
def test_a_benchmark_that_is_interrupted_leaves_nothing(tmp_path: Path, end: signal.Signals) -> None:
    token = secrets.token_hex(8)
    program = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)  # as in the background of a shell\n"
    command = [sys.executable, "-c", program + BENCHMARK, str(tmp_path / "data"), token]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        assert len(marked(token)) == 2
        process.send_signal(end)
        assert process.wait(60) == INTERRUPTED[end]
    assert marked(token) == []
