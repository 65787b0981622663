"""Query of a savepoint: enough to find the version of a pipeline that it belongs to.

fingerprint f1, SELECT ...    version 1 of this pipeline, which stores objects of numpy 1    the version
                              version 2, which stores objects of numpy 2                     another state
                              version 3, like version 1 with another comment                 the same state
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.checkpoints.layout import StatePaths, read_json
from engine.checkpoints.manifest import SavepointManifest


@dataclass(frozen=True, slots=True)
class SavedQuery:
    """The script with its function files, and what the state depends on: the fingerprint, and `objects_text` of the
    functions whose objects are stored. Fields are None if a savepoint of an earlier version does not record them."""

    fingerprint: str
    objects: str | None = None
    sql: str | None = None
    udfs: tuple[str, ...] = ()


def read_saved_query(savepoint: Path, manifest: SavepointManifest) -> SavedQuery:
    """Return the query of a savepoint whose manifest was read; its files need not be in place yet."""
    recorded = read_json(savepoint / StatePaths(savepoint).pipeline.name) or {}
    objects, udfs = recorded.get("objects"), recorded.get("udfs")
    return SavedQuery(
        manifest.fingerprint,
        objects_text(objects) if isinstance(objects, list) else None,
        manifest.sql,
        tuple(str(file[-1]) for file in udfs if isinstance(file, list) and file) if isinstance(udfs, list) else (),
    )


def objects_text(kept: Sequence[Sequence[str]]) -> str:
    """Return a short text that identifies what can read the stored objects of some functions; empty if none are
    stored."""
    return hashlib.sha256(json.dumps(kept).encode(errors="surrogatepass")).hexdigest() if kept else ""
