"""A control plane that removes a savepoint, and is killed where its environment says."""

from __future__ import annotations

import sys
from pathlib import Path

from engine.control.changes import Changes
from engine.control.context import Context, LastReports
from engine.control.savepoints.savepoint_removal import finish
from engine.control.upgrades.rendezvous import Planner
from engine.jobs.disk import DataDirectory
from engine.store import savepoints
from engine.store.database import Database
from engine.store.jobs import jobs
from engine.store.pipelines import pipelines, versions
from engine.store.savepoints import Savepoint
from tests.api.conftest import T0, fake_plan, fake_take
from tests.databases import new_database
from tests.store.test_store import PIPELINE, STATUS, VERSION

SAVEPOINT = Savepoint("sp_aaaaaaaaaaaaaaaa", PIPELINE.id, None, T0, "completed", epoch=7)


def context_of(root: Path, database: Database) -> Context:
    """What the handlers work with, without anybody who would send a request."""
    return Context(
        database,
        DataDirectory(root),
        lambda: T0,
        lambda: None,
        Changes(),
        LastReports(),
        Planner(fake_plan),
        fake_take,
        "1.2.3",
        "me",
    )


def main(root: Path) -> None:
    """Remove a savepoint of two files."""
    database = new_database(DataDirectory(root))
    context = context_of(root, database)
    with database.writing() as connection:
        pipelines.add(connection, PIPELINE)
        versions.add(connection, VERSION)
        jobs.add(connection, STATUS)
        savepoints.add(connection, SAVEPOINT)
    folder = context.directory.savepoint(PIPELINE.id, SAVEPOINT.id)
    (folder / "checkpoint").mkdir(parents=True)
    (folder / "checkpoint" / "metadata").write_text("{}")
    (folder / "manifest.json").write_text("{}")
    with database.writing() as connection:
        savepoints.mark_deleting(connection, SAVEPOINT.id)
    finish(context, PIPELINE.id, [SAVEPOINT.id])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
