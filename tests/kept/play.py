"""Plays kept cases. `python -m tests.kept.play make FOLDER CASE...` makes the states that are kept, each in the
folder of its case, which is then the working directory.

`python -m tests.kept.play serve` stays, and plays what it is told to on its input in the one session that it has: the
paths of the cases are relative, and Java cannot change its working directory. It answers with a line of JSON.

    -> ["restore", "windows", "states/3"]
    <- null, or the text of what went wrong
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from engine.checkpoints import savepoints
from engine.checkpoints.restore import restore
from engine.spark.jvm.session import close_session, open_session
from engine.spark.run.lifecycle import run, run_in
from engine.spark.run.stop_control import Control
from engine.values.epoch_report import EpochReport
from tests.kept.cases import CASES, output_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAVED_AT, STOPPED_AT = 1, 3
SAVEPOINT = "kept"


def make(name: str, folder: Path) -> None:
    """Run a case from its start to its end, keep what it has written, and then once more until it is stopped, with a
    savepoint on the way."""
    for root in (folder / "whole", folder / "part"):
        root.mkdir(parents=True)
        (root / "inputs").symlink_to(Path(__file__).parents[1] / "golden" / "inputs")
    _play(name, folder / "whole")
    _play(name, folder / "part", stops=True)
    (folder / "part" / "inputs").unlink()
    (folder / "part" / "expected.json").write_text(json.dumps(output_of(folder / "whole"), indent=0))


def _play(name: str, folder: Path, *, stops: bool = False) -> None:
    os.chdir(folder)
    control, spec = Control(), CASES[name].spec(name, folder)

    def note(report: EpochReport) -> None:
        if stops and report.epoch == SAVED_AT:
            savepoints.take(spec.state_dir, SAVEPOINT, label=None, clock=lambda: datetime.now(UTC))
        if stops and report.epoch >= STOPPED_AT:
            control.stop("checkpoint")

    outcome = run(spec, control, note)
    assert outcome == ("stopped" if stops else "finished"), f"{name} {outcome}"


def go_on(spark: SparkSession, verb: str, name: str, state: Path) -> None:
    """Finish a case from where it was stopped, or from its savepoint."""
    if verb == "restore":
        restore(state / "savepoints" / SAVEPOINT, state, allow_replay=True)
    spec = replace(CASES[name].spec(name, Path()), state_dir=state)
    assert (outcome := run_in(spark, spec, Control())) == "finished", f"{name} {outcome}"


def serve() -> None:
    """Play what is asked for until there is no more input."""
    spark = open_session(app_name="kept", master="local[1]", quick=True, log_dir=Path("logs"))
    for line in sys.stdin:
        verb, name, state = json.loads(line)
        try:
            go_on(spark, verb, name, Path(state).absolute())
        except Exception:  # noqa: BLE001 - it is the answer
            print(json.dumps(traceback.format_exc()), flush=True)  # noqa: T201
        else:
            print("null", flush=True)  # noqa: T201
    close_session(spark)


def main(verb: str, arguments: Sequence[str]) -> None:
    if verb == "serve":
        serve()
        return
    for name in arguments[1:]:
        make(name, Path(arguments[0]).absolute() / name)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
