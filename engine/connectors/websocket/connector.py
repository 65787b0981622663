"""Declaration of the websocket connector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.connectors.base import Table
from engine.connectors.intake.options import LIMITS, RECEIVED
from engine.connectors.kinds import Connector, SourceKind
from engine.connectors.schema_registry import refused_registry
from engine.connectors.websocket.options import METADATA, WebsocketOptions
from engine.formats.base import RecordKind

if TYPE_CHECKING:
    from engine.connectors.intake.source import IntakeSource
    from engine.connectors.websocket.receiver import WebsocketReceiver


def _open(table: Table) -> IntakeSource:
    from engine.connectors.intake.source import IntakeSource  # noqa: PLC0415 - checks must not pay for Arrow

    assert isinstance(table.options, WebsocketOptions)
    return IntakeSource(table, table.options, METADATA)


def _receive(table: Table) -> WebsocketReceiver:
    from engine.connectors.websocket.receiver import WebsocketReceiver  # noqa: PLC0415 - see `_open`

    assert isinstance(table.options, WebsocketOptions)
    return WebsocketReceiver(table.options)


WEBSOCKET = Connector(
    name="websocket",
    summary="Reads the messages of a WebSocket server.",
    source=SourceKind(
        options=WebsocketOptions,
        open=_open,
        check=refused_registry,
        receive=_receive,
        limits=(
            "A WebSocket acknowledges nothing. Messages that the server sends while the pipeline is stopped, or the "
            "connection is interrupted, are lost. A crash loses messages that are not durable yet, usually of some "
            "milliseconds.",
            "After a lost connection, the subscription messages are sent again. Messages that the server then repeats "
            "are there twice.",
            "Answers 408, 425, 429 and 5xx to a new connection are tried again after a pause. Others stop the "
            "pipeline.",
            "Hosts with addresses that are not public must be allowed where the job is started: "
            "`ARROYO_NET_ALLOW=host,10.0.0.0/8`.",
            *LIMITS,
        ),
    ),
    carries=frozenset({RecordKind.JSON, RecordKind.TEXT, RecordKind.BYTES}),
    default_format="json",
    metadata=METADATA,
    event_time=RECEIVED,
)
