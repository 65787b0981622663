"""The golden cases on a cluster, in one session: `python -m tests.cluster.goldens MASTER STATE_URL FOLDER`.

Each run has a mailbox and a prefix in the bucket of its own. The process is its own, as others may have a session.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.compile import compile_script
from engine.spark.jvm.conf import ClusterLaunch
from engine.spark.jvm.session import closing_session, open_session
from engine.spark.run.lifecycle import run_in
from engine.spark.run.mailbox import open_mailbox
from engine.spark.run.run_spec import RunSpec
from engine.spark.run.stop_control import Control
from engine.values.cluster import ClusterSettings
from tests.cluster.parts import PYTHON
from tests.golden.case import CASES, is_golden, spec
from tests.joined import Joined
from tests.streams.play import play

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RESTORED = ("updating_inner_join", "session_window")
"""Cases that are also stopped: a join of changelog rows, whose state is Python's, and sessions."""


def settings(url: str, name: str) -> ClusterSettings:
    return ClusterSettings(state_url=f"{url}/{name}", executor_python=PYTHON, executor_memory="512m")


def there(run: RunSpec, master: str, url: str) -> RunSpec:
    return replace(run, parallelism=2, settings=replace(run.settings, master=master, cluster=settings(url, run.name)))


def with_mailbox(spark: SparkSession, run: RunSpec, play_it: Callable[[], object]) -> None:
    """Play a run while its mailbox is open. Spark starts workers of their own for each environment."""
    tables = tuple(compile_script(run.sql, udfs=run.udfs).tables.values())
    environment = spark.sparkContext.environment
    with open_mailbox(run.state_dir, "127.0.0.1", "127.0.0.1", 0, tables=tables) as mailbox:
        environment.update(mailbox.environment)
        try:
            play_it()
        finally:
            for name in mailbox.environment:
                del environment[name]


def straight(spark: SparkSession, master: str, url: str, folder: Path) -> list[str]:
    """Return the cases whose output is wrong."""

    def of(case: str) -> Callable[[Path], RunSpec]:
        return lambda at: there(spec(case, at), master, url)

    def to_end(run: RunSpec) -> None:
        def once() -> None:
            assert run_in(spark, run, Control()) == "finished"

        with_mailbox(spark, run, once)

    joined = Joined({case: of(case) for case in CASES}, to_end, folder)
    return [case for case in CASES if not is_golden(case, joined.folder_of(case))]


def stopped(spark: SparkSession, master: str, url: str, folder: Path) -> list[str]:
    """Return the cases whose output is wrong after a stop in the middle."""
    wrong = []
    for case in RESTORED:
        at = folder / case
        at.mkdir(parents=True)
        run = there(spec(case, at, in_epochs=True), master, f"{url}/stopped")

        def twice(run: RunSpec = run) -> None:
            assert play(spark, run, stop_after=2)[0] == "stopped"
            outcome, reports = play(spark, run)
            assert outcome == "finished"
            # of two partitions at least, as executors have told the driver
            assert sum(report.state_requests.get("changelog", 0) for report in reports) >= 2 * (len(reports) - 1) > 0

        with_mailbox(spark, run, twice)
        if not is_golden(case, at) or (run.state_dir / "checkpoint" / "state").exists():
            wrong.append(case)
    return wrong


def main() -> int:
    """Print the cases whose output is wrong, as JSON."""
    master, url, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    session = open_session(
        app_name="golden",
        log_dir=folder / "logs",
        master=master,
        parallelism=2,
        memory="800m",
        quick=True,
        makes_archive=False,
        cluster=ClusterLaunch(settings(url, "none")),
    )
    with closing_session(session):
        found = {
            "straight": straight(session, master, url, folder / "straight"),
            "stopped": stopped(session, master, url, folder / "stopped"),
        }
    print(json.dumps(found))  # noqa: T201 - the test reads it
    return 0


if __name__ == "__main__":
    sys.exit(main())
