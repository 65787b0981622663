"""Declaration of the mqtt connector."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.connectors.base import Options, SinkContext, Table
from engine.connectors.intake.options import LIMITS, RECEIVED
from engine.connectors.kinds import Connector, SinkKind, SourceKind
from engine.connectors.mqtt.options import METADATA, MqttOptions, MqttSinkOptions, MqttSourceOptions
from engine.connectors.schema_registry import refused_registry
from engine.formats.base import RecordKind

if TYPE_CHECKING:
    from engine.connectors.intake.source import IntakeSource
    from engine.connectors.mqtt.receiver import MqttReceiver
    from engine.connectors.mqtt.sink import MqttSink


def _open_source(table: Table) -> IntakeSource:
    from engine.connectors.intake.source import IntakeSource  # noqa: PLC0415 - checks must not pay for Arrow

    assert isinstance(table.options, MqttSourceOptions)
    return IntakeSource(table, table.options, METADATA)


def _receive(table: Table) -> MqttReceiver:
    from engine.connectors.intake.log import read_id  # noqa: PLC0415 - see `_open_source`
    from engine.connectors.mqtt.receiver import MqttReceiver  # noqa: PLC0415 - see `_open_source`

    assert isinstance(table.options, MqttSourceOptions)
    return MqttReceiver(table.options, table.name, None if table.intake is None else read_id(table.intake))


def _open_sink(table: Table, context: SinkContext) -> MqttSink:
    from engine.connectors.mqtt.sink import MqttSink  # noqa: PLC0415 - see `_open_source`

    assert isinstance(table.options, MqttSinkOptions)
    return MqttSink(table, table.options, context.directory)


def _redirect(options: Options, prefix: str) -> Options:
    assert isinstance(options, MqttSinkOptions)
    return options.model_copy(update={"topic": f"{prefix}/{options.topic}"})


_HOSTS = (
    "Hosts with addresses that are not public must be allowed where the job is started: "
    "`ARROYO_NET_ALLOW=host,10.0.0.0/8`."
)

MQTT = Connector(
    name="mqtt",
    summary="Reads a subscription of an MQTT broker, and publishes messages to a topic.",
    source=SourceKind(
        options=MqttSourceOptions,
        open=_open_source,
        check=refused_registry,
        receive=_receive,
        limits=(
            "With `AtLeastOnce` and `ExactlyOnce`, a message is acknowledged once it is durable, so none that the "
            "broker has stored for the session is lost. A message that is durable, but whose acknowledgement is lost "
            "in a crash, is sent again and is there twice, with `ExactlyOnce`, too. When only the connection is lost, "
            "`ExactlyOnce` has each message once, and `AtLeastOnce` may double some.",
            "With `AtMostOnce`, and for messages that are published with QoS 0, messages are lost while the pipeline "
            "is stopped or not connected.",
            "While the pipeline is stopped, the broker stores messages for `source.session_expiry`, or as long and as "
            "many as it is configured to (`max_queued_messages` is 1,000 in Mosquitto). A session that is gone is "
            "logged as a warning; its messages are lost. The first start receives messages from then on, and the "
            "retained ones.",
            "Connection tests and previews have sessions of their own, which end with them.",
            _HOSTS,
            *LIMITS,
        ),
    ),
    sink=SinkKind(
        options=MqttSinkOptions,
        open=_open_sink,
        check=refused_registry,
        redirect=_redirect,
        guarantee="at-least-once",
        records_stand_alone=True,
        limits=(
            "After a crash or a lost connection, an epoch is published again, with `ExactlyOnce`, too. With "
            "`AtMostOnce` the broker confirms nothing, so messages may be lost.",
            "A broker confirms a message once it is responsible for it. Mosquitto loses confirmed messages when it is "
            "killed, unless its persistence has saved them.",
            _HOSTS,
        ),
    ),
    connection=MqttOptions,
    carries=frozenset({RecordKind.JSON, RecordKind.TEXT, RecordKind.BYTES}),
    default_format="json",
    metadata=METADATA,
    event_time=RECEIVED,
)
