"""Retry reads that race with a running pipeline: if a file disappears, read the next epoch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from engine.checkpoints.layout import StatePaths, read_json
from engine.checkpoints.swap import is_swapping
from engine.errors import UnreadableStateError

ATTEMPTS = 5
"""Number of attempts. A run deletes files only after a hundred epochs, but a swap of the state removes them at once."""

Result = TypeVar("Result")


def read_again(paths: StatePaths, read: Callable[[], Result]) -> Result:
    """Return the result of `read`, retried until no file vanished meanwhile and the lineage stayed the same; refuse if
    that never happens."""
    missing: FileNotFoundError | None = None
    for _ in range(ATTEMPTS):
        before = history_of(paths)
        try:
            result = read()
        except FileNotFoundError as error:
            missing = error
            continue
        if before == history_of(paths) and not is_swapping(paths):
            return result
    fault = f"{missing.filename} is missing" if missing else "it is being replaced"
    raise UnreadableStateError(
        f"the state in {paths.root} cannot be read: {fault}",
        hint="see with `arroyo state doctor` what is wrong, or try again when the work on it is done",
    )


def history_of(paths: StatePaths) -> str | None:
    """Return the id of the history that a state says it is of; None where it says none."""
    try:
        return str((read_json(paths.lineage) or {}).get("lineage"))
    except UnreadableStateError:
        return None
