"""Pointer to the state of operators, if it is not in the checkpoint itself.

    checkpoint/state_in_bucket.json    {"url": "s3://bucket/jobs/20261128T2015-5f2c", "folder": "/s/checkpoint/state"}
    checkpoint/state                   absent; what is there anyway is left of a move that was cut short
    state_prefixes.json                {"folder": "/s/checkpoint/state", "urls": [...]}, all that were ever begun

The pointer is in the checkpoint, so it is swapped with it. It names the folder that it was made for: a state directory
that was moved or copied gets a prefix of its own at its next start, and never deletes the objects of the original.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.checkpoints.layout import StatePaths, read_json, unreadable, write_json
from engine.delivery.durable import sync_directory

POINTER = "state_in_bucket.json"
PREFIXES = "state_prefixes.json"
_FOLDER = "state"


@dataclass(frozen=True, slots=True)
class StatePointer:
    """The prefix that has the state, and the local folder that it stands for."""

    url: str
    folder: str


def state_folder(checkpoint: Path) -> Path:
    """Return the folder in which Spark keeps the state of operators."""
    return checkpoint.absolute() / _FOLDER


def read_pointer(checkpoint: Path) -> StatePointer | None:
    """Return the pointer of a checkpoint; None if its state is on this disk."""
    content = read_json(checkpoint / POINTER)
    if content is None:
        return None
    match content:
        case {"url": str(url), "folder": str(folder)}:
            return StatePointer(url, folder)
    raise unreadable(checkpoint / POINTER)


def write_pointer(checkpoint: Path, url: str) -> None:
    """Record that the state of a checkpoint is in a bucket from now on."""
    write_json(checkpoint / POINTER, {"url": url, "folder": str(state_folder(checkpoint))})


def remove_pointer(checkpoint: Path) -> None:
    """Record that the state of a checkpoint is on this disk from now on."""
    (checkpoint / POINTER).unlink(missing_ok=True)
    sync_directory(checkpoint)


def adopt_folder(paths: StatePaths) -> None:
    """Let the pointer and the prefixes of a state that a journal has belong to the folder that this run works in. The
    journal has one run at a time, so the objects are not those of a copy."""
    if (pointer := read_pointer(paths.checkpoint)) is not None:
        write_pointer(paths.checkpoint, pointer.url)
    if (content := read_json(paths.root / PREFIXES)) is not None:
        write_json(paths.root / PREFIXES, {**content, "folder": str(state_folder(paths.checkpoint))})


def begun_prefixes(paths: StatePaths) -> tuple[str, ...]:
    """Return the prefixes that this state directory has used and not yet seen empty; none of another directory."""
    content = read_json(paths.root / PREFIXES) or {}
    if content.get("folder") != str(state_folder(paths.checkpoint)):
        return ()
    urls = content.get("urls")
    if not isinstance(urls, list):
        raise unreadable(paths.root / PREFIXES)
    return tuple(map(str, urls))


def set_begun_prefixes(paths: StatePaths, urls: tuple[str, ...]) -> None:
    """Record the prefixes that this state directory has used."""
    if urls != begun_prefixes(paths):
        write_json(
            paths.root / PREFIXES, {"folder": str(state_folder(paths.checkpoint)), "urls": list(dict.fromkeys(urls))}
        )
