"""Rewrite the absolute paths in a checkpoint that was moved. Spark stores them for some operators.

A state of /states/a is moved, or restored, to /states/b:

    state/0/_metadata/v2/7     "stateSchemaFilePaths": ["file:/states/a/checkpoint/state/0/_stateSchema/default/0_99a6"]
    without this module        the next run reads the schema of another pipeline, or fails once that is deleted
    bring_home                 "stateSchemaFilePaths": ["file:/states/b/checkpoint/state/0/_stateSchema/default/0_99a6"]
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from engine.checkpoints.layout import read_text, unreadable, write_text

_PATHS = "stateSchemaFilePaths"


def bring_home(checkpoint: Path) -> None:
    """Let no operator of a checkpoint look for its schemas in another one. No run may be at work in it."""
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


def _at_home(store: Mapping[str, object], operator: Path) -> dict[str, object]:
    schemas = store[_PATHS]
    if not isinstance(schemas, list):
        raise TypeError(schemas)
    return {**store, _PATHS: [_moved(str(schema), operator) for schema in schemas]}


def _moved(schema: str, operator: Path) -> str:
    """Return the new path of a schema that was stored as `<some checkpoint>/state/<number>/<path in the operator>`."""
    _, separator, within = schema.rpartition(f"/state/{operator.name}/")
    return f"file:{operator / within}" if separator else schema
