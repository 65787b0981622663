"""Taking a savepoint as the API does it: a copy of the newest checkpoint, while the driver runs on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engine.control.context import SavepointContent
from engine.store.savepoints.savepoints import Savepoint
from engine.values.instants import from_micros, now


def take_savepoint(state: Path, stored: Savepoint, versions: Mapping[str, int]) -> SavepointContent:
    """Copy, and say what the copy's manifest says."""
    from engine.checkpoints import savepoints  # noqa: PLC0415 - it brings pyarrow, which a server need not wait for

    request = savepoints.Request(stored.id, stored.label, stored.creator, stored.reason, versions)
    manifest = savepoints.take_requested(state, request, now)
    return SavepointContent(
        epoch=manifest.epoch,
        watermark=None if manifest.watermark is None else from_micros(manifest.watermark),
        parallelism=manifest.parallelism,
        bytes=sum(file.bytes for file in manifest.files),
        version=manifest.origin.version or versions.get(manifest.fingerprint),
    )
