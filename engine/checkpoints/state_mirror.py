"""A state directory as tools read it that need local files, if its operator state is in a bucket.

    /states/a                       /tmp/arroyo-state-x/a
    pipeline.json, sinks, ...       links to those
    checkpoint/offsets, commits     copies: a run may go on meanwhile
    checkpoint/state_in_bucket.json absent
                                    checkpoint/state, downloaded as far as the newest epoch needs it

Nothing is written into the state directory.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.checkpoints import manifest, spark_log
from engine.checkpoints.layout import StatePaths
from engine.checkpoints.state_files import state_files
from engine.checkpoints.state_pointer import POINTER, read_pointer, state_folder


@contextmanager
def with_local_state(directory: Path) -> Iterator[Path]:
    """Give a state directory with the same content and a local operator state: the directory itself, or a copy that is
    removed afterwards. Objects that are missing in the bucket are missing in the copy."""
    paths = StatePaths(directory.absolute())
    if read_pointer(paths.checkpoint) is None:
        yield directory
        return
    with tempfile.TemporaryDirectory(prefix="arroyo-state-") as folder:
        mirror = StatePaths(Path(folder) / directory.name)
        mirror.checkpoint.mkdir(parents=True)
        for entry in paths.root.iterdir():
            if entry != paths.checkpoint:
                (mirror.root / entry.name).symlink_to(entry)
        left_out = shutil.ignore_patterns(POINTER, state_folder(paths.checkpoint).name)
        shutil.copytree(paths.checkpoint, mirror.checkpoint, ignore=left_out, dirs_exist_ok=True)
        _download(paths.checkpoint, mirror.checkpoint)
        yield mirror.root


def _download(checkpoint: Path, target: Path) -> None:
    epoch = spark_log.newest_commit(target)
    if epoch is None:
        return
    files = state_files(checkpoint)
    there = files.sizes()
    files.copy([file for file in manifest.files_of(checkpoint, epoch, files) if file in there], target)
