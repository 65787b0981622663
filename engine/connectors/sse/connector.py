"""Declaration of the sse connector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.connectors.base import Table
from engine.connectors.intake.options import LIMITS, RECEIVED
from engine.connectors.kinds import Connector, SourceKind
from engine.connectors.schema_registry import refused_registry
from engine.connectors.sse.options import METADATA, SseOptions
from engine.formats.base import RecordKind

if TYPE_CHECKING:
    from engine.connectors.intake.source import IntakeSource
    from engine.connectors.sse.receiver import SseReceiver


def _open(table: Table) -> IntakeSource:
    from engine.connectors.intake.source import IntakeSource  # noqa: PLC0415 - checks must not pay for Arrow

    assert isinstance(table.options, SseOptions)
    return IntakeSource(table, table.options, METADATA)


def _receive(table: Table) -> SseReceiver:
    from engine.connectors.sse.receiver import SseReceiver  # noqa: PLC0415 - see `_open`

    assert isinstance(table.options, SseOptions)
    return SseReceiver(table.options)


SSE = Connector(
    name="sse",
    summary="Reads a stream of server-sent events over HTTP.",
    source=SourceKind(
        options=SseOptions,
        open=_open,
        check=refused_registry,
        receive=_receive,
        limits=(
            "After a lost connection or a restart, the request has the `Last-Event-ID` of the newest durable event. If "
            "the server sends all events that follow it, none is lost, and none is there twice. If it ignores the "
            "header, or its events have no ids, events are lost that are sent meanwhile.",
            "With `events`, events of other kinds have no effect on `Last-Event-ID`, and may be sent again.",
            "Answers 408, 425, 429 and 5xx are requested again after a pause. Other answers that are no stream of "
            "events stop the pipeline. An event may have 16 MiB.",
            "Hosts with addresses that are not public must be allowed where the job is started: "
            "`ARROYO_NET_ALLOW=host,10.0.0.0/8`.",
            *LIMITS,
        ),
    ),
    carries=frozenset({RecordKind.JSON, RecordKind.TEXT}),
    default_format="json",
    metadata=METADATA,
    event_time=RECEIVED,
)
