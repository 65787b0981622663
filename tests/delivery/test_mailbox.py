"""Files of tasks that see another disk than the driver: they are on the driver's disk when a task answers."""

from __future__ import annotations

import errno
import io
import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.compile import compile_script
from engine.connectors.base import DeadLetter, Table
from engine.connectors.dead_letters import DeadLetterFile
from engine.delivery import outbox
from engine.delivery.epoch import Epoch
from engine.delivery.mailbox_client import MailboxClient
from engine.delivery.segments import SegmentFile, segment_path
from engine.errors import (
    DiskFullError,
    MailboxRefusedError,
    MailboxUnreachableError,
    SettingError,
    UnwritableTargetError,
)
from engine.spark.read import notes
from engine.spark.read.planner import PlanSpec
from engine.spark.read.scan_spec import BARE, ScanSpec
from engine.spark.read.source import Reader
from engine.spark.run.mailbox import Mailbox, open_mailbox
from engine.spark.write.dead_letters import DeadLetterNotes, noted_dead_letters
from tests.connectors.tables import NUMBERS, table
from tests.delivery.remote_workers import ELSEWHERE, remote_worker

EPOCH = Epoch(7, "B", 1, "")
NOTE = notes.ReaderNote(9, 1_000_000, 0, 40, 2_000_000, 1)
LETTER = DeadLetter("line 2", "not JSON", b"\xff{")
A_NOTE = "watermarks/arroyo_clicks/0123456789abcdef-0.json"


def clicks(folder: Path) -> Table:
    options = {"bad_data": "dead_letter", "dead_letter__path": folder / "letters"}
    return table("single_file", NUMBERS, path=folder / "in.json", type="source", format="json", **options)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    return tmp_path / "state"


@pytest.fixture
def mailbox(root: Path, tmp_path: Path) -> Iterator[Mailbox]:
    with open_mailbox(root, "127.0.0.1", "127.0.0.1", 0, tables=[clicks(tmp_path)]) as mailbox:
        yield mailbox


@pytest.fixture
def client(mailbox: Mailbox) -> Iterator[MailboxClient]:
    client = MailboxClient(mailbox.address, sleep=lambda _: None)
    yield client
    client.close()


def files_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_note_of_remote_task_is_read_by_the_planner(mailbox: Mailbox, root: Path, tmp_path: Path) -> None:
    with remote_worker(mailbox, tmp_path / "worker"):
        notes.leave(ELSEWHERE / "watermarks/arroyo_clicks", "p0", 0, NOTE)

    assert notes.collect(root / "watermarks/arroyo_clicks", "p0", 1, 9) == [NOTE]


def test_mark_of_planner_is_written_to_its_own_disk(mailbox: Mailbox, root: Path, tmp_path: Path) -> None:
    """Spark gives the planner of a table the environment of executors, though it is on the driver's machine."""
    with remote_worker(mailbox, tmp_path / "worker"):
        notes.write_mark(root / "watermarks/arroyo_clicks", notes.SourceMark(5, idle=False, ended=True))

    assert mailbox.counts.files == 0
    assert notes.read_mark(root / "watermarks/arroyo_clicks") == notes.SourceMark(5, idle=False, ended=True)


def test_planner_of_a_table_reads_the_disk_of_the_driver(mailbox: Mailbox, root: Path, tmp_path: Path) -> None:
    of = clicks(tmp_path)
    scan = compile_script(
        "CREATE TABLE t (n BIGINT NOT NULL, name TEXT) WITH (connector = 'single_file', type = 'source', path = '/in', "
        "format = 'json'); SELECT n, name FROM t;"
    ).scans["t"]
    (tmp_path / "in.json").write_text('{"n": 1}\n')
    with remote_worker(mailbox, tmp_path / "worker"):
        planner = Reader(ScanSpec(of, scan, PlanSpec("t", root / "watermarks/arroyo_t"), BARE)).planner
        assert planner.next(planner.first()).positions == {"0": {"byte": 9, "end": True}}

        assert not outbox.is_remote()


def test_dead_letters_for_a_table_reach_the_driver(mailbox: Mailbox, root: Path, tmp_path: Path) -> None:
    with remote_worker(mailbox, tmp_path / "worker"):
        letters = DeadLetterNotes(ELSEWHERE / "watermarks/arroyo_clicks", "p0", 0, 9, 5)
        letters.add([LETTER])
        letters.close()

    assert list(noted_dead_letters(root / "watermarks/arroyo_clicks", "p0", 1, 9, 5)) == [LETTER]


def test_dead_letters_reach_their_directory_and_are_replaced(mailbox: Mailbox, tmp_path: Path) -> None:
    def read(*letters: DeadLetter) -> None:
        with remote_worker(mailbox, tmp_path / "worker"):
            file = DeadLetterFile(tmp_path / "letters", "clicks", "p0", 5, 9)
            file.add(letters)
            file.close()

    read(LETTER)
    read(LETTER)  # the task of a lost executor runs again
    (file,) = (tmp_path / "letters").iterdir()
    assert [json.loads(line)["origin"] for line in file.read_text().splitlines()] == ["line 2"]

    read()
    assert not list((tmp_path / "letters").iterdir())


def test_segment_that_a_sink_forgets_to_hand_in_is_posted(mailbox: Mailbox, root: Path, tmp_path: Path) -> None:
    with remote_worker(mailbox, tmp_path / "worker"):
        path = segment_path(ELSEWHERE / "sinks/out", EPOCH, 3)
        path.write_bytes(b"rows")
        outbox.send_rest()

    assert [name[:45] for name in files_below(root)] == ["sinks/out/segments/000000000007-B/00003-" + path.name[6:11]]


def test_files_of_a_failed_task_are_not_posted_by_the_next(mailbox: Mailbox, root: Path, tmp_path: Path) -> None:
    with remote_worker(mailbox, tmp_path / "worker"):
        segment_path(ELSEWHERE / "sinks/out", EPOCH, 3).write_bytes(b"half")
        outbox.clear()
        outbox.send_rest()

    assert files_below(root) == []


@pytest.mark.parametrize("size", [0, 1, 256 * 1024, 256 * 1024 + 1, 3_000_001])
def test_segment_of_any_size_arrives_whole(size: int, mailbox: Mailbox, root: Path, tmp_path: Path) -> None:
    content = os.urandom(size)
    with remote_worker(mailbox, tmp_path / "worker"):
        segment = SegmentFile(ELSEWHERE / "sinks/out", EPOCH, 0)
        segment.write(content, 1)
        closed = segment.close()

    assert (root / "sinks/out" / closed.path).read_bytes() == content
    assert files_below(root) == [f"sinks/out/{closed.path}"]


def test_local_worker_opens_no_connection(root: Path) -> None:
    SegmentFile(root / "sinks/out", EPOCH, 0).close()
    notes.leave(root / "watermarks/arroyo_clicks", "p0", 0, NOTE)

    assert outbox._current is None


def test_synced_segment_is_synced_by_the_driver(client: MailboxClient, monkeypatch: pytest.MonkeyPatch) -> None:
    synced = list[int]()
    monkeypatch.setattr(os, "fsync", synced.append)

    client.post("", A_NOTE, _bytes(b"{}"), 2, sync=False)
    assert not synced
    client.post("", A_NOTE, _bytes(b"{}"), 2, sync=True)
    assert len(synced) == 1


def test_token_of_an_earlier_run_is_refused(mailbox: Mailbox, root: Path) -> None:
    late = MailboxClient(replace(mailbox.address, token="of-the-run-before"))

    with pytest.raises(MailboxRefusedError, match="the driver does not know this run"):
        late.post("", A_NOTE, _bytes(b"{}"), 2, sync=False)

    assert files_below(root) == []
    assert mailbox.counts.refused == 1


def test_mailbox_of_another_run_at_the_same_port_is_not_told_the_token(mailbox: Mailbox) -> None:
    late = MailboxClient(replace(mailbox.address, certificate="0" * 64))

    with pytest.raises(MailboxRefusedError, match="shows another certificate"):
        late.post("", A_NOTE, _bytes(b"{}"), 2, sync=False)


@pytest.mark.parametrize(
    "path",
    [
        "../generation",
        "/etc/passwd",
        "generation",
        "sinks/out/ledger.json",
        "sinks/../../x/segments/000000000007-B/00000-9f2c41aa",
        "sinks/../segments/000000000007-B/00000-9f2c41aa",
        "sinks/out/segments/000000000007-B/00000-9f2c41aa/x",
        "sinks/out/segments/000000000007-../00000-9f2c41aa\n",
        "sinks/out/segments/000000000007-B/00000-9f2c41aa\x00",
        "watermarks/arroyo_clicks/source.json",
        "watermarks/./0123456789abcdef-0.json",
        "",
    ],
)
def test_file_that_tasks_do_not_write_is_refused_and_the_next_is_taken(
    path: str, mailbox: Mailbox, client: MailboxClient, root: Path
) -> None:
    with pytest.raises(MailboxRefusedError, match="the driver refuses the file"):
        client.post("", path, _bytes(b"{}"), 2, sync=False)
    assert mailbox.counts.refused == 1

    client.post("", A_NOTE, _bytes(b"{}"), 2, sync=False)
    assert files_below(root.parent) == [f"state/{A_NOTE}"]


@pytest.mark.parametrize("place", ["/etc", "..", "/tmp"])
def test_directory_of_no_table_is_refused(place: str, client: MailboxClient) -> None:
    with pytest.raises(MailboxRefusedError):
        client.post(place, "clicks-0123456789abcdef.json", _bytes(b"{}"), 2, sync=False)


def test_link_is_not_followed(client: MailboxClient, root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (root / "watermarks").mkdir()
    (root / "watermarks/arroyo_clicks").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(MailboxRefusedError):
        client.post("", A_NOTE, _bytes(b"{}"), 2, sync=False)


def test_full_disk_of_the_driver_is_named_and_the_next_file_is_taken(
    client: MailboxClient, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(DiskFullError, match="disk of the driver: No space left"):
            client.post("", A_NOTE, _bytes(b"x" * 600_000), 600_000, sync=True)
    assert files_below(root) == []

    client.post("", A_NOTE, _bytes(b"{}"), 2, sync=True)
    assert files_below(root) == [A_NOTE]


def test_directory_that_cannot_be_made_is_named(client: MailboxClient, root: Path) -> None:
    (root / "watermarks").write_text("a file in the way")

    with pytest.raises(UnwritableTargetError, match="cannot be written on the disk of the driver"):
        client.post("", A_NOTE, _bytes(b"{}"), 2, sync=True)


def test_connection_that_has_broken_is_made_again(mailbox: Mailbox, client: MailboxClient, root: Path) -> None:
    client.post("", A_NOTE, _bytes(b"1"), 1, sync=False)
    assert client._socket is not None
    client._socket.close()  # as if the driver had ended it after a long pause
    client.post("", A_NOTE, _bytes(b"2"), 1, sync=False)

    assert (root / A_NOTE).read_bytes() == b"2"
    assert mailbox.counts.files == 2


def test_driver_that_is_gone_is_named_after_some_tries(root: Path) -> None:
    with open_mailbox(root, "127.0.0.1", "127.0.0.1", 0) as mailbox:
        client = MailboxClient(mailbox.address, sleep=lambda _: None)
        client.post("", A_NOTE, _bytes(b"1"), 1, sync=False)

    with pytest.raises(MailboxUnreachableError, match=f"does not reach the driver at .*{A_NOTE}") as gone:
        client.post("", A_NOTE, _bytes(b"2"), 1, sync=False)
    assert gone.value.retryable


def test_child_process_has_a_connection_of_its_own(mailbox: Mailbox, root: Path, tmp_path: Path) -> None:
    with remote_worker(mailbox, tmp_path / "worker"):
        notes.leave(ELSEWHERE / "watermarks/arroyo_clicks", "p0", 0, NOTE)
        if (child := os.fork()) == 0:
            notes.leave(ELSEWHERE / "watermarks/arroyo_clicks", "p0", 1, NOTE)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        notes.leave(ELSEWHERE / "watermarks/arroyo_clicks", "p0", 2, NOTE)

    assert len(notes.collect(root / "watermarks/arroyo_clicks", "p0", 3, 9)) == 3


def test_drafts_of_a_killed_driver_are_swept(root: Path) -> None:
    (root / "watermarks/arroyo_clicks").mkdir(parents=True)
    (root / "watermarks/arroyo_clicks/.x.json.0badcafe.part").write_text("ha")
    with open_mailbox(root, "127.0.0.1", "127.0.0.1", 0):
        assert files_below(root) == []


def test_port_that_is_taken_is_a_named_error(root: Path) -> None:
    with (
        open_mailbox(root, "127.0.0.1", "127.0.0.1", 0) as first,
        pytest.raises(SettingError, match=f"cannot listen on 127.0.0.1, port {first.address.port}"),
        open_mailbox(root, "127.0.0.1", "127.0.0.1", first.address.port),
    ):
        pass


def test_token_is_in_no_text_and_spark_hides_it(mailbox: Mailbox) -> None:
    token = mailbox.address.token

    assert token not in repr(mailbox) + str(mailbox.address)
    (name,) = [name for name, value in mailbox.environment.items() if token in value]
    assert "token" in name.lower()  # what Spark's `spark.redaction.regex` looks for


def _bytes(content: bytes) -> io.BytesIO:
    return io.BytesIO(content)
