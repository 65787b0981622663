"""The files of a state directory that belong into its journal, and what has changed among them.

checkpoint/offsets/7         belongs into it
checkpoint/state/...         in the bucket already (`state_moves.py`)
logs/, lock, .draft, drafts/ stay on this machine
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.checkpoints.journal_records import JournaledFile
from engine.errors import UnreadableStateError

_LOCAL = frozenset({"logs", "lock"})
_STATE = ("checkpoint", "state")
_DRAFTS = "drafts"
INLINE = 256 << 10
"""Bytes. Larger files are objects of their own."""
_SCANS = 100
_PAUSE = 0.02
"""Seconds before a scan is repeated, since a file has changed during the one before."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Figures of a file that change with its content."""

    inode: int
    bytes: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class Changes:
    """The state of the files at one instant, and what has changed since another one."""

    signatures: Mapping[str, Signature]
    files: Mapping[str, JournaledFile] = field(default_factory=dict)
    removed: tuple[str, ...] = ()


def scan(root: Path) -> dict[str, Signature]:
    """Return the signature of each file that belongs into the journal."""
    return {name: Signature(stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in _walk(root, ())}


def changes_since(
    root: Path,
    before: Mapping[str, Signature],
    keep_blob: Callable[[str, Path], str],
    wait: Callable[[float], None] = time.sleep,
) -> Changes:
    """Return what has changed, as it was at one instant: no file changes between the begin and the end of the scan that
    counts. `keep_blob` stores a large file by its digest, and returns the name of the blob."""
    for _ in range(_SCANS):
        found = scan(root)
        try:
            files = {
                name: _read(root / name, signature, keep_blob)
                for name, signature in found.items()
                if before.get(name) != signature
            }
        except FileNotFoundError:
            continue
        if scan(root) == found:
            return Changes(found, files, tuple(sorted(before.keys() - found.keys())))
        wait(_PAUSE)
    raise UnreadableStateError(
        f"the files in {root} change all the time", hint="no other program may write into the folder of a run"
    )


def _read(path: Path, signature: Signature, keep_blob: Callable[[str, Path], str]) -> JournaledFile:
    if signature.bytes <= INLINE:
        content = path.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        return JournaledFile(len(content), signature.modified_ns, digest, content=content)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return JournaledFile(signature.bytes, signature.modified_ns, digest, keep_blob(digest, path))


def _walk(folder: Path, parts: tuple[str, ...]) -> Iterator[tuple[str, os.stat_result]]:
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return
    for entry in entries:
        below = (*parts, entry.name)
        if entry.name.startswith(".") or (not parts and entry.name in _LOCAL) or below == _STATE:
            continue
        try:
            if entry.is_dir(follow_symlinks=False):
                if entry.name != _DRAFTS:
                    yield from _walk(Path(entry.path), below)
            elif entry.is_file(follow_symlinks=False):
                yield "/".join(below), entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue  # gone in the meantime: the next scan says so
