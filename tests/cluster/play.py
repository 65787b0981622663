"""A run as a process of its own, on a cluster or not: `python -m tests.cluster.play PARAMETERS`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

from engine.spark.run import executors, lifecycle
from engine.spark.run.mailbox import Mailbox, open_mailbox
from engine.spark.run.run_spec import PLAIN_SETTINGS, RunSpec, StateUpgrade
from engine.values.cluster import ClusterSettings
from tests.cluster.parts import PYTHON, TREE, Cluster


def start(
    script: Path,
    state: Path,
    cluster: Cluster | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    parallelism: int = 2,
    max_epoch_rows: int | None = None,
    upgrade: bool = False,
    patience: float | None = None,
    closed_port: int | None = None,
    **asked: object,
) -> subprocess.Popen[str]:
    """Start a run of a script, in `local[2]` without a cluster. `patience` has the seconds that it waits for executors
    when all are gone. With `closed_port`, executors look for the mailbox there, as behind a firewall."""
    here = {} if cluster is None else {"executor_python": PYTHON, "executor_memory": "512m", **asked}
    parameters = {
        "script": str(script),
        "state": str(state),
        "master": "local[2]" if cluster is None else cluster.url,
        "parallelism": parallelism,
        "max_epoch_rows": max_epoch_rows,
        "upgrade": upgrade,
        "patience": patience,
        "closed_port": closed_port,
        "cluster": here,
    }
    return subprocess.Popen(
        [sys.executable, "-m", "tests.cluster.play", json.dumps(parameters)],
        cwd=script.parent,
        env={**os.environ, "PYTHONPATH": str(TREE), **(environment or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(script: Path, state: Path, cluster: Cluster | None = None, **others: object) -> tuple[int, str]:
    """Run a script to its end; return the status, and what was said."""
    process = start(script, state, cluster, **others)
    said = process.communicate()[1]
    return process.returncode, said


def main() -> int:
    """Run in this process."""
    from engine.cli.scripts.run import until_end

    parameters = json.loads(sys.argv[1])
    if parameters["patience"] is not None:
        executors.PATIENCE = timedelta(seconds=parameters["patience"])
    if parameters["closed_port"] is not None:
        patch.object(lifecycle, "open_mailbox", partial(_elsewhere, open_mailbox, parameters["closed_port"])).start()
    script = Path(parameters["script"])
    spec = RunSpec(
        name=script.stem,
        sql=script.read_text(),
        state_dir=Path(parameters["state"]),
        parallelism=parameters["parallelism"],
        upgrade=StateUpgrade() if parameters["upgrade"] else None,
        settings=replace(
            PLAIN_SETTINGS,
            max_epoch_rows=parameters["max_epoch_rows"],
            master=parameters["master"],
            memory="600m",
            quick=True,
            cluster=ClusterSettings(**parameters["cluster"]),
        ),
    )
    return until_end(spec, as_json=False)


@contextmanager
def _elsewhere(
    opened: Callable[..., AbstractContextManager[Mailbox]], port: int, *arguments: Any, **named: Any
) -> Iterator[Mailbox]:
    """Open a mailbox, and give another port for its own."""
    with opened(*arguments, **named) as mailbox:
        mailbox.address = replace(mailbox.address, port=port)
        yield mailbox


if __name__ == "__main__":
    sys.exit(main())
