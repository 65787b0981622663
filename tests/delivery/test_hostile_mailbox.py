"""A mailbox that is talked to by others than tasks, and posts that break off: files are whole or absent."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest

from engine.connectors.base import SinkContext
from engine.delivery.mailbox_client import MailboxClient
from engine.delivery.mailbox_protocol import MailboxAddress
from engine.errors import MailboxRefusedError
from engine.spark.run.mailbox import Mailbox, MailboxLimits, open_mailbox
from engine.spark.write.targets import Target
from engine.spark.write.write_segments import write_task
from tests.connectors.tables import NUMBERS, batch, epoch, table
from tests.delivery.remote_workers import ELSEWHERE, environment_of, remote_worker

A_NOTE = "watermarks/arroyo_clicks/0123456789abcdef-0.json"
QUICK = MailboxLimits(stranger_seconds=0.2, chunk_seconds=0.2, idle_seconds=0.2)


@contextmanager
def opened(root: Path, limits: MailboxLimits | None = None) -> Iterator[Mailbox]:
    root.mkdir(exist_ok=True)
    with open_mailbox(root, "127.0.0.1", "127.0.0.1", 0, limits=limits) as mailbox:
        yield mailbox


def plain(mailbox: Mailbox) -> socket.socket:
    return socket.create_connection((mailbox.address.host, mailbox.address.port), 10)


def known(mailbox: Mailbox) -> ssl.SSLSocket:
    """A connection that has shown the token."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    connection = context.wrap_socket(plain(mailbox))
    connection.sendall(message({"token": mailbox.address.token}))
    assert connection.recv(100) == message({})
    return connection


def message(content: object) -> bytes:
    text = json.dumps(content).encode()
    return struct.pack("!I", len(text)) + text


def is_ended(connection: socket.socket) -> bool:
    """Wait until the driver has ended a connection."""
    try:
        return connection.recv(1) == b""
    except (ConnectionResetError, ssl.SSLError):
        return True


def post(address: MailboxAddress, content: bytes = b"{}") -> None:
    client = MailboxClient(address, sleep=lambda _: None)
    client.post("", A_NOTE, BytesIO(content), len(content), sync=False)
    client.close()


def files_below(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def test_tasks_get_through_two_hundred_connections_that_say_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "state", MailboxLimits(stranger_seconds=600)) as mailbox:
        silent = [plain(mailbox) for _ in range(200)]
        post(mailbox.address)

        assert mailbox.counts.files == 1
        assert all(is_ended(connection) for connection in silent[:136]), "64 strangers are waited for"
        for connection in silent:
            connection.close()


@pytest.mark.parametrize("beginning", [b"", b"\x16\x03", b"GET / HTTP/1.1\r\n\r\n", os.urandom(600)])
def test_stranger_is_not_waited_for(beginning: bytes, tmp_path: Path) -> None:
    with opened(tmp_path / "state", QUICK) as mailbox, closing(plain(mailbox)) as stranger:
        stranger.sendall(beginning)
        while not is_ended(stranger):
            pass  # an alert of TLS comes first

        post(mailbox.address)
        assert mailbox.counts.refused == 1


def test_stranger_that_sends_bytes_one_by_one_has_no_more_time(tmp_path: Path) -> None:
    with opened(tmp_path / "state", replace(QUICK, stranger_seconds=0.5)) as mailbox, closing(plain(mailbox)) as slow:
        slow.settimeout(0.05)
        ended = False
        slow.sendall(b"\x16\x03\x01\x02\x00")  # 512 bytes would follow
        while not ended:
            try:
                slow.sendall(b"\x01")
                ended = slow.recv(1) == b""
            except TimeoutError:
                continue
            except OSError:
                ended = True

        post(mailbox.address)


@pytest.mark.parametrize(
    "sent",
    [
        b"\xff\xff\xff\xff" + b"x" * 100,
        struct.pack("!I", 20) + b"not JSON, 20 letters",
        message([1, 2]),
        message({}),
        message({"place": "", "path": A_NOTE, "bytes": 1 << 60}),
        message({"place": "", "path": A_NOTE, "bytes": -5}),
        message({"place": "", "path": A_NOTE, "bytes": "many"}),
        message({"place": "", "path": A_NOTE, "bytes": 2.5}),
    ],
)
def test_message_that_is_none_ends_its_connection_only(sent: bytes, tmp_path: Path) -> None:
    with opened(tmp_path / "state") as mailbox, closing(known(mailbox)) as connection:
        connection.sendall(sent)

        assert is_ended(connection)
        assert mailbox.counts.refused == 1
        post(mailbox.address)
        assert files_below(tmp_path / "state") == [A_NOTE]


@pytest.mark.parametrize(
    "sent",
    [b"\x00\x00", struct.pack("!I", 100) + b"half", message({"place": "", "path": A_NOTE, "bytes": 100}) + b"half"],
)
@pytest.mark.parametrize("goes", [True, False])
def test_half_a_post_leaves_the_file_as_it_was(sent: bytes, goes: bool, tmp_path: Path) -> None:
    with opened(tmp_path / "state", None if goes else QUICK) as mailbox:
        post(mailbox.address, b"before")
        with closing(known(mailbox)) as connection:
            connection.sendall(sent)
            if goes:
                socket.socket.shutdown(connection, socket.SHUT_WR)
            assert is_ended(connection)

        assert (tmp_path / "state" / A_NOTE).read_bytes() == b"before"
    assert files_below(tmp_path / "state") == [A_NOTE]


def test_idle_connection_ends_and_the_next_post_makes_a_new_one(tmp_path: Path) -> None:
    with opened(tmp_path / "state", QUICK) as mailbox:
        client = MailboxClient(mailbox.address, sleep=lambda _: None)
        client.post("", A_NOTE, BytesIO(b"1"), 1, sync=False)
        assert client._socket is not None
        assert is_ended(client._socket)

        client.post("", A_NOTE, BytesIO(b"2"), 1, sync=False)
        client.close()
    assert (tmp_path / "state" / A_NOTE).read_bytes() == b"2"


def test_more_workers_than_connections_are_turned_away(tmp_path: Path) -> None:
    with opened(tmp_path / "state", MailboxLimits(connections=1)) as mailbox, closing(known(mailbox)):
        with closing(plain(mailbox)) as another:
            assert is_ended(another)
        assert mailbox.counts.refused == 1


KILLED = """
import io, os, signal
from engine.delivery.mailbox_client import client_of_environment

class Content(io.BytesIO):
    def read(self, size=-1):
        if self.tell():
            os.kill(os.getpid(), signal.SIGKILL)
        return super().read(size)

path = "sinks/t/segments/000000000000-one/00000-9f2c41aa"
client_of_environment().post("", path, Content(bytes(3_000_000)), 3_000_000, sync=True)
"""


def test_executor_that_is_killed_in_the_middle_of_a_post_leaves_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "state") as mailbox:
        killed = subprocess.run(
            [sys.executable, "-c", KILLED],
            env={"PYTHONPATH": str(Path(__file__).parents[2]), **environment_of(mailbox, tmp_path)},
            check=False,
            timeout=60,
        )
        assert killed.returncode == -signal.SIGKILL
        post(mailbox.address)  # comes after
    assert files_below(tmp_path / "state") == [A_NOTE]


def test_driver_that_dies_between_posts_and_commit_writes_each_row_once(tmp_path: Path) -> None:
    root, out = tmp_path / "state", tmp_path / "out.json"
    of = table("single_file", NUMBERS, path=out, type="sink", format="json")

    def posted(mailbox: Mailbox) -> list[bytes]:
        with remote_worker(mailbox, tmp_path / "worker"):
            target = Target(of, SinkContext(ELSEWHERE / "sinks/t"))
            answers = write_task([target], epoch(0), [(0, batch(NUMBERS, (1, "a"), (2, "b")))], 0)
            return [answer.column("message")[0].as_py() for answer in answers]

    with opened(root) as first:
        posted(first)  # and nobody commits
    with opened(root) as second:
        messages = posted(second)
        with pytest.raises(MailboxRefusedError):  # a late task of the first run, which meets the port of the second
            post(replace(first.address, port=second.address.port))
        for _ in range(2):
            Target(of, SinkContext(root / "sinks/t")).open().commit(epoch(0), messages)

    assert [json.loads(line)["n"] for line in out.read_text().splitlines()] == [1, 2]
    assert not list((root / "sinks/t/segments").iterdir())
