"""A new query is rehearsed beside the one that runs: what differs is found, and nothing else is touched."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.changes.row_difference import RehearsalReport
from engine.checkpoints import savepoints
from engine.checkpoints.restore import restore
from engine.compile import compile_script
from engine.errors import RehearsalError, RehearsalFailedError, StartPositionError
from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.run.stop_control import Control
from engine.spark.upgrade.rehearsal_plan import RehearsalSpec, plan_rehearsal
from engine.spark.upgrade.rehearse import rehearse
from engine.values.start_positions import EARLIEST
from tests.streams.play import START, play

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TABLES = """
CREATE TABLE clicks (ts TIMESTAMP NOT NULL, user TEXT, price BIGINT, id BIGINT, WATERMARK FOR ts)
WITH (connector = 'single_file', path = '{folder}/clicks', format = 'json', type = 'source');
CREATE TABLE counts (start TIMESTAMP, user TEXT, n BIGINT)
WITH (connector = 'single_file', path = '{folder}/counts', format = 'json', type = 'sink');
CREATE TABLE totals (user TEXT, s BIGINT)
WITH (connector = 'single_file', path = '{folder}/totals', format = 'debezium_json', type = 'sink');
CREATE TABLE plain (id BIGINT, price BIGINT)
WITH (connector = 'single_file', path = '{folder}/plain', format = 'json', type = 'sink');
"""
COUNTS = """
INSERT INTO counts SELECT w.start, user, n FROM (
  SELECT tumble(INTERVAL '10 minutes') AS w, user, count(*) AS n FROM clicks GROUP BY w, user
);
"""
TOTALS = "INSERT INTO totals SELECT user, sum(price) AS s FROM clicks GROUP BY user;"
PLAIN = "INSERT INTO plain SELECT id, price FROM clicks;"
BEFORE, ROWS = 2_000, 102_000
PLANTED = 77_777


class Story:
    """A pipeline that has committed its first epoch; the rest of its input waits."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.state = folder / "state"

    def sql(self, queries: str) -> str:
        return TABLES.format(folder=self.folder) + queries

    def write(self, first: int, last: int) -> None:
        with (self.folder / "clicks").open("a") as file:
            for number in range(first, last):
                at = (START + timedelta(seconds=number)).isoformat().replace("+00:00", "Z")
                row = {"ts": at, "user": f"u{number % 50}", "price": number % 97, "id": number}
                file.write(json.dumps(row) + "\n")

    def begin(self, queries: str) -> None:
        """Run to the end of the first epoch, and save it."""
        spec = RunSpec("job", self.sql(queries), self.state, settings=replace(PLAIN_SETTINGS, max_epoch_rows=BEFORE))
        assert play(self.spark, spec, stop_after=0)[0] == "stopped"
        self.savepoint = self.folder / "sp_1"
        savepoints.take_aside(self.state, self.savepoint, lambda: datetime.now(UTC))

    def rehearse(self, queries: str, on_step: Callable[[str], None] = lambda _: None) -> RehearsalReport:
        return self.rehearse_script(self.sql(queries), on_step)

    def rehearse_script(self, script: str, on_step: Callable[[str], None] = lambda _: None) -> RehearsalReport:
        (self.folder / "scratch").mkdir()
        planned = plan_rehearsal(RehearsalSpec(self.savepoint, script))
        return rehearse(planned, self.folder / "scratch", lambda: self.spark, Control(), on_step)

    def digest(self) -> str:
        """Of all that is the pipeline's: its state and what it has written."""
        files = sorted(path for path in self.state.rglob("*") if path.is_file())
        files += [self.folder / name for name in ("counts", "totals", "plain")]
        texts = [f"{path} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in files if path.exists()]
        return "\n".join(texts)


@pytest.fixture
def story(spark: SparkSession, tmp_path: Path) -> Story:
    return Story(spark, tmp_path)


def test_rehearsal_finds_one_different_row_and_changes_nothing(story: Story) -> None:
    find_other_row(story, rows=6_000, planted=4_777)


def test_rehearsal_finds_one_different_row_in_a_hundred_thousand(story: Story) -> None:
    find_other_row(story, ROWS, PLANTED)


def find_other_row(story: Story, rows: int, planted: int) -> None:
    """Rehearse a query that changes one row, and check that the report names that row alone."""
    story.write(0, rows)
    story.begin(COUNTS + TOTALS + PLAIN)
    before = story.digest()

    price = f"CASE WHEN id = {planted} THEN price + 1 ELSE price END AS price"
    report = story.rehearse(COUNTS + TOTALS + PLAIN.replace("price", price))

    counts, plain, totals = report.sinks
    assert report.rows_in == {"clicks": rows - BEFORE}
    assert (plain.rows_old, plain.rows_new) == (rows - BEFORE, rows - BEFORE)
    assert (plain.only_old, plain.only_new) == (1, 1)
    assert [(json.loads(row.row), row.is_new) for row in plain.examples] == [
        ({"id": planted, "price": planted % 97}, False),
        ({"id": planted, "price": planted % 97 + 1}, True),
    ]
    assert not counts.differs
    assert not totals.differs
    # windows that were open at the savepoint are whole, which all were, and the last one is closed
    assert counts.rows_old == sum(
        len({number % 50 for number in range(start, min(start + 600, rows))}) for start in range(0, rows, 600)
    )
    assert story.digest() == before


def test_rows_that_change_are_compared_as_they_are_in_the_end(story: Story) -> None:
    story.write(0, BEFORE + 500)
    story.begin(TOTALS)

    report = story.rehearse(
        "INSERT INTO totals SELECT user, s FROM (SELECT user, sum(price) AS s FROM clicks GROUP BY user) "
        "WHERE user <> 'u7';"
    )

    [totals] = report.sinks
    # the new one leaves the row of u7 as it was written before
    assert (totals.only_old, totals.only_new) == (1, 1)
    assert {json.loads(example.row)["user"] for example in totals.examples} == {"u7"}


def test_a_new_column_and_a_new_sink_make_no_difference_and_are_named(story: Story) -> None:
    story.write(0, BEFORE + 500)
    story.begin(PLAIN)

    wider = story.sql("").replace("plain (id BIGINT, price BIGINT)", "plain (id BIGINT, price BIGINT, user TEXT)")
    queries = COUNTS + "INSERT INTO plain SELECT id, price, user FROM clicks;"
    report = story.rehearse_script(wider + queries)

    counts, plain = report.sinks
    assert not report.differs
    assert (counts.rows_old, plain.added_columns, plain.columns) == (None, ("user",), ("id", "price"))
    assert counts.rows_new


def test_rows_that_arrive_during_a_rehearsal_make_no_difference(story: Story) -> None:
    story.write(0, BEFORE + 500)
    story.begin(COUNTS + PLAIN)

    report = story.rehearse(
        COUNTS + PLAIN, on_step=lambda step: story.write(BEFORE + 500, BEFORE + 600) if "running" in step else None
    )

    assert not report.differs
    assert report.rows_in == {"clicks": 500}


def test_input_that_is_not_the_same_twice_is_not_compared(story: Story) -> None:
    story.write(0, BEFORE + 500)
    story.begin(PLAIN)

    def change(step: str) -> None:
        if step == "running the new query":
            *lines, last = (story.folder / "clicks").read_text().splitlines()
            (story.folder / "clicks").write_text("\n".join(lines) + " " * (len(last) + 1) + "\n")

    with pytest.raises(RehearsalError, match="has read 500 rows of it, and the new one 499"):
        story.rehearse(PLAIN, on_step=change)


def test_a_query_that_fails_is_named(story: Story) -> None:
    story.write(0, BEFORE + 500)
    story.begin(PLAIN)

    with pytest.raises(RehearsalFailedError, match="the new query fails"):
        story.rehearse("INSERT INTO plain SELECT id, CAST(user AS BIGINT) FROM clicks;")


def test_rows_that_cannot_be_read_again_are_an_error_that_says_so(story: Story) -> None:
    story.write(0, BEFORE + 500)
    story.begin(PLAIN)

    def damage(step: str) -> None:
        if step == "comparing the rows":
            [*_, file] = (story.folder / "scratch" / "new").rglob("*.parquet")
            file.write_bytes(b"PAR1")

    with pytest.raises(RehearsalFailedError, match="the rows cannot be compared"):
        story.rehearse(PLAIN, damage)


def test_a_savepoint_restores_as_before_once_it_was_rehearsed(story: Story) -> None:
    story.write(0, BEFORE + 500)
    story.begin(PLAIN)
    story.rehearse(PLAIN)

    savepoints.verify(story.savepoint)
    restore(story.savepoint, story.state, allow_replay=True)
    play(story.spark, RunSpec("job", story.sql(PLAIN), story.state))
    assert len((story.folder / "plain").read_text().splitlines()) == BEFORE + 500


def test_windows_that_are_held_back_are_only_in_the_old_query_and_positions_that_do_not_count_are_refused(
    story: Story,
) -> None:
    story.write(0, 3 * BEFORE)
    story.begin(COUNTS)
    script = story.sql(COUNTS.replace("count(*) AS n", "count(*) + 0 * max(price) AS n"))
    [operator] = compile_script(script).operators
    (story.folder / "scratch").mkdir()
    with pytest.raises(StartPositionError, match="clicks goes on from where its state has it"):
        plan_rehearsal(RehearsalSpec(story.savepoint, script, start_from={"clicks": EARLIEST}))

    planned = plan_rehearsal(RehearsalSpec(story.savepoint, script, hold_back=(operator.id,)))
    report = rehearse(planned, story.folder / "scratch", lambda: story.spark, Control())

    [counts] = report.sinks
    assert counts.rows_old is not None
    # the four windows that had rows at the savepoint were all open, each with 50 users
    assert (counts.only_old, counts.only_new, counts.rows_new) == (200, 0, counts.rows_old - 200)
