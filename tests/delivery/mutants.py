"""Sinks that leave something out. Each is one that somebody has written, here or elsewhere; the simulator has to find
fault with every one of them."""

from __future__ import annotations

import secrets
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from engine.delivery import fence, file_ledger, ledger, manifests, publish, segments
from engine.delivery.epoch import Epoch
from engine.delivery.ledger import Decision, LedgerEntry, WriteAfter, decide
from engine.delivery.manifests import EpochManifest, read_manifest_file

Replaced = Mapping[Callable[..., Any], Callable[..., Any]]


def without_ledger() -> Replaced:
    """Nothing is remembered: every epoch is written anew, under names of its own."""

    def always(entries: Sequence[LedgerEntry], epoch: Epoch, **_: object) -> Decision:
        return WriteAfter(entries[-1] if entries else None)

    def decide_anew(directory: Path, planned: EpochManifest) -> EpochManifest:
        manifests.write_manifest_file(directory / "manifests" / f"{planned.epoch:012d}-{planned.lineage}.json", planned)
        return replace(planned, files=tuple(replace(file, name=_another(file.name)) for file in planned.files))

    functions: Replaced = {ledger.decide: always, manifests.decide_manifest: decide_anew}
    if log := sys.modules.get("engine.connectors.delta.log"):  # what a table's log remembers is a ledger too
        return {**functions, log.application_of: lambda app, lineage: f"{app}/{lineage}/{secrets.token_hex(8)}"}
    return functions


def without_lineage() -> Replaced:
    """A restore is not noticed: the ledger's entries are taken for those of the same history."""

    def ignorant(entries: Sequence[LedgerEntry], epoch: Epoch, **facts: bool) -> Decision:
        renamed = [replace(entry, lineage=epoch.lineage) for entry in entries]
        decision = decide(renamed, epoch, **facts)
        match decision:
            case WriteAfter(LedgerEntry() as after, is_rewind):
                return WriteAfter(entries[renamed.index(after)], is_rewind)
        return decision

    return {ledger.decide: ignorant}


def ledger_is_replaced() -> Replaced:
    """The ledger is one file that whoever comes last puts in the place of the one before."""

    def put(directory: Path, version: int, entries: Sequence[LedgerEntry]) -> bool:
        folder = directory / "ledger"
        for path in list(folder.glob("[0-9]*.json")) if folder.exists() else []:
            path.unlink(missing_ok=True)
        return real(directory, version, entries)

    real = file_ledger._create
    return {file_ledger._create: put}


def all_segments_are_dropped() -> Replaced:
    """Cleaning up, or an abort, deletes whatever is there."""

    def drop(directory: Path, *_: object) -> None:
        shutil.rmtree(directory / "segments", ignore_errors=True)

    return {segments.drop_segments: drop}


def drafts_are_shared() -> Replaced:
    """All runs write their drafts of a file under one name. No run looks at its fence, which alone does no harm here
    and stops nearly all that were replaced before they come to that."""
    return {
        publish._draft: lambda target, generation: target.with_name(f".{target.name}.draft"),
        fence.check_fence: lambda *_: None,
    }


def manifests_are_replaced() -> Replaced:
    """Who comes last decides what an epoch publishes."""

    def decide_last(directory: Path, planned: EpochManifest) -> EpochManifest:
        path = directory / "manifests" / f"{planned.epoch:012d}-{planned.lineage}.json"
        path.unlink(missing_ok=True)
        manifests.write_manifest_file(path, planned)
        return replace(planned, files=tuple(replace(file, name=_another(file.name)) for file in planned.files))

    return {manifests.decide_manifest: decide_last}


def what_is_newer_is_abandoned() -> Replaced:
    """Everything behind the last epoch that stays counts as the history that a restore has left."""

    def abandon(directory: Path, epoch: Epoch) -> list[EpochManifest]:
        folder = directory / "manifests"
        file_name = f"{epoch.number:012d}-{epoch.lineage}.json"
        paths = [path for path in sorted(folder.glob("*.json")) if path.name != file_name]
        return [read_manifest_file(path) for path in paths if int(path.name.split("-")[0]) >= epoch.number]

    return {manifests.abandoned_manifests: abandon, fence.check_fence: lambda *_: None}


def first_file_that_is_there_ends_it() -> Replaced:
    """When a file of an epoch is there already, the rest is taken to be there, too."""
    epochs = set[str]()

    def publish_until(target: Path, build: Callable[[Path], object], **named: int) -> None:
        epoch = f"{target.parent.parent} {target.name}"
        if target.exists():
            epochs.add(epoch)
        if epoch not in epochs:
            real(target, build, **named)

    real = publish.publish
    return {publish.publish: publish_until}


MUTANTS: Mapping[str, Callable[[], Replaced]] = {
    mutant.__name__: mutant
    for mutant in (
        without_ledger,
        without_lineage,
        ledger_is_replaced,
        all_segments_are_dropped,
        drafts_are_shared,
        manifests_are_replaced,
        what_is_newer_is_abandoned,
        first_file_that_is_there_ends_it,
    )
}


@contextmanager
def replaced(functions: Replaced) -> Iterator[None]:
    """Wherever the engine calls one of the functions, it calls the other."""
    import_module("engine.connectors.files.rolling_sink")  # what is loaded later would keep the replacement
    bindings = [
        (module, name, value)
        for module in [module for name, module in sys.modules.items() if name.startswith("engine.")]
        for name, value in vars(module).items()
        if callable(value) and any(value is real for real in functions)
    ]
    try:
        for module, name, value in bindings:
            setattr(module, name, functions[value])
        yield
    finally:
        for module, name, value in bindings:
            setattr(module, name, value)


def _another(name: str) -> str:
    if name.isdigit():  # a part of a topic, which is no file
        return name
    folder, _, base = name.rpartition("/")
    stem, dot, suffix = base.partition(".")
    return f"{folder}/{stem}-{secrets.token_hex(4)}{dot}{suffix}".lstrip("/")
