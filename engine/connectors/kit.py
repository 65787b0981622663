"""Everything that another package needs to declare a connector.

This module imports no Arrow and no client of another system, and neither should the module with a declaration: it is
imported by every check of a script. Helpers that read and write rows are in `engine.connectors.kit_rows`.
"""

from __future__ import annotations

from pydantic import Field as Option
from pydantic import SecretStr

from engine import types
from engine.connectors.addresses import WebUrl
from engine.connectors.base import (
    Chunk,
    CommitListener,
    DeadLetter,
    Epoch,
    HasBacklog,
    HasEnd,
    HasMovingStart,
    HasProbe,
    KnowsEnd,
    Lookup,
    LookupResult,
    Options,
    Position,
    SegmentWriter,
    Sink,
    SinkContext,
    Slice,
    Source,
    Table,
)
from engine.connectors.kinds import Connector, Guarantee, LookupKind, SinkKind, SourceKind
from engine.errors import (
    AddressRefusedError,
    BadRecordError,
    EngineError,
    MissingPackageError,
    RowRefusedError,
    SourceUnavailableError,
    TargetRefusedError,
    TargetUnavailableError,
)
from engine.formats.base import RecordKind
from engine.schema import Field, Schema

__all__ = (
    "AddressRefusedError",
    "BadRecordError",
    "Chunk",
    "CommitListener",
    "Connector",
    "DeadLetter",
    "EngineError",
    "Epoch",
    "Field",
    "Guarantee",
    "HasBacklog",
    "HasEnd",
    "HasMovingStart",
    "HasProbe",
    "KnowsEnd",
    "Lookup",
    "LookupKind",
    "LookupResult",
    "MissingPackageError",
    "Option",
    "Options",
    "Position",
    "RecordKind",
    "RowRefusedError",
    "Schema",
    "SecretStr",
    "SegmentWriter",
    "Sink",
    "SinkContext",
    "SinkKind",
    "Slice",
    "Source",
    "SourceKind",
    "SourceUnavailableError",
    "Table",
    "TargetRefusedError",
    "TargetUnavailableError",
    "WebUrl",
    "types",
)
