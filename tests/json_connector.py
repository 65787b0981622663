"""What the connectors of tests have in common."""

from __future__ import annotations

from typing import Any

from engine.connectors.kinds import Connector
from engine.formats.base import RecordKind


def json_connector(**fields: Any) -> Connector:
    """A connector of JSON rows that no documentation names."""
    return Connector(
        carries=frozenset({RecordKind.JSON}),
        default_format="json",
        hidden=True,
        **fields,
    )
