"""The process of a drill: `python -m engine.driver.drill SAVEPOINT SCRATCH RESULT`.

What it has found is in the file RESULT: the rows that it has read, or the error that the savepoint is damaged by. Where
there is no such file it could not be tried.
"""

from __future__ import annotations

import logging
import sys
from dataclasses import asdict
from pathlib import Path

from engine.checkpoints.layout import write_json
from engine.driver.work import SparkWork
from engine.errors import EngineError, SavepointError

LOG = logging.getLogger(__name__)


def main(savepoint: Path, scratch: Path, result: Path) -> int:
    """Play the drill; the exit code is 0 when it could be played, whatever it has found."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.INFO)
    try:
        write_json(result, asdict(SparkWork().drill(savepoint, scratch)))
    except SavepointError as error:
        write_json(result, {"code": error.code, "message": error.message})
    except EngineError as error:
        LOG.error("%s", error)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:4])))
