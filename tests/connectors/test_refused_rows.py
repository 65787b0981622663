"""Rows that a sink could not write and a table takes: each once, whatever is killed when."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.compile import compile_script
from engine.connectors.base import DeadLetter
from engine.connectors.refused_rows import forget_refused, keep_refused, refused_rows_of
from engine.delivery.file_ledger import permit_at_least_once
from engine.errors import UnwritableTargetError
from engine.spark.run.lifecycle import RunSpec
from engine.spark.run.run_spec import PLAIN_SETTINGS
from tests.connectors.receiver import Receiver
from tests.connectors.tables import NUMBERS, batch, epoch, sink, table, take
from tests.streams.play import kill_in_epoch, play, read_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OUT = table("webhook", NUMBERS, endpoint="https://example.com", bad_data="dead_letter", dead_letter__table="letters")
ONE, OTHER = DeadLetter("row 1", "no", b"\xff"), DeadLetter("row 2", "no", b"y")


def record(directory: Path, number: int, generation: int = 1, lineage: str = "one") -> None:
    permit = permit_at_least_once(directory, epoch(number, lineage, generation))
    assert permit is not None
    permit.record(0)


def origins(directory: Path, number: int, lineage: str = "one", generation: int = 1) -> list[str]:
    refused = refused_rows_of(directory, epoch(number, lineage, generation))
    return [] if refused is None else [letter.origin for letter in refused.dead_letters]


def test_dropped_rows_count_once_their_epoch_is_recorded(tmp_path: Path) -> None:
    keep_refused(OUT, tmp_path, epoch(1), [ONE, OTHER])
    assert refused_rows_of(tmp_path, epoch(1)) is None

    record(tmp_path, 1)

    refused = refused_rows_of(tmp_path, epoch(1))
    assert refused is not None
    assert list(refused.dead_letters) == [ONE, OTHER]
    assert refused == refused_rows_of(tmp_path, epoch(1, generation=5)), "a later run finds the same"
    assert origins(tmp_path, 1, "two") == []


def test_an_attempt_that_did_not_get_to_the_ledger_leaves_nothing(tmp_path: Path) -> None:
    keep_refused(OUT, tmp_path, epoch(1), [ONE])
    keep_refused(OUT, tmp_path, epoch(1), [])
    record(tmp_path, 1)
    assert origins(tmp_path, 1) == []

    keep_refused(OUT, tmp_path, epoch(2, generation=1), [ONE])
    keep_refused(OUT, tmp_path, epoch(2, generation=2), [OTHER])
    record(tmp_path, 2, generation=2)
    keep_refused(OUT, tmp_path, epoch(2, generation=1), [ONE, ONE])

    assert origins(tmp_path, 2) == ["row 2"]


def test_only_the_rows_of_the_table_are_forgotten(tmp_path: Path) -> None:
    for noted_epoch in (epoch(1), epoch(2), epoch(3), epoch(7, "left"), epoch(1, "later")):
        keep_refused(OUT, tmp_path, noted_epoch, [ONE])

    forget_refused(tmp_path, epoch(2, parents=(("left", 4),)))

    files = sorted(path.name for path in (tmp_path / "letters").iterdir())
    assert files == ["000000000001-later-1.json", "000000000003-one-1.json"]


def test_rows_that_cannot_be_left_end_the_epoch_by_name(tmp_path: Path) -> None:
    (tmp_path / "letters").write_text("")

    with pytest.raises(UnwritableTargetError, match="cannot be written"):
        keep_refused(OUT, tmp_path, epoch(1), [ONE])


def test_a_receiver_that_takes_a_row_the_second_time_takes_its_dead_letter_back(
    receiver: Receiver, tmp_path: Path
) -> None:
    letters = tmp_path / "letters"
    options = {"endpoint": receiver.url, "bad_data": "dead_letter", "dead_letter.path": letters}
    webhook = sink(table("webhook", NUMBERS, **options), tmp_path / "own")
    receiver.answers = [(400, {})]
    take(webhook, epoch(0), [batch(NUMBERS, (1, "a"))])
    assert len(list(letters.iterdir())) == 1

    for file in (tmp_path / "own/ledger").iterdir():
        file.unlink()
    take(webhook, epoch(0), [batch(NUMBERS, (1, "a"))])

    assert [body["n"] for _, body in receiver.seen] == [1]
    assert list(letters.iterdir()) == []


SCRIPT = """
CREATE TABLE input (n BIGINT NOT NULL) WITH (
  connector = 'filesystem', path = '{folder}/in', type = 'source', format = 'json',
  bad_data = 'dead_letter', dead_letter.table = 'letters'
);
CREATE TABLE output (n BIGINT) WITH (
  connector = 'webhook', endpoint = '{url}', format = 'json', bad_data = 'dead_letter', dead_letter.table = 'Letters'
);
CREATE TABLE letters (source TEXT, origin TEXT, error TEXT, record TEXT) WITH (
  connector = 'single_file', path = '{folder}/letters', type = 'sink', format = 'json'
);
INSERT INTO output SELECT n FROM input;
"""


@pytest.mark.parametrize("point", ["before_write", "after_write", "after_ledger", "while_writing", "after_sinks"])
def test_a_table_takes_each_row_that_is_refused_once_through_a_crash(
    point: str, receiver: Receiver, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.json").write_text("".join(f'{{"n": {n}}}\n' for n in (1, -2, 3, -4, 5, -6, 7)) + "nothing\n")
    sql = SCRIPT.format(folder=tmp_path, url=receiver.url)
    spec = RunSpec("letters", sql, tmp_path / "state", settings=replace(PLAIN_SETTINGS, max_epoch_rows=4))

    kill_in_epoch(spec, 1 if point != "while_writing" else 0, point)
    outcome, reports = play(spark, spec)

    letters = read_rows(tmp_path / "letters")
    assert outcome == "finished"
    assert {body["n"] for _, body in receiver.seen} == {1, 3, 5, 7}
    assert sorted(str(row["record"]) for row in letters) == ["nothing", '{"n":-2}', '{"n":-4}', '{"n":-6}']
    assert sorted(str(row["source"]) for row in letters) == ["input", "output", "output", "output"]
    assert all("422" in str(row["error"]) for row in letters if row["source"] == "output")
    assert all(str(row["origin"]).startswith("row ") for row in letters if row["source"] == "output")
    assert reports[-1].dropped_rows == 4
    assert not list((tmp_path / "state/sinks").glob("*/letters/*"))


def test_dead_letter_table_takes_undecodable_and_unwritable_rows() -> None:
    program = compile_script(SCRIPT.format(folder="/f", url="https://example.com"))

    assert program.dead_letter_tables == {"letters": {"input", "output"}}
