"""Declaration of the polling_http connector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.connectors.base import Table
from engine.connectors.intake.options import LIMITS, RECEIVED
from engine.connectors.kinds import Connector, SourceKind
from engine.connectors.polling_http.options import METADATA, PollingHttpOptions
from engine.connectors.schema_registry import refused_registry
from engine.formats.base import RecordKind

if TYPE_CHECKING:
    from engine.connectors.intake.source import IntakeSource
    from engine.connectors.polling_http.receiver import PollingReceiver


def _open(table: Table) -> IntakeSource:
    from engine.connectors.intake.source import IntakeSource  # noqa: PLC0415 - checks must not pay for Arrow

    assert isinstance(table.options, PollingHttpOptions)
    return IntakeSource(table, table.options, METADATA)


def _receive(table: Table) -> PollingReceiver:
    from engine.connectors.polling_http.receiver import PollingReceiver  # noqa: PLC0415 - see `_open`

    assert isinstance(table.options, PollingHttpOptions)
    return PollingReceiver(table.options)


POLLING_HTTP = Connector(
    name="polling_http",
    summary="Requests a URL at an interval, and reads the answers.",
    source=SourceKind(
        options=PollingHttpOptions,
        open=_open,
        check=refused_registry,
        receive=_receive,
        limits=(
            "Answers are not requested while the pipeline is stopped. With `emit_behavior = 'all'`, an answer that is "
            "lost in a crash is lost; with `changed`, the next answer has the newest content, and only values in "
            "between are missing.",
            "An answer other than 2xx is no message: 408, 425, 429 and 5xx are requested again after a pause, others "
            "stop the pipeline. An answer may have 16 MiB.",
            "Hosts with addresses that are not public must be allowed where the job is started: "
            "`ARROYO_NET_ALLOW=host,10.0.0.0/8`.",
            *LIMITS,
        ),
    ),
    carries=frozenset({RecordKind.JSON, RecordKind.TEXT, RecordKind.BYTES}),
    carries_changes=False,
    default_format="json",
    metadata=METADATA,
    event_time=RECEIVED,
)
