"""The connectors, each a value in `CONNECTORS`."""

from __future__ import annotations

from engine.connectors.base import Connector, Table
from engine.connectors.blackhole import BLACKHOLE
from engine.connectors.delta.connector import DELTA
from engine.connectors.filesystem.connector import FILESYSTEM
from engine.connectors.impulse import IMPULSE
from engine.connectors.kafka.connector import KAFKA
from engine.connectors.nexmark.connector import NEXMARK
from engine.connectors.preview import PREVIEW
from engine.connectors.redis.connector import REDIS
from engine.connectors.scripted import SCRIPTED
from engine.connectors.single_file.connector import SINGLE_FILE
from engine.connectors.stdout import STDOUT
from engine.connectors.webhook.connector import WEBHOOK

CONNECTORS: tuple[Connector, ...] = (
    BLACKHOLE,
    DELTA,
    FILESYSTEM,
    IMPULSE,
    KAFKA,
    NEXMARK,
    PREVIEW,
    REDIS,
    SCRIPTED,
    SINGLE_FILE,
    STDOUT,
    WEBHOOK,
)


def find_connector(name: str) -> Connector | None:
    """The connector of that name, or None."""
    return next((each for each in CONNECTORS if each.name == name), None)


def connector_of(table: Table) -> Connector:
    """The connector of a declared table, which there must be."""
    return next(each for each in CONNECTORS if each.name == table.connector)
