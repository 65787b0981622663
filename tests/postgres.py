"""The operating system's Postgres for tests: a server of its own on a port of its own, of which nothing is left.

with postgres() as url:
    ...  # "postgresql+psycopg2://airflow:...@127.0.0.1:40123/postgres"
"""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg2

from tests.ports import free_port
from tests.real_airflow import until

USER, DATABASE = "airflow", "postgres"
_UNPRIVILEGED = "postgres"
"""Whose it is when the tests are root's, for whom Postgres does not run: its packages bring the account."""
_IN_HASTE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")
"""What is written need not outlive the machine."""


def programs() -> Path | None:
    """Where its programs are; those of Debian are not on the path. None when there are none."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda place: int(place.parts[-3]))
    return places[-1].parent if places else None


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of an empty database, as SQLAlchemy reads it."""
    found = programs()
    assert found is not None, "Postgres is missing: apt-get install postgresql"
    # not below the folders of tests, which nobody else may enter
    with tempfile.TemporaryDirectory(prefix="arroyo-postgres-") as place:
        folder, password, port = Path(place), secrets.token_hex(16), free_port()
        password_file = folder / "password"
        password_file.write_text(password)
        account = _account()
        if account:
            for each in (folder, password_file):
                shutil.chown(each, _UNPRIVILEGED, _UNPRIVILEGED)
        form = ("--username", USER, "--pwfile", str(password_file), "--auth", "scram-sha-256", "--encoding", "UTF8")
        with (folder / "log").open("ab") as log:
            made = [str(found / "initdb"), "--pgdata", str(folder / "data"), *form, "--locale", "C", "--no-sync"]
            outcome = subprocess.run(made, cwd=folder, stdout=log, stderr=log, check=False, **account)
            assert outcome.returncode == 0, (folder / "log").read_text()
            options = [word for option in _IN_HASTE for word in ("-c", option)]
            where = ["-D", str(folder / "data"), "-h", "127.0.0.1", "-p", str(port), "-k", str(folder)]
            server = subprocess.Popen(
                [str(found / "postgres"), *where, *options], cwd=folder, stdout=log, stderr=log, **account
            )
        try:
            until(lambda: _answers(server, folder, port, password), bool, 120)
            yield f"postgresql+psycopg2://{USER}:{password}@127.0.0.1:{port}/{DATABASE}"
        finally:
            server.send_signal(signal.SIGQUIT)  # without waiting for anybody who is still connected
            server.wait(60)


def rows(url: str, query: str) -> list[tuple[Any, ...]]:
    """What a query gives."""
    connection = psycopg2.connect(url.replace("+psycopg2", ""))
    try:
        with connection.cursor() as cursor:
            cursor.execute(query)
            found: list[tuple[Any, ...]] = cursor.fetchall()
            return found
    finally:
        connection.close()


def _answers(server: subprocess.Popen[bytes], folder: Path, port: int, password: str) -> bool:
    assert server.poll() is None, (folder / "log").read_text()[-3000:]
    with suppress(psycopg2.OperationalError):
        psycopg2.connect(host="127.0.0.1", port=port, user=USER, password=password, dbname=DATABASE).close()
        return True
    return False


def _account() -> Mapping[str, Any]:
    """As whom its programs are run: as who plays the tests, but never as root."""
    if os.geteuid() != 0:
        return {}
    account = pwd.getpwnam(_UNPRIVILEGED)
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": ()}
