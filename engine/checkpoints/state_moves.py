"""Moves the state of operators between the checkpoint and a bucket, while no query runs.

    upload       record the new prefix; upload what the newest epoch needs; write the pointer; remove the local files
    download     download what the newest epoch needs; remove the pointer

The pointer decides: after a crash before it is written, or removed, the old state is unchanged. Leftovers at the
other location are removed at the next start. `sweep_prefixes` deletes old prefixes until they are empty.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from engine.checkpoints import manifest, spark_log
from engine.checkpoints.layout import StatePaths, unreadable
from engine.checkpoints.relocate import bring_home
from engine.checkpoints.state_bucket import read_state_url, state_storage, upload
from engine.checkpoints.state_files import state_files
from engine.checkpoints.state_owners import forget_owners
from engine.checkpoints.state_pointer import (
    POINTER,
    begun_prefixes,
    read_pointer,
    remove_pointer,
    set_begun_prefixes,
    state_folder,
    write_pointer,
)
from engine.checkpoints.swap import StateMovePoint, asides
from engine.delivery.durable import sync_directory
from engine.delivery.faults import reach
from engine.errors import StateBucketError, message_of
from engine.values.instants import now

_PROBE = "probe-"


def is_elsewhere(paths: StatePaths, state_url: str | None) -> bool:
    """Return whether the state is in a bucket, but not where a run with this setting keeps it."""
    pointer = read_pointer(paths.checkpoint)
    if pointer is None:
        return False
    if state_url is None or pointer.folder != str(state_folder(paths.checkpoint)):
        return True
    return not pointer.url.startswith(f"{read_state_url(state_url)}/")


def remove_leftovers(paths: StatePaths) -> None:
    """Remove local files of a state that is in a bucket, which an interrupted move has left. No run may be active."""
    if read_pointer(paths.checkpoint) is not None:
        shutil.rmtree(state_folder(paths.checkpoint), ignore_errors=True)


def bring_state_home(paths: StatePaths) -> None:
    """Download the state of the newest epoch into the checkpoint, if it is in a bucket. No query may run."""
    if read_pointer(paths.checkpoint) is None:
        return
    remove_leftovers(paths)
    epoch = spark_log.newest_commit(paths.checkpoint)
    if epoch is not None:
        _download(paths.checkpoint, epoch)
    reach(StateMovePoint.AFTER_DOWNLOAD)
    remove_pointer(paths.checkpoint)
    reach(StateMovePoint.AFTER_POINTER_REMOVED)
    bring_home(paths.checkpoint)


def _download(checkpoint: Path, epoch: int) -> None:
    files = state_files(checkpoint)
    needed = [file for file in manifest.files_of(checkpoint, epoch, files) if file.parts[0] == "state"]
    try:
        files.copy(needed, checkpoint)
    except FileNotFoundError as error:
        raise StateBucketError(
            f"the state of epoch {epoch} is incomplete: {message_of(error)} is missing",
            hint=unreadable(checkpoint).hint,
        ) from error
    for folder in sorted({parent for file in needed for parent in (checkpoint / file).parents}):
        if folder.is_relative_to(checkpoint):
            sync_directory(folder)


def state_prefix(paths: StatePaths, state_url: str, clock: Callable[[], datetime] = now) -> str:
    """Return the prefix in which the state is stored from now on. If it is on this disk, the state of the newest epoch
    is uploaded first. No query may run."""
    pointer = read_pointer(paths.checkpoint)
    if pointer is not None:
        remove_leftovers(paths)
        return pointer.url
    prefix = read_state_url(state_url)
    url = f"{prefix}/{clock():%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
    set_begun_prefixes(paths, (*begun_prefixes(paths), url))
    reach(StateMovePoint.AFTER_PREFIX)
    epoch = spark_log.newest_commit(paths.checkpoint)
    if epoch is not None:
        found = manifest.files_of(paths.checkpoint, epoch)
        below = {file.relative_to("state").as_posix(): file for file in found if file.parts[0] == "state"}
        uploads = {name: paths.checkpoint / file for name, file in below.items()}
        upload(state_storage(read_state_url(url)), uploads)
    reach(StateMovePoint.AFTER_UPLOAD)
    paths.checkpoint.mkdir(parents=True, exist_ok=True)
    write_pointer(paths.checkpoint, url)
    reach(StateMovePoint.AFTER_POINTER)
    remove_leftovers(paths)
    return url


def sweep_prefixes(paths: StatePaths) -> int:
    """Delete the objects of all prefixes of this state directory that none of its states needs, replaced ones included;
    return how many. A prefix is forgotten once it was seen empty: a run that was replaced may still write there."""
    needed = {pointer.url for checkpoint in _checkpoints(paths) if (pointer := read_pointer(checkpoint)) is not None}
    begun, deleted = begun_prefixes(paths), 0
    kept: list[str] = []
    for url in begun:
        if url in needed:
            kept.append(url)
            continue
        bucket = state_storage(read_state_url(url))
        if names := list(bucket.list()):
            kept.append(url)
            bucket.delete(names)
            forget_owners(url)
            deleted += len(names)
    set_begun_prefixes(paths, tuple(kept))
    return deleted


def delete_prefixes(paths: StatePaths) -> None:
    """Delete the objects of all prefixes of this state directory, which is about to be deleted."""
    for url in begun_prefixes(paths):
        bucket = state_storage(read_state_url(url))
        bucket.delete(bucket.list())
        forget_owners(url)


def _checkpoints(paths: StatePaths) -> list[Path]:
    """Return every checkpoint below a state directory, and those of an unfinished swap."""
    folders = [paths.root, paths.root / "incoming", paths.root / "staging", *asides(paths)]
    return [folder / paths.checkpoint.name for folder in folders if (folder / paths.checkpoint.name / POINTER).exists()]


def probe_bucket(state_url: str) -> None:
    """Create, create again, read, list and delete an object; raise a named error if one of them does not work."""
    bucket = state_storage(read_state_url(state_url))
    name, content = f"{_PROBE}{secrets.token_hex(8)}", secrets.token_bytes(16)
    if bucket.create(name, content) is None:
        raise StateBucketError(f"{bucket.prefix} reports an object that was never written", hint=_OTHER)
    try:
        if bucket.create(name, b"") is not None:
            raise StateBucketError(
                f"{bucket.prefix} ignores conditions: two runs could overwrite each other's state", hint=_OTHER
            )
        found = bucket.get(name)
        if found is None or found.content != content or name not in bucket.list(_PROBE):
            raise StateBucketError(f"{bucket.prefix} does not return what was written to it", hint=_OTHER)
    finally:
        bucket.delete([name])


_OTHER = "use a store that supports conditional requests (If-None-Match), such as Amazon S3 or a recent compatible one"
