"""Run a script over test rows with the real engine.

    tables = run_pipeline(Path("hourly_orders.sql"), {"orders": [{"at": noon, "amount": 3}]})
    assert tables["per_hour"] == [{"hour": noon, "amount": 3}]

The script is the deployed one: `arroyo run --stand-ins` replaces its tables by files, whatever their connectors are,
and the run ends when their rows are read. It runs in a process of its own; the engine is not imported here.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow_provider_arroyo.errors import TrialError
from airflow_provider_arroyo.testing.rows import Row, Tables, from_lines, to_lines

REFUSED = 2
"""Exit code of a script that was not run."""
END_TIME = timedelta(seconds=10)
"""How long a run that exceeds its timeout has to end."""
_NAME = "script"


def run_pipeline(
    sql: str | Path,
    inputs: Mapping[str, Sequence[Row]],
    *,
    udfs: Sequence[Path] = (),
    connections: str | None = None,
    parallelism: int = 1,
    rows_per_epoch: int | None = None,
    within: timedelta = timedelta(minutes=5),
    warm: bool = False,
) -> Tables:
    """Run a script over these rows to their end, and return what it has written, by table.

    Nothing of the places that the script names is read or written, and none has to be there. Raises a TrialError that
    says what is wrong with the script, or with the rows, in the engine's words.

    :param sql: the script, or the path of its file. Templates are not rendered.
    :param inputs: the rows of each source table that the script reads, in the order in which they come.
    :param udfs: files with Python functions for the script.
    :param connections: CREATE CONNECTION statements that the script may use.
    :param parallelism: how many tasks work on it at once.
    :param rows_per_epoch: how many rows of a table come at once; by default all. With 1 each row finds the watermark
        moved by those before it, as when they come slowly.
    :param within: how long the run may take, with its start.
    :param warm: leave Java and Spark up for ten minutes for the next test, at the price of 1 GiB meanwhile.
    """
    for name, count in (("parallelism", parallelism), ("rows_per_epoch", rows_per_epoch)):
        if count is not None and count < 1:
            raise ValueError(f"{name} has to be 1 or more, and is {count}")
    if importlib.util.find_spec("engine") is None:
        raise TrialError(
            "a script is run by the engine, which is not installed here",
            code="trial.no_engine",
            hint="pip install 'airflow-provider-arroyo[engine]'",
        )
    with tempfile.TemporaryDirectory(prefix="arroyo-test-") as directory:
        folder = Path(directory)
        _write_inputs(folder, inputs)
        (folder / f"{_NAME}.sql").write_text(sql.read_text() if isinstance(sql, Path) else sql)
        command = [sys.executable, "-m", "engine", "run", str(folder / f"{_NAME}.sql"), "--stand-ins", str(folder)]
        command += ["--parallelism", str(parallelism), *(["--warm"] if warm else ["--set", "quick=true"])]
        command += [part for udf in udfs for part in ("--udf", str(udf.absolute()))]
        if rows_per_epoch is not None:
            command += ["--max-epoch-rows", str(rows_per_epoch)]
        if connections is not None:
            (folder / "connections.sql").write_text(connections)
            command += ["--connections", str(folder / "connections.sql")]
        _play(command, within)
        return _read_outputs(folder)


def _write_inputs(folder: Path, inputs: Mapping[str, Sequence[Row]]) -> None:
    (folder / "in").mkdir()
    moment = datetime.now(UTC)
    for name, rows in inputs.items():
        if not name or "/" in name:
            raise TrialError(f"{name!r} is no name of a table", code="trial.bad_rows", hint="Give rows by table.")
        (folder / "in" / f"{name}.json").write_text(to_lines(name, rows, moment))


def _read_outputs(folder: Path) -> Tables:
    tables = json.loads((folder / "out" / "tables.json").read_text())
    rows = {}
    for name, table in tables.items():
        text = (folder / "out" / f"{name}.json").read_text()
        rows[name] = from_lines(text, table["columns"], are_changes=table["are_changes"])
    return Tables(rows)


def _play(command: Sequence[str], within: timedelta) -> None:
    """Run it to its end, and leave no process behind, whatever happens."""
    run = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env={name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")},
    )
    try:
        said, _ = run.communicate(timeout=within.total_seconds())
    except subprocess.TimeoutExpired as error:
        raise TrialError(
            f"the run did not end within {within}; it said:\n{_end(run)}",
            code="trial.unfinished",
            hint="Give it more time with within=timedelta(...), or fewer rows.",
        ) from error
    except BaseException:
        _end(run)
        raise
    if run.returncode:
        code = "trial.refused" if run.returncode == REFUSED else "trial.failed"
        raise TrialError(said.strip(), code=code)


def _end(run: subprocess.Popen[str]) -> str:
    """End a run with all that it has started, and return what it has said."""
    with suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGTERM)
    try:
        said, _ = run.communicate(timeout=END_TIME.total_seconds())
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        said, _ = run.communicate()
    return said.strip()
