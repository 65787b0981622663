"""The golden cases on a cluster whose executors see no file of the driver: the output is that of one machine.

One session of Spark plays all of them. Each run has a mailbox and a prefix in the bucket of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.compile import compile_script
from engine.spark.jvm.cluster_conf import ClusterLaunch
from engine.spark.jvm.session import closing_session, open_session
from engine.spark.run.lifecycle import run_in
from engine.spark.run.mailbox import open_mailbox
from engine.spark.run.run_spec import RunSpec
from engine.spark.run.stop_control import Control
from engine.values.cluster import ClusterSettings
from tests.cluster.parts import PYTHON, Cluster
from tests.cluster.stores import ObjectStore, new_bucket
from tests.golden.case import CASES, is_golden, spec
from tests.joined import Joined
from tests.streams.play import play

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(3000)

RESTORED = ("updating_inner_join", "session_window")
"""Those that are stopped, too: a join of changelog rows, whose state is Python's, and sessions."""


@pytest.fixture(scope="module")
def store(store_urls: dict[str, str]) -> Iterator[ObjectStore]:
    """A bucket, reached by the variables of this process."""
    bucket = new_bucket(store_urls["moto"], "golden-on-a-cluster")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**bucket.environment, "ARROYO_NET_ALLOW": "127.0.0.1"}.items():
            patch.setenv(name, value)
        yield bucket


@pytest.fixture(scope="module")
def on_cluster(
    cluster: Cluster, store: ObjectStore, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    """A session on the cluster."""
    session = open_session(
        app_name="golden",
        log_dir=tmp_path_factory.mktemp("logs"),
        master=cluster.url,
        parallelism=2,
        memory="800m",
        quick=True,
        makes_archive=False,
        cluster=ClusterLaunch(_settings(store)),
    )
    with closing_session(session):
        yield session


def _settings(store: ObjectStore, name: str = "") -> ClusterSettings:
    return ClusterSettings(state_url=f"{store.url}/{name or 'none'}", executor_python=PYTHON, executor_memory="512m")


def there(run: RunSpec, cluster: Cluster, store: ObjectStore) -> RunSpec:
    settings = replace(run.settings, master=cluster.url, cluster=_settings(store, run.name))
    return replace(run, parallelism=2, settings=settings)


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


def test_every_golden_case_gives_the_output_of_one_machine(
    on_cluster: SparkSession, cluster: Cluster, store: ObjectStore, tmp_path: Path
) -> None:
    def of(case: str) -> Callable[[Path], RunSpec]:
        return lambda folder: there(spec(case, folder), cluster, store)

    def to_end(run: RunSpec) -> None:
        def once() -> None:
            assert run_in(on_cluster, run, Control()) == "finished"

        with_mailbox(on_cluster, run, once)

    joined = Joined({case: of(case) for case in CASES}, to_end, tmp_path)

    assert [case for case in CASES if not is_golden(case, joined.folder_of(case))] == []


@pytest.mark.parametrize("case", RESTORED)
def test_case_that_is_stopped_gives_the_output_of_one_machine(
    on_cluster: SparkSession, cluster: Cluster, store: ObjectStore, case: str, tmp_path: Path
) -> None:
    run = there(spec(case, tmp_path, in_epochs=True), cluster, store)

    def stopped_and_finished() -> None:
        assert play(on_cluster, run, stop_after=2)[0] == "stopped"
        outcome, reports = play(on_cluster, run)
        assert outcome == "finished"
        # of two partitions at least, as executors have told the driver
        assert sum(report.state_requests.get("changelog", 0) for report in reports) >= 2 * (len(reports) - 1) > 0

    with_mailbox(on_cluster, run, stopped_and_finished)

    assert is_golden(case, tmp_path)
    assert not (run.state_dir / "checkpoint" / "state").exists()
