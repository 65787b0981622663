"""A control plane that takes a savepoint by schedule and drills it, and is killed where its environment says."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from engine.control.caretaker import Caretaker
from engine.control.context import Context
from engine.control.savepoints import take_savepoints
from engine.jobs.decisions.states import State
from engine.jobs.disk import DataDirectory
from engine.jobs.schedules.savepoint_schedule import Schedule
from engine.store import savepoints
from engine.store.database import Database, open_database
from engine.store.jobs import jobs
from engine.store.pipelines import pipelines, versions
from engine.store.savepoints import Savepoint, StoredSchedule
from tests.api import removal_that_dies
from tests.api.conftest import T0
from tests.databases import new_database
from tests.store.test_store import PIPELINE, STATUS, VERSION
from tests.system.conftest import until

DUE = T0 - timedelta(hours=3)
"""Four instants are due, the last one now."""


def context_of(root: Path, database: Database) -> Context:
    """What the handlers work with; drills leave a mark in the folder of the savepoint."""

    def play(folder: Path) -> str:
        (folder / "drilled").touch()
        return "3 rows were read"

    return replace(removal_that_dies.context_of(root, database), drill=play, settle_wait=timedelta(seconds=30))


def live(context: Context) -> Sequence[Savepoint]:
    """Do all that is to be done, as a control plane that has started; the savepoints that there are then."""
    take_savepoints.resume(context)
    for _ in range(4):
        Caretaker(context).look()
        until(lambda: context.in_hand, lambda in_hand: not in_hand)
        context.readers.submit(int).result()
    with context.database.reading() as connection:
        return savepoints.page(connection, PIPELINE.id, 10)


def main(root: Path) -> None:
    """Begin with a pipeline that runs and has a schedule."""
    database = new_database(DataDirectory(root))
    with database.writing() as connection:
        pipelines.add(connection, PIPELINE)
        versions.add(connection, VERSION)
        jobs.add(connection, replace(STATUS, state=State.RUNNING))
        stored = StoredSchedule(Schedule("0 * * * *", drill=True), DUE)
        savepoints.set_schedule(connection, PIPELINE.id, stored)
    live(context_of(root, database))


def go_on(root: Path) -> tuple[Sequence[Savepoint], StoredSchedule | None]:
    """What comes of it when another control plane goes on, as long as there is nothing new to do."""
    database = open_database(DataDirectory(root))
    context = context_of(root, database)
    found = live(context)
    with database.reading() as connection:
        stored = savepoints.schedule(connection, PIPELINE.id)
    context.workers.shutdown()
    context.readers.shutdown()
    database.close()
    return found, stored


if __name__ == "__main__":
    main(Path(sys.argv[1]))
