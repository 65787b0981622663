"""Start the fork server from the driver, and write the program that Spark runs instead of Python."""

from __future__ import annotations

import os
import secrets
import shlex
import socket
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.spark.workers import fork_client as client
from engine.values.process_endings import starting_process

_PATIENCE = 5.0


@dataclass(frozen=True, slots=True)
class ForkServer:
    """A running fork server, and the program that Spark runs instead of Python."""

    python: Path
    process: subprocess.Popen[bytes] = field(repr=False)

    def stop(self) -> None:
        """End the server; what it has forked ends when Java does."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def start_server(folder: Path, environment: Mapping[str, str], noise: Path) -> ForkServer | None:
    """Return a server for one session, with its program in a folder of that session; None where that cannot be: its
    socket has a name in Linux alone, and the folder may lie where no program can be run, or on a disk that is full.
    What it prints goes to `noise`."""
    try:
        if sys.platform != "linux" or os.statvfs(folder).f_flag & os.ST_NOEXEC:
            return None
        # the name of the socket is no secret: the server hears only processes of the same user
        address = f"arroyo-forks-{secrets.token_hex(8)}"
        program = _write_program(folder, address)
        return ForkServer(program, _start(address, environment, noise))
    except OSError:
        return None


def write_program(program: Path, python: str, folder: Path) -> str:
    """Write what Spark takes for Python where Java runs in `folder`: it goes back to the directory of this process.
    Return its path from there, which is that of the launcher on executors."""
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f'#!/bin/sh\ncd {shlex.quote(str(Path.cwd()))}\nexec {shlex.quote(python)} "$@"\n')
    program.chmod(0o700)
    return os.path.relpath(program, folder)


def _write_program(folder: Path, address: str) -> Path:
    program = folder / "python"
    words = [sys.executable, "-I", "-S", client.__file__, address]
    program.write_text(f'#!/bin/sh\nexec {" ".join(map(shlex.quote, words))} "$@"\n')
    program.chmod(0o700)
    return program


def _start(address: str, environment: Mapping[str, str], noise: Path) -> subprocess.Popen[bytes]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener, noise.open("ab") as printed:
        listener.bind("\0" + address)
        listener.listen(64)
        with starting_process():
            return subprocess.Popen(
                [sys.executable, "-m", "engine.spark.workers.fork_server", str(listener.fileno())],
                # Spark has all its Python processes hash alike, and compute with one thread
                env={**environment, "PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"},
                stdin=subprocess.PIPE, stdout=printed, stderr=printed,
                pass_fds=(listener.fileno(),),
                start_new_session=True,  # Ctrl-C on the terminal is for the driver to answer
            )  # fmt: skip
