"""Registry of connectors: each is a value in `CONNECTORS`."""

from __future__ import annotations

import os
from importlib import import_module

from engine.connectors.base import Table
from engine.connectors.blackhole import BLACKHOLE
from engine.connectors.delta.connector import DELTA
from engine.connectors.filesystem.connector import FILESYSTEM
from engine.connectors.impulse import IMPULSE
from engine.connectors.kafka.connector import KAFKA
from engine.connectors.kinds import Connector, LookupKind, SinkKind, SourceKind
from engine.connectors.kinesis.connector import KINESIS
from engine.connectors.mqtt.connector import MQTT
from engine.connectors.nexmark.connector import NEXMARK
from engine.connectors.plugins import find_plugin, load_plugins
from engine.connectors.polling_http.connector import POLLING_HTTP
from engine.connectors.preview import PREVIEW
from engine.connectors.redis.connector import REDIS
from engine.connectors.rehearsal import REHEARSAL
from engine.connectors.single_file.connector import SINGLE_FILE
from engine.connectors.sse.connector import SSE
from engine.connectors.stdout import STDOUT
from engine.connectors.webhook.connector import WEBHOOK
from engine.connectors.websocket.connector import WEBSOCKET

CONNECTORS: tuple[Connector, ...] = (
    BLACKHOLE,
    DELTA,
    FILESYSTEM,
    IMPULSE,
    KAFKA,
    KINESIS,
    MQTT,
    NEXMARK,
    POLLING_HTTP,
    PREVIEW,
    REDIS,
    SINGLE_FILE,
    SSE,
    STDOUT,
    WEBHOOK,
    WEBSOCKET,
)

UNNAMED: tuple[Connector, ...] = (REHEARSAL,)
"""Connectors that no script can name. A program gets them in place of others."""

EXTRA = "ARROYO_TEST_CONNECTORS"
"""Environment variable that names a module with additional connectors, for tests. Drivers and Spark's workers inherit
it."""
EXTRA_ALLOWED = "ARROYO_TEST_CONNECTORS_ALLOWED"
"""Environment variable that must also be 1, so that a single variable cannot load code."""


def find_connector(name: str) -> Connector | None:
    """Return the connector of that name, or None. Raises PluginError if that of another package cannot be loaded."""
    return _named(name, CONNECTORS) or _named(name, _extra_connectors()) or find_plugin(name)


def offered_connectors() -> tuple[Connector, ...]:
    """Return the connectors that scripts can name, with those of other packages."""
    return (*(connector for connector in CONNECTORS if not connector.hidden), *load_plugins())


def connector_of(table: Table) -> Connector:
    """Return the connector of a table, which there must be."""
    connector = find_connector(table.connector) or _named(table.connector, UNNAMED)
    assert connector is not None, table.connector
    return connector


def kind_of(table: Table) -> SourceKind | SinkKind | LookupKind:
    """Return the declaration of a table's kind, by its direction."""
    connector = connector_of(table)
    kind = {"source": connector.source, "sink": connector.sink, "lookup": connector.lookup}[table.direction]
    assert kind is not None, table.connector
    return kind


def source_kind_of(table: Table) -> SourceKind:
    """Return the declaration of a table that is read."""
    kind = connector_of(table).source
    assert kind is not None, table.connector
    return kind


def sink_kind_of(table: Table) -> SinkKind:
    """Return the declaration of a table that is written."""
    kind = connector_of(table).sink
    assert kind is not None, table.connector
    return kind


def _named(name: str, connectors: tuple[Connector, ...]) -> Connector | None:
    return next((connector for connector in connectors if connector.name == name), None)


def _extra_connectors() -> tuple[Connector, ...]:
    module = os.environ.get(EXTRA)
    if module is None or os.environ.get(EXTRA_ALLOWED) != "1":
        return ()
    connectors = import_module(module).CONNECTORS
    assert isinstance(connectors, tuple), module
    return connectors
