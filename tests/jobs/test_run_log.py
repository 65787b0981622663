"""The log of a run: JSON lines of what it does, and Spark's warnings in our words."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.driver.control_plane_client import Home
from engine.driver.main import outcome_of
from engine.driver.run_log import JsonLines, RunLog, tell_failure
from engine.errors import SourceUnavailableError
from engine.spark.run.log_warnings import LogWarning, SparkLog, in_our_words
from engine.values.epoch_report import EpochReport
from engine.values.start_positions import StartStep
from tests.jobs.builders import T0, assigned


class Written:
    """A run's log on a clock that the test moves."""

    def __init__(self, folder: Path) -> None:
        self.now = 0.0
        self.output = io.StringIO()
        assignment = assigned(folder)
        self.spark = folder / "spark.log"
        home = Home(assignment, lambda _: None, lambda: None)
        self.log = RunLog(assignment, home, SparkLog(self.spark), lambda: self.now)
        self.handler = logging.StreamHandler(self.output)
        self.handler.setFormatter(JsonLines("job_a", 3, lambda: self.log.epoch))

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.output.getvalue().splitlines()]

    @property
    def texts(self) -> list[str]:
        return [line["text"] for line in self.lines]

    def commit(self, epoch: int, **figures: Any) -> None:
        fields: dict[str, Any] = {"rows_in": 10, "rows_out": 5, "rows_per_second": 1.0, "watermark": T0, "at": T0}
        self.log.report(EpochReport(epoch=epoch, duration=timedelta(seconds=1), **{**fields, **figures}))

    def warn(self, *lines: str) -> None:
        with self.spark.open("a") as file:
            file.writelines(f"2026-01-01T10:00:00.000Z {line}\n" for line in lines)


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Written]:
    made = Written(tmp_path)
    root = logging.getLogger()
    before = root.level
    root.addHandler(made.handler)
    root.setLevel(logging.INFO)
    yield made
    root.removeHandler(made.handler)
    root.setLevel(before)


def test_each_step_of_a_start_and_the_first_epoch_are_lines(written: Written) -> None:
    for step in StartStep:
        written.log.sign(step)
        written.log.sign(None)
    written.commit(0)
    written.commit(1)

    assert written.texts == [*StartStep, "the first epoch of this run is committed"]
    assert written.lines[-1] == {**written.lines[0], "time": written.lines[-1]["time"], "epoch": 0} | {
        "text": "the first epoch of this run is committed"
    }
    assert {key: value for key, value in written.lines[0].items() if key != "time"} == {
        "level": "info",
        "job": "job_a",
        "run": 3,
        "epoch": None,
        "text": "reading the script",
    }
    assert len(written.lines[0]["time"]) == len("2026-01-01T00:00:00.000Z")


def test_a_minute_in_which_something_was_committed_is_a_line(written: Written) -> None:
    for epoch in range(7):
        written.commit(epoch)
        written.now += 20

    assert written.texts[1:] == [
        "4 epochs in 60 s, 40 rows in, 20 rows out, watermark 2026-01-01T00:00:00Z",
        "3 epochs in 60 s, 30 rows in, 15 rows out, watermark 2026-01-01T00:00:00Z",
    ]
    assert [line["epoch"] for line in written.lines] == [0, 3, 6]


def test_rows_that_were_left_out_are_warned_of_once_a_minute(written: Written) -> None:
    written.commit(0, dropped_rows=7, dropped_in_epoch=1)
    written.now += 60
    written.commit(1, late_rows=3, dropped_rows=9, dropped_in_epoch=2, watermark=None)
    written.now += 60
    written.commit(2, dropped_rows=9)

    warnings = [line for line in written.lines if line["level"] == "warn"]
    assert [(line["code"], line["text"]) for line in warnings] == [
        ("log.late_rows", "3 rows came after their watermark"),
        ("log.dropped_rows", "3 rows could not be read or written and were left out"),
    ]
    assert "watermark none yet" in written.texts[1]


def test_a_run_without_input_says_so_and_how_it_ends(written: Written) -> None:
    written.log.started()
    written.log.started()
    written.log.end("stopped")
    written.log.end("finished")

    assert written.texts == [
        "the run is up, and its sources have nothing to read yet",
        "the run has stopped; the next one goes on from here",
        "the input has ended, and everything is written",
    ]


def test_a_failure_is_a_line_with_its_code(written: Written) -> None:
    class Work:
        def stop(self, mode: object) -> None: ...

        def hold(self, lock: object) -> None: ...

        def run(self, *_: object) -> Any:
            raise SourceUnavailableError("Kafka is away", hint="start it")

        def rescale(self, *_: object) -> None: ...

        def restore(self, *_: object) -> None: ...

    outcome_of(written.log.assignment, Work(), written.log)
    tell_failure(SourceUnavailableError("once more"))

    assert [(line["level"], line["code"], line["text"], line.get("hint")) for line in written.lines] == [
        ("error", "data.source_unavailable", "Kafka is away", "start it"),
        ("error", "data.source_unavailable", "once more", None),
    ]


def test_log_records_of_other_packages_have_their_source_and_a_traceback_stays_in_its_line(written: Written) -> None:
    logging.getLogger("kafka.conn").warning("lost")
    try:
        raise ValueError("broken")
    except ValueError:
        logging.getLogger("engine.driver.main").exception("the driver meets an error of its own")

    assert written.texts == ["kafka.conn: lost", "the driver meets an error of its own"]
    assert written.lines[1]["trace"].endswith("ValueError: broken")


def test_warnings_of_spark_are_logged_once_in_our_words(written: Written) -> None:
    behind = "Current batch is falling behind. The trigger interval is {} milliseconds, but spent {} milliseconds"
    written.warn(
        f"WARN ProcessingTimeExecutor: {behind.format(1000, 4000)}",
        f"WARN ProcessingTimeExecutor: {behind.format(1000, 5000)}",
        "WARN DataSourceManager: The data source arroyo_t replaced a previously registered data source.",
        "WARN BlockManager: Block rdd_7 was not found",
        "java.lang.IllegalStateException: of the line before",
        "WARN BlockManager: Block rdd_8 was not found",
    )
    written.log.sign(None)
    assert written.lines == []

    written.now += 1
    written.log.sign(None)
    written.log.look()

    assert [(line["level"], line.get("code"), line["text"]) for line in written.lines] == [
        (
            "warn",
            "log.epochs_behind",
            "epochs take longer than the checkpoint interval of 1000 ms: the last one took 4000 ms",
        ),
        ("warn", None, "Spark's BlockManager: Block rdd_7 was not found"),
    ]


def test_warnings_of_runs_before_are_not_told_and_a_log_that_rolls_over_is_read_on(tmp_path: Path) -> None:
    path = tmp_path / "spark.log"
    line = "2026-01-01T10:00:00.000Z WARN Some: {}\n".format
    path.write_text(line("old"))
    log = SparkLog(path)

    with path.open("a") as file:
        file.write(line("new"))
        file.write("2026-01-01T10:00:00.000Z WARN Some: hal")
    assert [warning.text for warning in log.fresh_warnings()] == ["Spark's Some: new"]

    path.rename(tmp_path / "spark.log.1")
    path.write_text(line("rolled"))
    assert [warning.text for warning in log.fresh_warnings()] == ["Spark's Some: rolled"]
    assert log.fresh_warnings() == []


def test_a_flood_of_warnings_takes_no_more_than_its_share(tmp_path: Path) -> None:
    path = tmp_path / "spark.log"
    log = SparkLog(path)
    words = ("".join(chr(97 + int(digit)) for digit in str(number)) for number in range(30_000))
    path.write_text("".join(f"2026-01-01T10:00:00.000Z WARN Some: {word} {'x' * 100}\n" for word in words))

    assert len(log.fresh_warnings()) == 200
    assert log.fresh_warnings() == []


@pytest.mark.parametrize(
    ("line", "warning"),
    [
        ("INFO Some: nothing", None),
        ("WARN TransformWithStateInPySparkStateServer: Value state head doesn't contain a value.", None),
        ("WARN DAGScheduler: Failed to cancel job group 12. Cannot find active jobs for it.", None),
        ("ERROR MicroBatchExecution: Query state [id = 1, runId = 2] terminated with error", None),
        ("ERROR TaskSetManager: Task 0 in stage 1.0 failed 1 times; aborting job", None),
        (
            "WARN NetworkClient: [Consumer] Connection to node -1 (kafka/10.0.0.1:9092) could not be established.",
            LogWarning(
                "the Kafka broker at kafka/10.0.0.1:9092 cannot be reached; it is tried again", "log.broker_away"
            ),
        ),
        (
            "WARN StateStore: Error running maintenance thread",
            LogWarning("old state could not be tidied up; it is tried again", "log.state_maintenance"),
        ),
        ("WARN DAGScheduler: something else", LogWarning("Spark's DAGScheduler: something else")),
    ],
)
def test_a_warning_is_dropped_or_put_into_our_words_or_passed_on(line: str, warning: LogWarning | None) -> None:
    assert in_our_words(f"2026-01-01T10:00:00.000Z {line}") == warning
