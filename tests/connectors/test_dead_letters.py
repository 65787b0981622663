"""Records that cannot be decoded and are kept: whole, with where they were and what is wrong, and once."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.compile import compile_script
from engine.connectors.base import DeadLetter, SinkContext
from engine.connectors.dead_letters import DeadLetterFile
from engine.delivery.ownership import MARK as OWNER_MARK
from engine.errors import UnwritableTargetError
from engine.spark.run.epoch import EpochPart
from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import PLAIN_SETTINGS
from engine.spark.write.dead_letters import DeadLetterNotes, noted_dead_letters
from engine.spark.write.targets import Target
from tests.streams.play import Step, at, kill_in_epoch, play, read_rows, write_script

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCRIPT = """
CREATE TABLE input (n BIGINT NOT NULL) WITH (
  connector = 'filesystem', path = '{folder}/in', type = 'source', format = '{form}',
  bad_data = 'dead_letter', 'dead_letter.path' = '{folder}/letters'
);
CREATE TABLE output (n BIGINT)
WITH (connector = 'single_file', path = '{folder}/out.json', format = 'json', type = 'sink');
INSERT INTO output SELECT n FROM input;
"""


def spec_of(folder: Path, form: str = "json", **changes: int) -> RunSpec:
    (folder / "in").mkdir()
    return RunSpec(
        "letters",
        SCRIPT.format(folder=folder, form=form),
        folder / "state",
        settings=replace(PLAIN_SETTINGS, **changes),
    )


def dead_letters_in(folder: Path) -> list[dict[str, str]]:
    return [json.loads(line) for file in sorted(folder.glob("letters/*")) for line in file.read_text().splitlines()]


def test_good_records_go_on_and_bad_ones_are_kept_once_through_a_crash(spark: SparkSession, tmp_path: Path) -> None:
    spec = spec_of(tmp_path, max_epoch_rows=2)
    (tmp_path / "in/a.json").write_bytes(b'{"n": 1}\n{"n": "one"}\n{"n": 2}\nnothing\n\xff{\n{"n": null}\n{"n": 3}\n')

    kill_in_epoch(spec, 0)
    outcome, _ = play(spark, spec)

    assert outcome == "finished"
    assert [row["n"] for row in read_rows(tmp_path / "out.json")] == [1, 2, 3]
    letters = dead_letters_in(tmp_path)
    assert sorted(letter["origin"].rsplit(", ")[1] for letter in letters) == ["line 2", "line 4", "line 5", "line 6"]
    assert {letter.get("record") for letter in letters} == {'{"n": "one"}', "nothing", '{"n": null}', None}
    assert all(letter["table"] == "input" and letter["error"] for letter in letters)


INTO_A_TABLE = """
CREATE TABLE input (n BIGINT NOT NULL) WITH (
  connector = 'filesystem', path = '{folder}/in', type = 'source', format = 'json',
  bad_data = 'dead_letter', dead_letter.table = 'LETTERS'
);
CREATE TABLE letters (record {kind}, error TEXT, origin TEXT, source TEXT) WITH (
  connector = '{connector}', path = '{folder}/letters', type = 'sink', format = 'json'
);
CREATE TABLE output (n BIGINT)
WITH (connector = 'single_file', path = '{folder}/out.json', format = 'json', type = 'sink');
INSERT INTO output SELECT n FROM input;
"""


@pytest.mark.parametrize(("connector", "kind"), [("single_file", "TEXT"), ("filesystem", "BYTEA")])
def test_a_table_takes_each_bad_record_once_through_a_crash(
    connector: str, kind: str, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    sql = INTO_A_TABLE.format(folder=tmp_path, connector=connector, kind=kind)
    spec = RunSpec("letters", sql, tmp_path / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=2))
    (tmp_path / "in/a.json").write_bytes(b'{"n": 1}\n{"n": "one"}\n{"n": 2}\nnothing\n\xff{\n{"n": null}\n{"n": 3}\n')

    kill_in_epoch(spec, 0)
    outcome, reports = play(spark, spec)

    place = tmp_path / "letters"
    inside = sorted(path for path in place.iterdir() if path.name != OWNER_MARK) if place.is_dir() else [place]
    letters = [row for path in inside for row in read_rows(path)]
    assert outcome == "finished"
    assert [row["n"] for row in read_rows(tmp_path / "out.json")] == [1, 2, 3]
    records = ['{"n": "one"}', "nothing", "\ufffd{", '{"n": null}']
    raw = ["eyJuIjogIm9uZSJ9", "bm90aGluZw==", "/3s=", "eyJuIjogbnVsbH0="]
    assert [row["record"] for row in letters] == (records if kind == "TEXT" else raw)
    assert [str(row["origin"]).rsplit(", ")[1] for row in letters] == ["line 2", "line 4", "line 5", "line 6"]
    assert all(row["source"] == "input" and row["error"] for row in letters)
    assert reports[-1].dropped_rows == 4


BESIDE_ANOTHER_TABLE = """
CREATE TABLE events (ts TIMESTAMP NOT NULL, key TEXT, WATERMARK FOR ts)
WITH (connector = 'scripted', path = '{folder}/script.json');
CREATE TABLE lines (n BIGINT NOT NULL) WITH (
  connector = 'single_file', path = '{folder}/lines', type = 'source', format = 'json',
  bad_data = 'dead_letter', dead_letter.table = 'letters'
);
CREATE TABLE letters (record TEXT) WITH (
  connector = 'single_file', path = '{folder}/letters', type = 'sink', format = 'json'
);
CREATE TABLE output (n BIGINT)
WITH (connector = 'single_file', path = '{folder}/out.json', format = 'json', type = 'sink');
CREATE TABLE windows (n BIGINT)
WITH (connector = 'single_file', path = '{folder}/windows.json', format = 'json', type = 'sink');
INSERT INTO output SELECT n FROM lines;
INSERT INTO windows SELECT n FROM (
  SELECT tumble(INTERVAL '1 minute') AS w, count(*) AS n FROM events GROUP BY w
);
"""


def test_a_bad_record_is_taken_once_however_many_epochs_another_table_has_after_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    steps = [Step(timedelta(minutes=tick), {"p": [{"ts": at(tick), "key": "k"}]}) for tick in range(5)]
    write_script(tmp_path / "script.json", steps)
    (tmp_path / "lines").write_text('{"n": 1}\n{"n": "one"}\n{"n": 2}\n')

    outcome, reports = play(spark, RunSpec("letters", BESIDE_ANOTHER_TABLE.format(folder=tmp_path), tmp_path / "state"))

    assert outcome == "finished"
    assert [row["record"] for row in read_rows(tmp_path / "letters")] == ['{"n": "one"}']
    assert sum(report.tables["lines"].rows_in or 0 for report in reports) == 2
    assert {report.dropped_rows for report in reports} == {1}


def test_a_table_of_dead_letters_that_keeps_files_open_wakes_a_silent_source(tmp_path: Path) -> None:
    sql = INTO_A_TABLE.format(folder=tmp_path, connector="filesystem", kind="TEXT")
    program = compile_script(sql.replace("/letters', type", "/letters', rolling_policy.interval = '10 seconds', type"))
    box = Target(program.tables["letters"], SinkContext(tmp_path))

    assert program.dead_letter_tables == {"letters": {"input"}}
    assert EpochPart(program.parts, [], program.tables, [box]).wakes_after == timedelta(seconds=5)


def test_dead_letters_of_another_range_with_the_same_end_are_not_those_of_this_one(tmp_path: Path) -> None:
    def leave(index: int, planned: int, *letters: DeadLetter) -> None:
        notes = DeadLetterNotes(tmp_path, "p", index, 9, planned)
        notes.add(letters)
        notes.close()

    first, second, third = (DeadLetter(f"offset {number}", "wrong", b"x") for number in (6, 7, 8))
    leave(0, 100, first, second)
    leave(1, 100, third)
    leave(0, 200)
    leave(1, 200, third)

    assert list(noted_dead_letters(tmp_path, "p", 2, 9, 200)) == [third]


def test_a_range_that_another_reader_has_cut_otherwise_before_keeps_each_dead_letter_once(tmp_path: Path) -> None:
    first, second = (DeadLetter(f"offset {number}", "wrong", b"x") for number in (7, 8))
    for index, letters in ((1, [second]), (0, [first, second])):
        notes = DeadLetterNotes(tmp_path, "p", index, 9, 100)
        notes.add(letters)
        notes.close()

    assert list(noted_dead_letters(tmp_path, "p", 2, 9, 100)) == [first, second]


def test_rows_of_parquet_are_kept_as_json(spark: SparkSession, tmp_path: Path) -> None:
    spec = spec_of(tmp_path, "parquet")
    pq.write_table(pa.table({"n": pa.array([1, None, 3], pa.int64())}), tmp_path / "in/a.parquet")

    play(spark, spec)

    assert [row["n"] for row in read_rows(tmp_path / "out.json")] == [1, 3]
    assert [(letter["origin"].rsplit(", ")[1], letter["record"]) for letter in dead_letters_in(tmp_path)] == [
        ("row 2", '{"n": null}')
    ]


def test_a_slice_that_is_read_again_writes_the_same_file(tmp_path: Path) -> None:
    for _ in range(2):
        letters = DeadLetterFile(tmp_path, "t", "p", 0, 5)
        letters.add([DeadLetter("here", "wrong", b"\xff")])
        letters.close()
    DeadLetterFile(tmp_path, "t", "p", 5, 9).close()

    (file,) = tmp_path.iterdir()
    assert json.loads(file.read_text()) == {
        "table": "t", "partition": "p", "origin": "here", "error": "wrong", "record_base64": "/w=="
    }  # fmt: skip


def test_dead_letters_that_cannot_be_kept_end_the_epoch_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    letters = DeadLetterFile(tmp_path / "file", "t", "p", 0, 5)
    letters.add([DeadLetter("here", "wrong", b"x")])

    with pytest.raises(UnwritableTargetError, match="cannot be kept"):
        letters.close()
