"""The program that Spark takes for Python does what Python does, from a process that has imported already."""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.spark.workers import fork_client as client
from engine.spark.workers import fork_server as server
from engine.spark.workers.fork_start import ForkServer, start_server

pytestmark = pytest.mark.unit
ROOT = Path(__file__).parents[2]
MODULE = "tests.spark.forked_program"


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForkServer]:
    folder = tmp_path_factory.mktemp("a folder")
    server = start_server(folder, os.environ, folder / "noise")
    assert server is not None
    yield server
    assert server.process.poll() is None, (folder / "noise").read_text()
    server.stop()


def play(program: Path | str, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "FORKED": "a=b\nc \udcff"}
    return subprocess.run(
        [program, *arguments], input=text, capture_output=True, text=True, cwd=ROOT / "tests", env=environment,
        timeout=120, check=False,
    )  # fmt: skip


def told(play: subprocess.CompletedProcess[str]) -> dict[str, object]:
    content: dict[str, object] = json.loads(play.stdout)
    del content["number"]
    return content


@pytest.mark.parametrize("arguments", [("exit", "0"), ("exit", "3"), ("fail", "so"), ("kill",), ("exit", "0", "", " ")])
def test_forked_process_is_python(forks: ForkServer, arguments: tuple[str, ...]) -> None:
    by_python = play(sys.executable, "-m", MODULE, *arguments, text="read\n")
    by_program = play(forks.python, "-m", MODULE, *arguments, text="read\n")

    assert told(by_program) == told(by_python)
    assert by_program.returncode == by_python.returncode
    assert by_program.stderr.splitlines()[-1:] == by_python.stderr.splitlines()[-1:]


def test_forked_process_has_imported_its_modules(forks: ForkServer) -> None:
    asked = "import sys, runpy; print('engine.spark.read.reading' in sys.modules)"
    assert play(sys.executable, "-c", asked).stdout == "False\n"

    played = play(forks.python, "-m", "timeit", "-n1", "-r1", "-s", asked)

    assert played.stdout.startswith("True\n"), played


def test_other_arguments_are_for_python(forks: ForkServer) -> None:
    assert play(forks.python, "-c", "print(1)").stdout == "1\n"


def waiting(forks: ForkServer) -> tuple[subprocess.Popen[str], int]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    program = subprocess.Popen([forks.python, "-m", MODULE, "wait"], stdout=subprocess.PIPE, text=True, env=environment)
    assert program.stdout is not None
    return program, json.loads(program.stdout.readline())["number"]


def has_ended(number: int) -> bool:
    """Whether it has within a minute: nothing but the kernel says so of a process that is not ours."""
    give_up = time.monotonic() + 60
    while is_alive(number) and time.monotonic() < give_up:
        time.sleep(0.01)
    return not is_alive(number)


def seen(forks: ForkServer, number: int) -> str:
    """What a process that should have ended does, and whether the server is there that should have ended it."""
    status = Path(f"/proc/{number}/status").read_text(errors="replace")
    return f"{status}\nserver: {forks.process.poll()}\n{(forks.python.parent / 'noise').read_text()}"


def test_forked_process_has_a_title(forks: ForkServer) -> None:
    program, number = waiting(forks)

    assert Path(f"/proc/{number}/comm").read_text() == "forked_program\n"

    program.kill()
    program.communicate()


def is_alive(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_exit_of_the_program_ends_the_process(forks: ForkServer, how: signal.Signals) -> None:
    program, number = waiting(forks)
    other, number_of_other = waiting(forks)

    program.send_signal(how)

    program.communicate()
    assert has_ended(number), seen(forks, number)
    assert is_alive(number_of_other)
    other.kill()
    other.communicate()
    assert has_ended(number_of_other), seen(forks, number_of_other)


def test_the_end_of_the_process_is_that_of_the_program(forks: ForkServer) -> None:
    program, number = waiting(forks)

    os.kill(number, signal.SIGKILL)

    program.communicate(timeout=60)
    assert program.returncode == -signal.SIGKILL


def test_without_a_server_it_is_python(tmp_path: Path) -> None:
    server = start_server(tmp_path, os.environ, tmp_path / "noise")
    assert server is not None
    program, number = waiting(server)

    server.stop()

    # what was forked goes on: it ends with Java, as it would without us
    assert program.wait(60) == 0
    assert is_alive(number)
    os.kill(number, signal.SIGKILL)
    program.communicate()
    assert told(play(server.python, "-m", MODULE, "exit", "0"))["arguments"] == ["exit", "0"]


def test_a_folder_without_programs_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class NoPrograms:
        f_flag = os.ST_NOEXEC

    monkeypatch.setattr(os, "statvfs", lambda _: NoPrograms)

    assert start_server(tmp_path, os.environ, tmp_path / "noise") is None


def address_of(forks: ForkServer) -> str:
    return "\0" + forks.python.read_text().split()[-2]


def test_a_process_and_its_program_may_end_at_once(forks: ForkServer) -> None:
    """The server learns of both at the same time, for it waits for somebody who says nothing."""
    program, number = waiting(forks)
    other, number_of_other = waiting(forks)
    with socket.socket(socket.AF_UNIX) as silent:
        silent.connect(address_of(forks))

        os.kill(number, signal.SIGKILL)
        assert has_ended(number)
        program.kill()
        program.communicate()

    assert told(play(forks.python, "-m", MODULE, "exit", "0"))["arguments"] == ["exit", "0"]
    assert forks.process.poll() is None
    assert is_alive(number_of_other)
    other.kill()
    other.communicate()


def requested(connection: socket.socket) -> None:
    text = "\0".join(["/", "2", "-m", MODULE]).encode()
    socket.send_fds(connection, [len(text).to_bytes(4, "big")], [0, 1, 2])
    connection.sendall(text)


def test_no_process_is_forked_after_the_deadline() -> None:
    ours, its = socket.socketpair()
    with ours, its:
        requested(its)
        its.shutdown(socket.SHUT_WR)

        with pytest.raises(ValueError, match=MODULE):
            server._received(ours)


def test_without_memory_for_a_fork_it_is_python(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", no_memory)
    answers: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as selector:
        listener.bind("")
        listener.listen()
        address = listener.getsockname().decode().removeprefix("\0")
        asking = threading.Thread(target=lambda: answers.append(client._ask(address, ["-m", MODULE])), daemon=True)
        asking.start()

        assert server.Server(listener, 0)._fork(selector) is None

        asking.join(60)
    assert answers == [client.NO_ANSWER]


def test_on_a_full_disk_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def is_full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", is_full)

    assert start_server(tmp_path, os.environ, tmp_path / "noise") is None
