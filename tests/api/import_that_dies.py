"""A control plane that imports a savepoint, and is killed where its environment says."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from engine.api.savepoints.savepoint_moves import _run_import
from engine.control.savepoints.savepoint_holds import SavepointTask
from engine.jobs.disk import DataDirectory
from engine.store.jobs import jobs
from engine.store.pipelines import pipelines, versions
from tests.api.conftest import T0
from tests.api.removal_that_dies import SAVEPOINT, context_of
from tests.databases import new_database
from tests.store.test_store import PIPELINE, STATUS, VERSION


def main(root: Path, place: str) -> None:
    """Import it."""
    database = new_database(DataDirectory(root))
    context = context_of(root, database)
    with database.writing() as connection:
        pipelines.add(connection, PIPELINE)
        versions.add(connection, VERSION)
        jobs.add(connection, STATUS)
    context.holds.begin(SAVEPOINT.id, SavepointTask("import", T0))
    _run_import(context, replace(SAVEPOINT, state="pending", pinned=True), PIPELINE.job_id, place, None)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
