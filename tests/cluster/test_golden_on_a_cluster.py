"""The golden cases on a cluster whose executors see no file of the driver: the output is that of one machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.parts import TREE, Cluster
from tests.cluster.stores import ObjectStore

pytestmark = pytest.mark.timeout(3000)


def test_every_golden_case_gives_the_output_of_one_machine(
    cluster: Cluster, moto_store: ObjectStore, tmp_path: Path
) -> None:
    environment = {**os.environ, **moto_store.environment, "ARROYO_NET_ALLOW": "127.0.0.1", "PYTHONPATH": str(TREE)}

    played = subprocess.run(
        [sys.executable, "-m", "tests.cluster.goldens", cluster.url, moto_store.url, str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )

    assert played.returncode == 0, played.stderr[-4000:]
    assert json.loads(played.stdout.splitlines()[-1]) == {"straight": [], "stopped": []}
