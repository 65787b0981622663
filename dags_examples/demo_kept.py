"""Processes that `make demo KEEP=1` leaves running: an Airflow with the examples, and the control plane."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from dags_examples.demo_folder import Folder

PATIENCE = timedelta(minutes=3)
_PASSWORDS = "simple_auth_manager_passwords.json.generated"


@dataclass(frozen=True, slots=True)
class KeptAirflow:
    """Its address and its login."""

    url: str
    user: str
    password: str


def keep_airflow(folder: Folder) -> KeptAirflow | None:
    """Start an Airflow over the database of the demonstration, which outlives us; None where it does not come up."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    environment = {
        **os.environ,
        # it starts its parts as `airflow`
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", ""))),
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": url,
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{url}/execution/",
    }
    with folder.log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "airflow", "standalone"], env=environment, cwd=folder.root,
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    folder.kept.write_text(str(process.pid))
    end = time.monotonic() + PATIENCE.total_seconds()
    while process.poll() is None and time.monotonic() < end:
        with suppress(OSError, ValueError, LookupError):
            with urllib.request.urlopen(f"{url}/api/v2/version", timeout=5):  # noqa: S310 - our own address
                pass
            user, password = next(iter(json.loads((folder.airflow / _PASSWORDS).read_text()).items()))
            return KeptAirflow(url, user, password)
        time.sleep(0.5)
    end_kept(folder)
    return None


def end_kept(folder: Folder) -> None:
    """End the Airflow that an earlier demonstration has left running, with all its processes."""
    with suppress(OSError, ValueError):
        group = int(folder.kept.read_text())
        folder.kept.unlink()
        if not _is_ours(group, folder):
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            os.killpg(group, number)
            end = time.monotonic() + 10
            while time.monotonic() < end:
                with suppress(ChildProcessError):  # it may be ours, and is there until it is waited for
                    os.waitpid(group, os.WNOHANG)
                os.killpg(group, 0)
                time.sleep(0.1)


def _is_ours(group: int, folder: Folder) -> bool:
    """Whether a process of that group works in our folder: numbers come again, and its first may have been killed."""
    for process in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            if os.getpgid(int(process.name)) == group and (process / "cwd").readlink() == folder.root:
                return True
    return False
