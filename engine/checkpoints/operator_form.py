"""Form of an operator's state, as in Spark's files. State can be kept only between operators of the same form.

    state/0/_metadata/metadata   windows: name "stateStoreSave", one store "default" in 2 partitions
    state/0/0/_metadata/schema   its keys are (_window, _key0_of_group), its values (count)

    state/1/_metadata/v2/0       shards: name "transformWithState...", variables "head" and "chunks", and the path of
                                 the schemas: file:/states/a/checkpoint/state/1/_stateSchema/default/0_99a6

The path of a schema, the number of the operator and the number of partitions are not part of the form. The form does
not show whether two operators have the same *meaning*.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from engine.checkpoints.layout import read_text, unreadable
from engine.checkpoints.spark_log import operator_metadata

_SCHEMA_PATHS = "stateSchemaFilePaths"
_WIDTH = "numPartitions"


@dataclass(frozen=True, slots=True)
class OperatorForm:
    """Name of an operator, Spark's description of its stores, and their schemas as stored."""

    name: str
    stores: str
    schemas: Mapping[str, tuple[bytes, ...]]


def operator_numbers(checkpoint: Path) -> list[int]:
    """The numbers of the operators that keep state, in order."""
    folder = checkpoint / "state"
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    return sorted(int(name) for name in names if name.isdigit())


def read_form(checkpoint: Path, number: int) -> OperatorForm:
    """The form of an operator's state; refused when it is not written down, or damaged."""
    folder = checkpoint / "state" / str(number)
    path = operator_metadata(folder)
    try:
        about = json.loads(read_text(path).partition("\n")[2])
        name, stores = str(about["operatorInfo"]["operatorName"]), about["stateStoreInfo"]
        listed = {str(store["storeName"]): store.get(_SCHEMA_PATHS, ()) for store in stores}
        noted = [_form_of_store(store) for store in stores]
        others = {key: value for key, value in about.items() if key not in ("operatorInfo", "stateStoreInfo")}
        schemas = {store: tuple(_listed_schema(folder, str(file)) for file in files) for store, files in listed.items()}
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        raise unreadable(path) from error
    own = {str(file.relative_to(folder)): (file.read_bytes(),) for file in sorted(folder.glob("[0-9]*/**/schema"))}
    return OperatorForm(name, json.dumps([noted, others], sort_keys=True), schemas | own)


def _form_of_store(store: Mapping[str, object]) -> dict[str, object]:
    """Return the recorded form of a store: the number of its schemas instead of their paths, and no width, since Spark
    keeps the old width when it repartitions a state."""
    paths = store.get(_SCHEMA_PATHS, ())
    noted = {key: value for key, value in store.items() if key != _WIDTH}
    return {**noted, _SCHEMA_PATHS: len(paths) if isinstance(paths, list | tuple) else paths}


def is_data(within: Path) -> bool:
    """Whether a file of an operator, by its path within the operator's folder, belongs to the data of a partition."""
    return within.parts[0].isdigit() and "_metadata" not in within.parts


def _listed_schema(folder: Path, file: str) -> bytes:
    """A schema, wherever the checkpoint lay when it was listed."""
    _, separator, within = file.rpartition(f"/state/{folder.name}/")
    if not separator:
        raise ValueError(file)
    return (folder / within).read_bytes()
