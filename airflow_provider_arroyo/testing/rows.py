"""Convert test rows between Python values and files of JSON objects.

    {"at": datetime(2026, 1, 1, 0, 10, tzinfo=UTC), "amount": Decimal("1.50")}     in Python
    {"at": "2026-01-01T00:10:00+00:00", "amount": "1.50"}                          in the file

Results have the types of the columns: an aware datetime for TIMESTAMP, a date, a Decimal, bytes. Values in structs and
arrays stay as in JSON.

Run a script over test rows with the real engine.

    tables = run_pipeline(Path("hourly_orders.sql"), {"orders": [{"at": noon, "amount": 3}]})
    assert tables["per_hour"] == [{"hour": noon, "amount": 3}]

The script is the deployed one: `arroyo run --stand-ins` replaces its tables by files, whatever their connectors are,
and the run ends when their rows are read. It runs in a process of its own; the engine is not imported here.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from airflow_provider_arroyo.errors import TrialError

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
    """Run the script to its end, and leave no process behind."""
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
    """End a run with its child processes, and return its output."""
    with suppress(ProcessLookupError):
        os.killpg(run.pid, signal.SIGTERM)
    try:
        said, _ = run.communicate(timeout=END_TIME.total_seconds())
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(run.pid, signal.SIGKILL)
        said, _ = run.communicate()
    return said.strip()


Row = Mapping[str, Any]


class Tables(Mapping[str, list[dict[str, Any]]]):
    """Rows of each written table, by name; bare SELECTs are `select_1`, and so on."""

    def __init__(self, rows: Mapping[str, list[dict[str, Any]]]) -> None:
        self._rows = dict(rows)

    def __getitem__(self, name: str) -> list[dict[str, Any]]:
        if name not in self._rows:
            raise TrialError(
                f"the script writes no table {name!r}", code="trial.unknown_table", hint=f"It writes {_listed(self)}."
            )
        return self._rows[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, name: object) -> bool:
        return name in self._rows

    def __repr__(self) -> str:
        return f"Tables({self._rows!r})"


def to_lines(table: str, rows: Sequence[Row], moment: datetime) -> str:
    """Return the rows as lines of a file. A row without a time is of now, as in a topic."""
    lines = []
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise TrialError(
                f"row {number} of table {table!r} is a {type(row).__name__}, not a mapping of columns to values",
                code="trial.bad_rows",
                hint="Write a row as {'column': value}.",
            )
        try:
            lines.append(json.dumps({"__event_time": moment, **row}, default=_as_json, allow_nan=False))
        except (TypeError, ValueError) as error:
            message = f"row {number} of table {table!r} cannot be written: {error}"
            raise TrialError(message, code="trial.bad_rows", hint="Give it the values of JSON, or times.") from error
    return "".join(f"{line}\n" for line in lines)


def from_lines(text: str, types: Mapping[str, str], *, are_changes: bool) -> list[dict[str, Any]]:
    """Return the rows of a file. For a changelog, return the final rows."""
    records = [json.loads(line, parse_float=_Number) for line in text.splitlines()]
    rows = _folded(records) if are_changes else records
    return [{name: _as_python(value, types.get(name, "")) for name, value in row.items()} for row in rows]


class _Number(str):
    """A number literal; only the column type says whether it is a Decimal."""

    __slots__ = ()


def _folded(changes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for change in changes:
        if change["before"] is not None:
            rows.remove(change["before"])
        if change["after"] is not None:
            rows.append(change["after"])
    return rows


def _as_json(value: object) -> str:
    match value:
        case datetime():
            if value.tzinfo is None:
                raise TypeError(f"{value!r} has no zone; give it tzinfo=UTC")
            return value.astimezone(UTC).isoformat()
        case date() | time():
            return value.isoformat()
        case Decimal():
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            raise TypeError(f"a {type(value).__name__} is no value of a column")


def _as_python(value: Any, kind: str) -> Any:
    match value, kind.partition("(")[0]:
        case None, _:
            return None
        case str(), "TIMESTAMP":
            instant = datetime.fromisoformat(value)
            return instant.replace(tzinfo=UTC) if instant.tzinfo is None else instant.astimezone(UTC)
        case str(), "DATE":
            return date.fromisoformat(value)
        case str(), "BYTEA":
            return base64.b64decode(value)
        case int() | str(), "DECIMAL":
            return Decimal(str(value))
        case _:
            return _plain(value)


def _plain(value: Any) -> Any:
    match value:
        case _Number():
            return float(value)
        case list():
            return [_plain(part) for part in value]
        case dict():
            return {name: _plain(part) for name, part in value.items()}
        case _:
            return value


def _listed(tables: Mapping[str, object]) -> str:
    return ", ".join(sorted(tables)) or "none"
