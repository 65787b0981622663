"""Read and write the operators whose state is stored by pane, in a checkpoint: see `engine.plan.state.panes`.

    checkpoint/panes.json     {"format": 1, "operators": [0, 2]}

Without the file all windows are stored in Spark's form. It is written before the first epoch, and is part of the
checkpoint, and so of savepoints.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from engine.checkpoints import spark_log
from engine.checkpoints.contents import PANES
from engine.checkpoints.layout import read_json, unreadable, write_json

_FORMAT = 1
"""Format version: raise it when the storage of panes changes (columns, key hash, number of shards)."""


def read_panes(checkpoint: Path) -> frozenset[int]:
    """The numbers of the operators that are kept by pane; refused when the file is damaged."""
    path = checkpoint / PANES
    match read_json(path):
        case None:
            return frozenset()
        case {"format": int(form), "operators": list(numbers)} if form == _FORMAT and all(map(_is_number, numbers)):
            return frozenset(numbers)
    raise unreadable(path)


def write_panes(checkpoint: Path, numbers: Collection[int]) -> None:
    """Note them in a checkpoint, if there are any."""
    if numbers:
        write_json(checkpoint / PANES, {"format": _FORMAT, "operators": sorted(numbers)})


def is_begun(checkpoint: Path) -> bool:
    """Whether a query has planned an epoch: from then on what its operators keep has a form."""
    return bool(spark_log.numbers(checkpoint / "offsets")) or (checkpoint / PANES).exists()


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
