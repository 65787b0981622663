"""`python -m tests.kept.play make|finish|restore FOLDER CASE...`: plays cases in the folders of their names, all in one
session whose working directory is that of the case."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from engine.checkpoints import savepoints
from engine.checkpoints.restore import restore
from engine.epoch_report import EpochReport
from engine.spark.run import run
from engine.spark.stop_control import Control
from tests.kept.cases import CASES, output_of

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


def finish(name: str, folder: Path) -> None:
    """Go on from where the case was stopped."""
    _play(name, folder)


def restored(name: str, folder: Path) -> None:
    """Go on from the savepoint."""
    state = folder / "state"
    restore(state / "savepoints" / SAVEPOINT, state, allow_replay=True)
    _play(name, folder)


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


def main(verb_name: str, folder: Path, names: Sequence[str]) -> None:
    verb = {"make": make, "finish": finish, "restore": restored}[verb_name]
    for name in names:
        verb(name, folder / name)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).absolute(), sys.argv[3:])
