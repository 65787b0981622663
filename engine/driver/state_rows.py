"""Process that reads rows of a state: `python -m engine.driver.state_rows` reads the request from standard input and
writes the result to standard output."""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path

from engine.errors import EngineError
from engine.jobs.processes.probes import RowsOrder
from engine.spark.state.kept_rows import kept_rows
from engine.udf.declared import UdfFile


def main() -> int:
    """Read what is ordered. The answer has `rows`, or what is wrong."""
    logging.disable(logging.CRITICAL)
    order = RowsOrder(**json.load(sys.stdin))
    answer = os.dup(1)
    os.dup2(2, 1)  # what a library prints is no answer
    content: dict[str, object]
    try:
        content = {"rows": _read(order)}
    except EngineError as error:
        content = {"code": error.code, "message": error.message, "hint": error.hint}
    with os.fdopen(answer, "w") as output:
        json.dump(content, output)
    return 0


def _read(order: RowsOrder) -> list[dict[str, object]]:
    udfs = [UdfFile(name, text) for name, text in order.udfs]
    return kept_rows(
        Path(order.directory), order.operator, order.conditions, order.limit, udfs=udfs, connections=order.connections
    )


if __name__ == "__main__":
    sys.exit(main())
