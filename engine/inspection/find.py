"""Find damage in a state or a savepoint: `arroyo state verify` and `arroyo state doctor`.

Every file is read that a run would need to continue after the newest committed epoch, or a restore would need of a
savepoint. It is compared with everything that constrains it: checksums, digests, and other files. See
docs/decisions/damage-is-found-by-comparing.md for what cannot be detected.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from engine.checkpoints import spark_log
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.state_mirror import with_local_state
from engine.checkpoints.swap import is_swapping
from engine.inspection.damage import Damage, Kind
from engine.inspection.epochs import is_savepoint
from engine.inspection.find_in_checkpoint import checkpoint_damage, row_damage
from engine.inspection.find_in_files import state_file_damage
from engine.inspection.find_in_savepoint import savepoint_damage
from engine.inspection.find_in_sinks import sink_damage
from engine.inspection.reading_again import ATTEMPTS, history_of


def find_damage(directory: Path, *, reads_rows: bool = False) -> list[Damage]:
    """Everything that is wrong with a state directory or a savepoint; nothing for a sound one. A run may be at work:
    what is only on its way is looked at again. With `reads_rows` every row of the state is read as well, though its
    files be what their sums say. Nothing is changed."""
    if is_savepoint(directory):
        damages = savepoint_damage(directory)
        return damages or list(row_damage(StatePaths(directory).checkpoint) if reads_rows else ())
    paths = StatePaths(directory)
    damages = []
    for _ in range(ATTEMPTS):
        before = _moment(paths)
        with with_local_state(directory) as local:
            found = _look(StatePaths(local), reads_rows=reads_rows)
        earlier, damages = damages, [_as_of(damage, local, directory) for damage in found]
        if not damages or before == _moment(paths):
            return damages
    return [damage for damage in damages if damage in earlier]


def _as_of(damage: Damage, local: Path, directory: Path) -> Damage:
    """Return damage that was found in a copy as that of the state directory."""
    if local == directory or not damage.path.is_relative_to(local):
        return damage
    return replace(damage, path=directory / damage.path.relative_to(local))


def _moment(paths: StatePaths) -> tuple[object, ...]:
    """Return values that differ once a run has progressed."""
    plans = spark_log.numbers(paths.checkpoint / "offsets")
    return history_of(paths), spark_log.newest_commit(paths.checkpoint), plans[-1:], is_swapping(paths)


def _look(paths: StatePaths, *, reads_rows: bool) -> list[Damage]:
    if is_swapping(paths):
        return [Damage(Kind.SWAP, paths.root / "incoming", "is the state that was to take the place of this one")]
    # ledgers first: a sink takes an epoch when its plan is there
    damages = [*sink_damage(paths), *state_file_damage(paths), *checkpoint_damage(paths.checkpoint)]
    return damages or list(row_damage(paths.checkpoint) if reads_rows else ())
