"""Work of a driver with Spark."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import asdict, fields
from datetime import timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal

from engine.checkpoints import doctor, rescale, restore
from engine.driver.control_plane_client import StopMode
from engine.driver.run_log import RunListener
from engine.driver.shared.jvm_lease import JavaWish, JvmLease, host_directory, host_environment, leased_jvm
from engine.jobs.decisions.spec import Upgrade
from engine.jobs.disk import DataDirectory
from engine.jobs.processes.assignment import Assignment
from engine.spark.jvm.session import close_session, closing_session, open_session
from engine.spark.run.lifecycle import run
from engine.spark.run.run_spec import RunSpec, StateUpgrade
from engine.spark.run.stop_control import Control
from engine.spark.run.warm_session import WarmSession
from engine.udf.declared import name_files
from engine.values.run_settings import RunSettings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SparkWork:
    """Runs queries and changes their state."""

    def __init__(self) -> None:
        self._control = Control()
        self._warm: WarmSession | None = None
        self._warming = Control()
        self._lock: IO[str] | None = None

    def warm_up(self, directory: Path) -> None:
        """Open a session of the usual kind, and warm it up."""
        self._warm = WarmSession.open(directory, self._warming)

    def hurry(self) -> None:
        """Stop warming up: the session that is there will do."""
        self._warming.stop("immediate")

    def is_warm(self) -> bool:
        """Whether that session is there, and lives."""
        return self._warm is not None and self._warm.is_alive

    def stop(self, mode: StopMode) -> None:
        """Make `run` return soon."""
        self._control.stop(mode)

    def hold(self, lock: IO[str]) -> None:
        """Work under that lock."""
        self._lock = lock

    def run(self, assignment: Assignment, listener: RunListener) -> Literal["finished", "stopped"]:
        """Run the query until its input ends or it is stopped."""
        settings, wish = assignment.settings, assignment.upgrade
        spec = RunSpec(
            name=assignment.name,
            sql=assignment.query,
            state_dir=assignment.state_dir,
            parallelism=assignment.parallelism,
            generation=assignment.generation,
            force=assignment.force,
            upgrade=None if wish is None else state_upgrade(wish),
            epoch_interval=timedelta(seconds=assignment.checkpoint_interval_seconds or 0),
            settings=settings,
            udfs=name_files(assignment.udfs),
            connections=assignment.connections,
            owner=assignment.pipeline_id,
            predecessors=assignment.predecessors,
        )
        if settings.is_shared:
            with leased_jvm(self._place(assignment, settings)) as place:
                listener.shares(place.look)
                outcome = run(spec, self._control, listener.report, listener.started, listener.sign, place.move_in)
                if outcome == "stopped" and self._control.mode is None and (death := place.death()) is not None:
                    raise death  # a Java that is ended stops its queries
                return outcome
        if self._warm is None:
            return run(spec, self._control, listener.report, listener.started, listener.sign)
        with closing_session(self._warm.spark):
            return run(spec, self._control, listener.report, listener.started, listener.sign, self._warm.take_over)

    def _place(self, assignment: Assignment, settings: RunSettings) -> JvmLease:
        """Lease the shared JVM for the run."""
        assert self._lock is not None
        environment = host_environment(os.environ)
        wish = JavaWish.of(settings.memory, settings.master, is_quick=settings.quick)
        hosts = DataDirectory(assignment.server_file.parent).hosts
        name = f"{assignment.job_id}/{assignment.generation}"
        directory = host_directory(hosts, wish, environment)
        return JvmLease(directory, wish, environment, name, self._lock, has_functions=bool(assignment.udfs))

    def rescale(self, state: Path, parallelism: int) -> None:
        """Lay the state out for that many tasks, on a copy that then takes its place."""
        with ExitStack() as opened:

            def open_spark() -> SparkSession:
                spark = open_session(
                    app_name="rescale",
                    log_dir=state / "logs",
                    parallelism=parallelism,
                    quick=True,
                    makes_archive=False,
                )
                opened.callback(close_session, spark)
                return spark

            rescale.repartition(state, parallelism, open_spark)

    def restore(
        self, savepoint: Path, state: Path, allow_replay: bool, save_as: str | None, is_fork: bool = False
    ) -> None:
        """Put a savepoint where the state is."""
        restore.restore(savepoint, state, allow_replay=allow_replay, save_as=save_as, is_fork=is_fork)

    def drill(self, savepoint: Path, scratch: Path) -> doctor.DrillReport:
        """Restore a savepoint into a scratch directory, and read all its state."""
        with ExitStack() as opened:

            def open_spark() -> SparkSession:
                spark = open_session(
                    app_name="drill", log_dir=scratch / "logs", memory="1g", quick=True, makes_archive=False
                )
                opened.callback(close_session, spark)
                return spark

            return doctor.drill(savepoint, scratch, open_spark)


def state_upgrade(wish: Upgrade) -> StateUpgrade:
    """Return the part of an upgrade that concerns a run."""
    parts = asdict(wish)
    return StateUpgrade(**{field.name: parts[field.name] for field in fields(StateUpgrade)})
