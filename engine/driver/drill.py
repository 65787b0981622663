"""Process of a restore test: `python -m engine.driver.drill SAVEPOINT SCRATCH RESULT`.

The file RESULT has the number of rows that were read, or the error that shows that the savepoint is damaged. Without
that file the test could not run.
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
    """Run the restore test; the exit code is 0 if it could be run, whatever its result."""
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
