"""A Mosquitto broker of our own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.ports import free_port


def program() -> str | None:
    """The broker to start; Debian installs it where only root looks."""
    return shutil.which("mosquitto", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")


class Broker:
    """A broker that can be killed and started again. Its folder must be for it alone."""

    def __init__(self, folder: Path, *lines: str, scheme: str = "mqtt") -> None:
        self.port = free_port()
        self.url = f"{scheme}://localhost:{self.port}"
        self._config = folder / "mosquitto.conf"
        users = () if any("password_file" in line for line in lines) else ("allow_anonymous true",)
        settings = (f"listener {self.port} 127.0.0.1", "user root", *users, "max_queued_messages 1000000", *lines)
        self._config.write_text("\n".join((*settings, "log_type all", "")))
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, and wait until it listens."""
        path = program()
        assert path is not None
        self._process = subprocess.Popen(
            [path, "-c", str(self._config)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        output = []
        assert self._process.stderr is not None
        for line in self._process.stderr:
            output.append(line)
            if " running" in line:
                # nobody reads what it says later: it must not wait for that
                self._drain()
                return
        raise AssertionError("".join(output))

    def _drain(self) -> None:
        import threading

        assert self._process is not None
        threading.Thread(target=self._process.communicate, daemon=True).start()

    def kill(self) -> None:
        """End it at once."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def terminate(self) -> None:
        """End it as an operator does: it saves its sessions, if it has persistence."""
        assert self._process is not None
        self._process.terminate()
        self._process.wait()


@contextmanager
def running(folder: Path, *lines: str, scheme: str = "mqtt") -> Iterator[Broker]:
    """A broker that ends with the block."""
    broker = Broker(folder, *lines, scheme=scheme)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()
