from __future__ import annotations

import pkgutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path

import pytest
from sqlalchemy import inspect

import engine.store
from engine.checkpoints.saved_query import SavedQuery
from engine.errors import Cause, DataDirLockedError, PipelineNotFoundError, StaleWriteError
from engine.jobs.actors import JobRecord
from engine.jobs.decisions.spec import Pipeline, Spec, StopRequest, Version
from engine.jobs.decisions.states import State
from engine.jobs.decisions.status import Failure, Goodbye, JobEvent, Progress, Run, Status
from engine.jobs.disk import DataDirectory
from engine.store import savepoints
from engine.store.access import keys, tokens
from engine.store.access.keys import KeptAnswer
from engine.store.database import METADATA, Database, open_database
from engine.store.jobs import checkpoints, events, jobs, runs
from engine.store.jobs.records import StoredRecords, read_record
from engine.store.migrations import MIGRATIONS
from engine.store.pipelines import deletions, pipelines, versions
from engine.values.epoch_report import EpochReport
from engine.values.start_positions import StartStep
from tests.databases import new_database

for _module in pkgutil.walk_packages(engine.store.__path__, "engine.store."):
    import_module(_module.name)  # tables are known once their modules are imported

T0 = datetime(2026, 1, 1, tzinfo=UTC)
PIPELINE = Pipeline("pl_aaaaaaaaaaaaaaaa", "orders", "job_aaaaaaaaaaaaaaaa", 1, 2, T0)
VERSION = Version(
    PIPELINE.id,
    1,
    Spec("SELECT 1", ("def f(): ...",), {"a": "b"}, timedelta(seconds=5)),
    "p",
    "{}",
    T0,
    meaning="m",
    objects="o",
)
STATUS = Status(PIPELINE.job_id, PIPELINE.id, State.CREATED, T0, T0)
RUN = Run(PIPELINE.job_id, PIPELINE.id, 1, "hash", 1, 2, T0)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = new_database(DataDirectory(tmp_path))
    with opened.writing() as connection:
        pipelines.add(connection, PIPELINE)
        versions.add(connection, VERSION)
        jobs.add(connection, STATUS)
    yield opened
    opened.close()


def report(epoch: int) -> EpochReport:
    return EpochReport(
        epoch=epoch,
        rows_in=1,
        rows_out=1,
        rows_per_second=1.0,
        duration=timedelta(seconds=1),
        watermark=T0,
        source_watermarks={"a": T0, "b": None},
        at=T0,
    )


def test_stored_values_are_read_back(database: Database) -> None:
    with database.reading() as connection:
        assert read_record(connection, PIPELINE.id) == JobRecord(PIPELINE, STATUS, None)
        assert versions.get(connection, PIPELINE.id, 1) == VERSION


@pytest.mark.parametrize(
    ("objects", "alike"),
    [
        (["o", "o", "p", ""], [1, 1, 2, 3]),
        (["o", None, "p", None], [1, 2, 2, 3]),  # nobody has written down anything: like the next one
    ],
)
def test_versions_whose_objects_others_can_read_are_bound_to_different_states(
    database: Database, objects: list[str | None], alike: list[int]
) -> None:
    with database.writing() as connection:
        for number, text in enumerate(objects[1:], 2):
            versions.add(connection, replace(VERSION, number=number, objects=text))
        plans = versions.all_plans(connection, PIPELINE.id, len(objects))

    names = {plan: name for name, plan in enumerate(dict.fromkeys(plans.values()), 1)}
    assert [names[plans[number]] for number in sorted(plans)] == alike


OF_O = SavedQuery("p", objects="o", sql="SELECT 1", udfs=("def f(): ...",))


@pytest.mark.parametrize(
    ("state", "number", "version"),
    [
        (OF_O, None, 4),  # the newest of those that are spelled so
        (OF_O, 1, 1),  # what it was called where it was saved
        (OF_O, 2, 4),  # but never one with objects that others read
        (replace(OF_O, sql="SELECT  1"), 1, 3),  # what is spelled so goes before what was called so
        (replace(OF_O, udfs=()), None, 5),
        (replace(OF_O, objects="p"), None, 2),
        (replace(OF_O, objects=None), None, 4),  # where nobody has written that down, the plan decides
        (replace(OF_O, objects="q"), 1, None),
        (replace(OF_O, fingerprint="q"), 1, None),
        (SavedQuery("p"), None, 5),
        (SavedQuery("p"), 2, 2),
    ],
)
def test_a_state_is_of_the_version_that_it_is_bound_to_and_spelled_as(
    database: Database, state: SavedQuery, number: int | None, version: int | None
) -> None:
    others = [
        replace(VERSION, number=2, objects="p"),
        replace(VERSION, number=3, spec=replace(VERSION.spec, query="SELECT  1")),
        replace(VERSION, number=4, spec=replace(VERSION.spec, settings={"a": "c"})),
        replace(VERSION, number=5, spec=replace(VERSION.spec, udfs=())),
        replace(VERSION, number=6, spec=replace(VERSION.spec, udfs=())),
    ]
    with database.writing() as connection:
        for other in others:
            versions.add(connection, other)

    with database.reading() as connection:
        assert versions.of_saved(connection, PIPELINE.id, 5, state, number) == version


def test_requester_of_a_stop_is_read_back(database: Database) -> None:
    stopped = replace(PIPELINE, stop="force", stop_request=StopRequest("ann", T0))
    with database.writing() as connection:
        written = pipelines.update(connection, stopped)

    with database.reading() as connection:
        assert pipelines.get(connection, PIPELINE.id) == written == replace(stopped, revision=1)


def test_a_data_directory_has_one_owner(database: Database, tmp_path: Path) -> None:
    with pytest.raises(DataDirLockedError, match=str(tmp_path)):
        open_database(DataDirectory(tmp_path))


def test_a_data_directory_whose_owner_has_gone_can_be_opened_again(database: Database, tmp_path: Path) -> None:
    database.close()

    again = open_database(DataDirectory(tmp_path))

    with again.reading() as connection:
        assert pipelines.get(connection, "orders") == PIPELINE
    again.close()


def test_commit_survives_a_power_loss(database: Database) -> None:
    with database.reading() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2


def test_the_database_is_for_its_owners_eyes(database: Database, tmp_path: Path) -> None:
    assert (tmp_path / "arroyo.db").stat().st_mode & 0o077 == 0


def test_migrations_make_the_tables_that_the_records_describe(database: Database) -> None:
    inspector = inspect(database.engine)
    assert {deletions.DELETIONS.name, savepoints.SAVEPOINTS.name, tokens.TOKENS.name} < set(METADATA.tables)
    assert set(inspector.get_table_names()) == set(METADATA.tables)
    for name, table in METADATA.tables.items():
        assert [column["name"] for column in inspector.get_columns(name)] == [column.name for column in table.columns]


def test_migrations_are_applied_once(database: Database, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "arroyo.db") as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
    connection.close()


def test_a_name_is_given_once(database: Database) -> None:
    with database.writing() as connection:
        assert not pipelines.add(connection, replace(PIPELINE, id="pl_bbbbbbbbbbbbbbbb", job_id="job_b"))


def test_a_pipeline_is_found_by_id_before_it_is_found_by_name(database: Database) -> None:
    sly = replace(PIPELINE, id="pl_bbbbbbbbbbbbbbbb", job_id="job_b", name=PIPELINE.id)
    with database.writing() as connection:
        pipelines.add(connection, sly)
        assert pipelines.get(connection, PIPELINE.id) == PIPELINE
        with pytest.raises(PipelineNotFoundError):
            pipelines.get(connection, "nope")


def test_a_write_based_on_an_old_reading_is_refused(database: Database) -> None:
    with database.writing() as connection:
        pipelines.update(connection, replace(PIPELINE, stop="checkpoint"))
    with pytest.raises(StaleWriteError), database.writing() as connection:
        pipelines.update(connection, replace(PIPELINE, stop="force"))


def test_a_launch_does_not_overtake_a_stop(database: Database, tmp_path: Path) -> None:
    records = StoredRecords(database, DataDirectory(tmp_path))
    [before] = records.active()
    with database.writing() as connection:
        pipelines.update(connection, replace(PIPELINE, stop="checkpoint"))

    after = JobRecord(before.pipeline, replace(before.status, state=State.SCHEDULING, generation=1), RUN)

    assert not records.save(before, after, None)
    with database.reading() as connection:
        assert runs.find(connection, PIPELINE.job_id, 1) is None


def test_a_new_generation_closes_the_one_before(database: Database, tmp_path: Path) -> None:
    records = StoredRecords(database, DataDirectory(tmp_path))
    [before] = records.active()
    first = JobRecord(PIPELINE, replace(STATUS, state=State.SCHEDULING, generation=1), RUN)
    assert records.save(before, first, JobEvent(PIPELINE.job_id, T0, "info", "started"))
    [second] = records.active()
    assert second.run == RUN

    later = replace(RUN, generation=2, launched_at=T0 + timedelta(minutes=1))
    assert records.save(second, JobRecord(PIPELINE, replace(second.status, generation=2), later), None)

    with database.reading() as connection:
        old = runs.find(connection, PIPELINE.job_id, 1)
        assert old is not None
        assert old.ended_at == T0 + timedelta(minutes=1)
        assert read_record(connection, PIPELINE.id).run == later
        assert [event.message for event in events.latest(connection, PIPELINE.job_id, 10)] == ["started"]


def test_jobs_at_rest_are_looked_at_only_when_something_is_wanted(database: Database, tmp_path: Path) -> None:
    records = StoredRecords(database, DataDirectory(tmp_path))
    with database.writing() as connection:
        jobs.update(connection, STATUS, replace(STATUS, state=State.FAILED, version=1))
    assert records.active() == []

    with database.writing() as connection:
        pipelines.update(connection, replace(PIPELINE, restarts_asked=1))

    assert [record.pipeline.id for record in records.active()] == [PIPELINE.id]


def test_a_runs_story_is_kept(database: Database) -> None:
    bye = Goodbye("failed", Failure("sql.x", "no", "try", Cause.OUTAGE))
    with database.writing() as connection:
        runs.add(connection, RUN)
        runs.set_process(connection, RUN, 42, "7")
        runs.set_hello(connection, RUN, T0, 2)
        runs.set_running(connection, RUN, T0)
        runs.set_goodbye(connection, RUN, bye)
        runs.end(connection, RUN.job_id, 1, T0)
        run = runs.find(connection, RUN.job_id, 1)

    assert run == replace(RUN, pid=42, born="7", hello_at=T0, wire=2, running_at=T0, goodbye=bye, ended_at=T0)


def test_a_version_that_was_forced_is_so_until_its_first_epoch_begins(database: Database, tmp_path: Path) -> None:
    records = StoredRecords(database, DataDirectory(tmp_path))
    with database.writing() as connection:
        versions.add(connection, replace(VERSION, number=2, force=True))
        runs.add(connection, replace(RUN, version=2))
        runs.set_step(connection, RUN, StartStep.PLANNING)
    assert records.version(PIPELINE.id, 2).force

    with database.writing() as connection:
        runs.set_step(connection, RUN, StartStep.FIRST_EPOCH)

    assert not records.version(PIPELINE.id, 2).force


def test_cause_of_a_failure_and_number_of_restarts_are_stored(database: Database) -> None:
    failure = Failure("data.source_unavailable", "no broker", None, Cause.OUTAGE)
    after = replace(STATUS, failure=failure, outages=3, restarts=7, restart_code=failure.code, failure_times=(T0, T0))
    with database.writing() as connection:
        assert jobs.update(connection, STATUS, after)

        assert jobs.get(connection, STATUS.job_id) == replace(after, revision=1)


def test_progress_is_not_written_back_by_who_only_changes_the_state(database: Database) -> None:
    with database.writing() as connection:
        jobs.advance(connection, STATUS.job_id, Progress(9, T0, {"a": None}))
        assert jobs.update(connection, STATUS, replace(STATUS, state=State.SCHEDULING))

        assert jobs.get(connection, STATUS.job_id).progress == Progress(9, T0, {"a": None})


def test_the_newest_hundred_epochs_are_kept(database: Database) -> None:
    with database.writing() as connection:
        checkpoints.add(connection, STATUS.job_id, 1, [report(epoch) for epoch in range(150)])
        checkpoints.add(connection, STATUS.job_id, 1, [report(149)])
        reports = checkpoints.latest(connection, STATUS.job_id, 1000)

    assert [epoch.epoch for epoch in reports] == list(range(149, 49, -1))
    assert reports[0] == report(149)


def test_an_answer_is_kept_for_thirty_days_under_its_key(database: Database) -> None:
    answer = KeptAnswer("digest", 201, '"etag"', b"{}")
    late = T0 + timedelta(days=30, seconds=1)
    with database.writing() as connection:
        keys.add(connection, "k", answer, T0)
        assert keys.find(connection, "k", T0 + timedelta(days=30)) == answer
        assert keys.find(connection, "k", late) is None

        keys.add(connection, "k", replace(answer, digest="another"), late)
        keys.add(connection, "l", answer, late)
        assert keys.find(connection, "k", late) == replace(answer, digest="another")


def test_a_deleted_pipeline_leaves_nothing_but_the_answers_of_its_keys_and_the_change_that_it_is_gone(
    database: Database,
) -> None:
    with database.writing() as connection:
        keys.add(connection, "k", KeptAnswer("digest", 201, None, b"{}"), T0)
        runs.add(connection, RUN)
        checkpoints.add(connection, STATUS.job_id, 1, [report(1)])
        pipelines.remove(connection, PIPELINE)
        rows = {
            name: connection.exec_driver_sql(f"SELECT count(*) FROM {name}").scalar_one() for name in METADATA.tables
        }

    assert {name: count for name, count in rows.items() if count} == {"keys": 1, "changes": 1, "change_log": 1}
