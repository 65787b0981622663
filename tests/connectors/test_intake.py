"""The intake log: what is durable, what a replay reads, what is dropped when, and when a receiver gives up."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.connectors.base import Position, Table
from engine.connectors.intake import log
from engine.connectors.intake.log import LogWriter, Message, read_dropped, read_end, segment_numbers
from engine.connectors.intake.options import IntakeOptions
from engine.connectors.intake.receiver import ReceivingThread, Reception, Take
from engine.connectors.intake.source import IntakeSource, LogPosition
from engine.connectors.polling_http.options import METADATA, PollingHttpOptions
from engine.connectors.testing import between, rows, start
from engine.errors import (
    BadRecordError,
    DiskNotSharedError,
    EngineError,
    RecordsLostError,
    SourceRefusedError,
    SourceUnavailableError,
)
from tests.connectors.tables import NUMBERS, table

MEGABYTE = 1024 * 1024


def messages(*numbers: int, size: int = 0) -> list[Message]:
    return [Message(b'{"n": %d, "name": "%s"}' % (n, b"x" * size), {"etag": f"e{n}"}, n) for n in numbers]


def intake_table(folder: Path, **options: Any) -> Table:
    metadata = {"received": "received_time", "tag": "etag"}
    of = table("polling_http", NUMBERS, metadata, endpoint="http://localhost", **options)
    return replace(of, intake=folder / "log")


def reader(folder: Path, *, now: float = 0.0, **options: Any) -> IntakeSource:
    of = intake_table(folder, **options)
    assert isinstance(of.options, PollingHttpOptions)
    return IntakeSource(of, of.options, METADATA, clock=lambda: now)


def writer(folder: Path, max_bytes: int = 2**30, *, drops_oldest: bool = False) -> LogWriter:
    return LogWriter(folder / "log", max_bytes, drops_oldest=drops_oldest)


def read(of: IntakeSource, first: Mapping[str, Position], last: Mapping[str, Position]) -> list[int]:
    return [row["n"] for row in rows(between(of, first, last))]


@pytest.fixture
def _small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log, "SEGMENT_BYTES", MEGABYTE)


def test_appended_records_are_read_with_their_metadata(tmp_path: Path) -> None:
    writer(tmp_path).append(messages(1, 2))
    of = reader(tmp_path)
    last = of.advance(start(of), None)

    found = rows(between(of, start(of), last))

    assert [(row["n"], row["tag"]) for row in found] == [(1, "e1"), (2, "e2")]
    assert of.is_at_end("log", last["log"])
    assert of.advance(last, None) == last


def test_a_record_that_a_killed_writer_has_not_finished_is_cut_off(tmp_path: Path) -> None:
    writer(tmp_path).append(messages(1, 2))
    path = tmp_path / "log" / "1.log"
    whole = path.stat().st_size
    with path.open("ab") as file:
        file.write(log.to_record(messages(3)[0])[:-1])

    after = writer(tmp_path)

    assert path.stat().st_size == whole
    assert after.last == messages(2)[0]
    after.append(messages(4))
    of = reader(tmp_path)
    assert read(of, start(of), of.advance(start(of), None)) == [1, 2, 4]


def test_bytes_behind_the_durable_end_are_not_planned(tmp_path: Path) -> None:
    writer(tmp_path).append(messages(1))
    with (tmp_path / "log" / "1.log").open("ab") as file:
        file.write(log.to_record(messages(2)[0]))
    of = reader(tmp_path)

    assert read(of, start(of), of.advance(start(of), None)) == [1]


def test_a_failed_write_leaves_nothing_that_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writing = writer(tmp_path)
    writing.append(messages(1))
    monkeypatch.setattr(os, "fsync", failing_once(os.fsync))
    with pytest.raises(OSError, match="full"):
        writing.append(messages(2))

    writing.append(messages(3))

    of = reader(tmp_path)
    found = read(of, start(of), of.advance(start(of), None))
    assert found[-1] == 3
    assert found in ([1, 3], [1, 2, 3])  # the bytes were written; whether they count, the file decides
    assert read(of, start(of), of.advance(start(of), None)) == found


def failing_once(real: Any) -> Any:
    failures: Iterator[bool] = iter([True])

    def fsync(handle: int) -> None:
        if next(failures, False):
            raise OSError("the disk is full")
        real(handle)

    return fsync


@pytest.mark.usefixtures("_small_segments")
def test_segments_are_deleted_once_they_are_committed_and_old_enough(tmp_path: Path) -> None:
    writing = writer(tmp_path)
    for n in range(6):
        writing.append(messages(n, size=MEGABYTE // 2))
    of, directory = reader(tmp_path), tmp_path / "log"
    half = of.advance(start(of), 3)
    for number in segment_numbers(directory):
        os.utime(directory / f"{number}.log", (1000, 1000))

    reader(tmp_path, now=1000 + 3599).acknowledge(half)
    assert segment_numbers(directory) == [1, 2, 3, 4, 5, 6]
    reader(tmp_path, now=1000 + 3601).acknowledge(half)

    assert segment_numbers(directory) == [3, 4, 5, 6]
    assert read(of, half, of.advance(half, None)) == [3, 4, 5]
    assert read(of, start(of), half) == [2]  # as a state that begins anew reads
    old = {"log": LogPosition(log.read_id(directory), 1, 10).to_json()}
    with pytest.raises(RecordsLostError, match=r"1\.log is gone"):
        read(of, old, half)
    assert read(reader(tmp_path, on_data_loss="continue"), old, half) == [2]


@pytest.mark.usefixtures("_small_segments")
def test_a_full_log_takes_nothing_until_there_is_room(tmp_path: Path) -> None:
    writing = writer(tmp_path, 2 * MEGABYTE)
    assert [writing.append(messages(n, size=MEGABYTE - 200)) for n in range(3)] == [True, True, False]

    (tmp_path / "log" / "1.log").unlink()

    assert writing.append(messages(3, size=MEGABYTE - 200))


@pytest.mark.usefixtures("_small_segments")
def test_a_full_log_drops_the_oldest_messages_that_no_epoch_has_read(tmp_path: Path) -> None:
    writing = writer(tmp_path, 3 * MEGABYTE, drops_oldest=True)
    writing.append(messages(0, size=MEGABYTE - 200))
    of = reader(tmp_path)
    first = of.advance(start(of), None)
    for n in range(1, 5):
        assert writing.append(messages(n, size=MEGABYTE - 200))

    last = of.advance(first, None)

    assert read_dropped(tmp_path / "log") == {2: 1, 3: 1}
    chunks = [chunk for part in of.slices("log", first["log"], last["log"], 1) for chunk in of.read(part)]
    assert sum(chunk.dropped for chunk in chunks) == 2
    assert read(of, start(of), first) == [0]
    assert read(of, first, last) == [3, 4]
    # what is planned stays, whatever comes
    assert not writing.append(messages(9, size=2 * MEGABYTE))
    assert read(of, first, last) == [3, 4]


@pytest.mark.usefixtures("_small_segments")
def test_a_new_writer_drops_nothing_that_an_earlier_run_may_have_planned(tmp_path: Path) -> None:
    writing = writer(tmp_path)
    for n in range(3):
        writing.append(messages(n, size=MEGABYTE - 200))

    after = writer(tmp_path, 3 * MEGABYTE, drops_oldest=True)

    assert not after.append(messages(3, size=MEGABYTE - 200))
    assert segment_numbers(tmp_path / "log") == [1, 2, 3]


@pytest.mark.usefixtures("_small_segments")
def test_any_epochs_and_slices_have_the_same_messages(tmp_path: Path) -> None:
    writing = writer(tmp_path)
    for n in range(40):
        writing.append(messages(n, size=MEGABYTE // 4))
    of = reader(tmp_path)
    at, found = start(of), list[int]()
    while not of.is_at_end("log", at["log"]):
        following = dict(reader(tmp_path).advance(at, 7))
        pieces = of.slices("log", at["log"], following["log"], 3)
        assert len(pieces) <= 3
        epoch = [row["n"] for piece in pieces for chunk in of.read(piece) for row in chunk.rows.to_pylist()]
        assert len(epoch) <= 7
        found, at = found + epoch, following

    assert found == list(range(40))


def test_a_copied_state_begins_at_the_start_of_its_own_log(tmp_path: Path) -> None:
    for folder, n in ((tmp_path / "a", 1), (tmp_path / "b", 2)):
        writer(folder).append(messages(n))
    one, other = reader(tmp_path / "a"), reader(tmp_path / "b")
    at = one.advance(start(one), None)

    assert read(other, at, other.advance(at, None)) == [2]
    with pytest.raises(RecordsLostError, match="intake log that is gone"):
        read(other, start(one), at)


def test_a_message_that_cannot_be_decoded_is_named(tmp_path: Path) -> None:
    writer(tmp_path).append([Message(b"nonsense", {}, 7)])
    of = reader(tmp_path)

    with pytest.raises(BadRecordError, match=r"message received at 7 us.*nonsense"):
        read(of, start(of), of.advance(start(of), None))


def test_executors_that_see_another_disk_are_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer(tmp_path).append(messages(1))
    of = reader(tmp_path)
    last = of.advance(start(of), None)
    monkeypatch.setenv("ARROYO_MAILBOX_ADDRESS", "elsewhere")
    monkeypatch.setattr("engine.connectors.intake.source.is_remote", lambda: True)

    with pytest.raises(DiskNotSharedError, match="intake log"):
        read(of, start(of), last)


class Script:
    """A receiver that does one thing after the other: passes on messages, or raises."""

    def __init__(self, *steps: Sequence[Message] | EngineError) -> None:
        self.steps = list(steps)
        self.began: list[Mapping[str, str] | None] = []

    async def receive(self, last: Mapping[str, str] | None, take: Take) -> None:
        self.began.append(last)
        step = self.steps.pop(0) if self.steps else SourceRefusedError("over")
        if isinstance(step, EngineError):
            raise step
        await take(step)


def receive(folder: Path, script: Script, max_bytes: int = 2**30, **options: Any) -> tuple[EngineError, list[float]]:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if seconds < 1:
            (folder / "log" / "1.log").unlink(missing_ok=True)

    settings = IntakeOptions.model_validate(options)
    reception = Reception("t", settings, script, writer(folder, max_bytes), sleep, lambda: sum(pauses))
    return asyncio.run(reception.run()), pauses


def test_a_connection_is_tried_again_after_longer_and_longer_pauses(tmp_path: Path) -> None:
    away = SourceUnavailableError("away")
    script = Script(away, away, away, messages(1, 2), away)

    error, pauses = receive(tmp_path, script)

    assert error.message == "over"
    assert pauses == [1, 2, 4, 1, 2]
    assert script.began == [None, None, None, None, {"etag": "e2"}, {"etag": "e2"}]


def test_a_server_that_stays_away_ends_the_run_with_an_outage(tmp_path: Path) -> None:
    error, pauses = receive(tmp_path, Script(*[SourceUnavailableError("away")] * 99))

    assert error.is_outage
    assert sum(pauses) <= 300


@pytest.mark.usefixtures("_small_segments")
def test_a_receiver_waits_while_the_log_is_full(tmp_path: Path) -> None:
    big = [messages(n, size=MEGABYTE - 200) for n in range(3)]

    _, pauses = receive(tmp_path, Script(*big), 2 * MEGABYTE)

    assert pauses.count(0.2) == 1
    assert read_end(tmp_path / "log") is not None
    assert segment_numbers(tmp_path / "log") == [2, 3]


def test_a_thread_says_why_it_has_given_up_and_stops_when_asked(tmp_path: Path) -> None:
    class Endless:
        async def receive(self, last: Mapping[str, str] | None, take: Take) -> None:
            await take(messages(1))
            await asyncio.Event().wait()

    refused = ReceivingThread(Reception("t", IntakeOptions(), Script(), writer(tmp_path / "a")))
    endless = ReceivingThread(Reception("t", IntakeOptions(), Endless(), writer(tmp_path / "b")))
    refused.start()
    endless.start()
    refused.stop()
    endless.stop()

    with pytest.raises(SourceRefusedError, match="over"):
        refused.raise_failure()
    endless.raise_failure()
