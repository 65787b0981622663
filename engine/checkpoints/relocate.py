"""Rewrite the absolute paths in a checkpoint that was moved. Spark stores them for some operators.

A state of /states/a is moved, or restored, to /states/b:

    state/0/_metadata/v2/7     "stateSchemaFilePaths": ["file:/states/a/checkpoint/state/0/_stateSchema/default/0_99a6"]
    without this module        the next run reads the schema of another pipeline, or fails once that is deleted
    bring_home                 "stateSchemaFilePaths": ["file:/states/b/checkpoint/state/0/_stateSchema/default/0_99a6"]

Export savepoints to another location and import them, completely or not at all.

    export    each file is read, compared with its digest and written, or shared with an earlier export (the base);
              then the manifest
    import    the manifest is read and checked; each file is copied into a draft and compared; then the draft gets its
              manifest, and its name

An interrupted export or import has no manifest, and so does not count. Exports are complete copies: each can be deleted
without affecting another (docs/decisions/savepoints-elsewhere-are-whole-copies.md).
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from engine.checkpoints.layout import StatePaths, read_text, unreadable, write_text
from engine.checkpoints.manifest import (
    SavedFile,
    SavepointManifest,
    manifest_bytes,
    parse_manifest,
    read_manifest,
    write_manifest,
)
from engine.checkpoints.places import NotAsSavedError, Place, as_damage
from engine.checkpoints.swap import MovePoint
from engine.delivery.durable import sync_directory, sync_file
from engine.delivery.faults import reach
from engine.delivery.storage import Storage
from engine.errors import DiskFullError, EngineError, PlaceError, SavepointNotFoundError

_PATHS = "stateSchemaFilePaths"
_MOST_OPERATORS = 10_000


def bring_home(checkpoint: Path) -> None:
    """Rewrite the paths of schemas in a checkpoint, so that no operator looks for them in another checkpoint. No run
    may be active in it."""
    for path in sorted((checkpoint.absolute() / "state").glob("*/_metadata/v2/*")):
        if path.name.isdigit():
            _bring_home(path, path.parents[2])


def _bring_home(path: Path, operator: Path) -> None:
    version, _, text = read_text(path).partition("\n")
    try:
        about = json.loads(text)
        stores = [_at_home(store, operator) for store in about["stateStoreInfo"]]
    except (ValueError, KeyError, TypeError) as error:
        raise unreadable(path) from error
    if stores != about["stateStoreInfo"]:
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)  # the sum of what is replaced, which Spark checks
        written = json.dumps({**about, "stateStoreInfo": stores}, separators=(",", ":"))
        write_text(path, f"{version}\n{written}")


def bring_home_in_bucket(storage: Storage, state: Path) -> None:
    """Rewrite the paths of schemas in a bucket that has the state of the folder `state`. No run may be active on it."""
    for number in range(_MOST_OPERATORS):
        names = [name for name in storage.list(f"{number}/_metadata/v2/") if name.rpartition("/")[2].isdigit()]
        if not names:
            return
        for name in names:
            found = storage.get(name)
            version, _, text = ("" if found is None else found.content.decode()).partition("\n")
            try:
                about = json.loads(text)
                stores = [_at_home(store, state / str(number)) for store in about["stateStoreInfo"]]
            except (ValueError, KeyError, TypeError) as error:
                raise unreadable(state / name) from error
            if stores != about["stateStoreInfo"]:
                written = json.dumps({**about, "stateStoreInfo": stores}, separators=(",", ":"))
                storage.put(name, f"{version}\n{written}".encode())


def _at_home(store: Mapping[str, object], operator: Path) -> dict[str, object]:
    schemas = store[_PATHS]
    if not isinstance(schemas, list):
        raise TypeError(schemas)
    return {**store, _PATHS: [_moved(str(schema), operator) for schema in schemas]}


def _moved(schema: str, operator: Path) -> str:
    """Return the new path of a schema that was stored as `<some checkpoint>/state/<number>/<path in the operator>`."""
    _, separator, within = schema.rpartition(f"/state/{operator.name}/")
    return f"file:{operator / within}" if separator else schema


@dataclass(frozen=True, slots=True)
class Export:
    """Result of an export; `shared` files were not sent, since the base has them."""

    manifest: SavepointManifest
    shared: int = 0


def export_savepoint(savepoint: Path, place: Place, base: Place | None = None) -> Export:
    """Copy a savepoint to a location. If the savepoint is there already, do nothing; refuse a location of another
    savepoint. If the copy fails, remove what was copied. Files that the export at `base` has are not sent again."""
    manifest = read_manifest(savepoint)
    if (there := place.manifest()) is not None:
        if there == manifest_bytes(manifest):
            return Export(manifest)
        raise PlaceError(f"{place} holds another savepoint", hint="export it to a place of its own")
    known = {} if base is None else _files_at(base)
    put: list[SavedFile] = []
    shared = 0
    try:
        for file in manifest.files:
            put.append(file)
            theirs = known.get((file.bytes, file.sha256))
            if base is not None and theirs is not None and place.share(base, theirs, file):
                shared += 1
            else:
                place.put(savepoint / file.path, file)
        reach(MovePoint.WHILE_EXPORTING)
        place.set_manifest(manifest_bytes(manifest))
    except (EngineError, OSError, NotAsSavedError) as error:
        _take_back(place, put)
        if isinstance(error, NotAsSavedError | FileNotFoundError):
            raise as_damage(savepoint, error) from error
        raise
    reach(MovePoint.AFTER_EXPORT)
    return Export(manifest, shared)


def import_savepoint(
    place: Place,
    state: Path,
    savepoint_id: str,
    version_of: Callable[[Path, SavepointManifest], int | None],
    reason: str,
) -> SavepointManifest:
    """Copy a savepoint from a location into a state directory, under another id. Its digests are verified before it
    becomes visible. `version_of` gets the folder with all files of the savepoint and its original manifest, and returns
    the pipeline's version of the state."""
    content = place.manifest()
    if content is None:
        raise SavepointNotFoundError(
            f"there is no savepoint at {place}", hint="what has no manifest there was not exported wholly"
        )
    outside = parse_manifest(Path(savepoint_id), content)
    folder = StatePaths(state).savepoints
    folder.mkdir(parents=True, exist_ok=True)
    _refuse_without_room(folder, outside)
    draft, final = folder / f".{savepoint_id}.import", folder / savepoint_id
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir()
    try:
        for file in outside.files:
            target = draft / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            place.get(file, target)
            sync_file(target)
        reach(MovePoint.WHILE_IMPORTING)
        origin = replace(outside.origin, version=version_of(draft, outside), reason=reason)
        manifest = replace(outside, id=savepoint_id, origin=origin)
        for below in (draft, *(path for path in draft.rglob("*") if path.is_dir())):
            sync_directory(below)
        write_manifest(draft, manifest)
        draft.rename(final)
        sync_directory(folder)
    except (NotAsSavedError, FileNotFoundError) as error:
        raise as_damage(Path(outside.id), error) from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    reach(MovePoint.AFTER_IMPORT)
    return manifest


def _files_at(base: Place) -> Mapping[tuple[int, str], SavedFile]:
    """Return the files of an earlier export by their digests."""
    content = base.manifest()
    if content is None:
        raise SavepointNotFoundError(f"there is no savepoint at {base}", hint="name an earlier export, or none")
    return {(file.bytes, file.sha256): file for file in parse_manifest(Path(str(base)), content).files}


def _take_back(place: Place, put: list[SavedFile]) -> None:
    """Remove what a failed export has copied: on a full disk it would keep the disk full."""
    try:
        place.remove(put)
    except (EngineError, OSError):
        return  # without a manifest, what is left is no savepoint


def _refuse_without_room(folder: Path, manifest: SavepointManifest) -> None:
    usage, needed = os.statvfs(folder), sum(file.bytes for file in manifest.files)
    if usage.f_bavail * usage.f_frsize < needed:
        raise DiskFullError(f"{folder} has no room for {needed} bytes", hint="free space on the disk")
