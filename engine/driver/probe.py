"""Process of a connection test: `python -m engine.driver.probe SECONDS` reads the request from standard input and
writes the result to standard output. It has the environment of a driver, and changes nothing."""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

from engine.connectors import find_connector
from engine.connectors.probing import probe_connection, probe_table
from engine.driver.inferring import infer
from engine.errors import EngineError, ScriptRefused
from engine.jobs.processes.probes import ProbeOrder, ProbeResult
from engine.sql.stored.checking import check_connection, check_table
from engine.sql.tables.create_connection import Connections, read_connections

_LEAST = 1.0
"""Shortest timeout; zero would mean none."""


def main() -> int:
    """Play one test. Its first argument is after how many seconds it ends itself, should whoever asked be gone."""
    _end_after(float(sys.argv[1]))
    logging.disable(logging.CRITICAL)
    order = ProbeOrder(**json.load(sys.stdin))
    answer = os.dup(1)
    os.dup2(2, 1)  # what a library prints is no answer
    try:
        result = _play(order)
    except ScriptRefused as refused:
        first = refused.complaints[0]
        result = ProbeResult(first.message, True, first.code, first.hint)
    except EngineError as error:
        result = ProbeResult(error.message, True, error.code, error.hint)
    except Exception as error:  # noqa: BLE001 - the top of a process; whatever a client raises is what came of the test
        result = ProbeResult(f"{type(error).__name__}: {error}"[:500], True, "connector.failed")
    with os.fdopen(answer, "w") as output:
        json.dump(asdict(result), output)
    os._exit(0)  # clients of other systems have threads that go on


def _end_after(seconds: float) -> None:
    """Have the system end this process, whatever a client of another system waits for in it."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, _LEAST))


def _play(order: ProbeOrder) -> ProbeResult:
    if order.infer:
        return infer(order, _known(order))
    if order.columns is None:
        connection = check_connection(order.name, order.connector, order.options)
        connector = find_connector(connection.connector)
        assert connector is not None, connection.connector
        return ProbeResult(probe_connection(connector, connection.options))
    table = check_table(order.name, order.connector, order.columns, order.options, _known(order)).entry.table
    with TemporaryDirectory() as scratch:
        return ProbeResult(probe_table(table, Path(scratch)))


def _known(order: ProbeOrder) -> Connections:
    return read_connections(order.connections) if order.connections.strip() else {}


if __name__ == "__main__":
    sys.exit(main())
