"""Brokers that speak TLS: whom they let in, and whom clients trust."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from engine.errors import EngineError
from tests.connectors.tables import batch, epoch, sink, take
from tests.kafka.broker import PASSWORD, USER, Broker
from tests.kafka.certificates import Certificate, authority
from tests.kafka.sink_pipeline import MODES, TIMED, directory, make_topic, settled, target
from tests.kafka.tables import begin, kafka_source, kafka_table, offsets, values

OURS, FOREIGN = authority("ours"), authority("foreign")
TRUSTING = {"ssl__ca": OURS.text, "ssl__certificate": OURS.client.chain, "ssl__key": OURS.client.key}
LOGIN = {"auth__type": "sasl", "auth__username": USER, "auth__password": PASSWORD}


def secured(broker: Broker, how: str) -> dict[str, Any]:
    """The options of a table whose client may come in."""
    if how == "login":
        return {"bootstrap_servers": broker.sasl_ssl_address, "ssl__ca": OURS.text, **LOGIN}
    return {
        "bootstrap_servers": broker.ssl_address,
        "auth__protocol": "SSL",
        "ssl__ca": OURS.text,
        **shown(OURS.client),
    }


def shown(certificate: Certificate) -> dict[str, str]:
    return {"ssl__certificate": certificate.chain, "ssl__key": certificate.key}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", ["certificate", "login"])
def test_rows_are_written_and_read_over_tls(how: str, mode: str, broker: Broker, tmp_path: Path) -> None:
    topic = make_topic(broker)
    options = secured(broker, how)
    address = options.pop("bootstrap_servers")
    of = target(address, topic, sink__commit_mode=mode, **options)
    rows = [(number, "a", number * 1_000_000) for number in range(3)]

    take(sink(of, directory(tmp_path)), epoch(0), [batch(TIMED, *rows)])

    assert len(settled(broker, topic)) == 3
    source = kafka_source(kafka_table(broker, topic, bootstrap_servers=address, **options))
    first = begin(source)
    last = source.advance(first, None)
    assert offsets(last)[0] >= 3
    assert len(values(source, first, last)) == 3


WRONG = {
    "broker is not trusted": {"ssl__ca": FOREIGN.text},
    "client is not trusted": shown(FOREIGN.client),
    "key of another": shown(Certificate(OURS.client.chain, FOREIGN.client.key)),
    "no certificate": {"ssl__ca": "nothing"},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_source_that_is_not_trusted_or_does_not_trust_is_reported(wrong: str, broker: Broker) -> None:
    options = secured(broker, "certificate") | WRONG[wrong] | {"source__broker_timeout": "2 seconds"}

    with pytest.raises(EngineError) as refused:
        kafka_source(kafka_table(broker, make_topic(broker), **options)).partitions()

    assert "certificate" in str(refused.value)
    assert "ssl." in str(refused.value.hint)
    assert "PRIVATE KEY" not in str(refused.value)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_sink_that_is_not_trusted_or_does_not_trust_is_reported_at_once(
    wrong: str, mode: str, broker: Broker, tmp_path: Path
) -> None:
    options = secured(broker, "certificate") | WRONG[wrong]
    of = target(options.pop("bootstrap_servers"), make_topic(broker), sink__commit_mode=mode, **options)

    with pytest.raises(EngineError) as refused:
        take(sink(of, directory(tmp_path)), epoch(0), [batch(TIMED, (1, "a", 1_000_000))])

    assert refused.value.code in ("delivery.refused", "option.bad_value")
    assert "certificate" in str(refused.value)
    assert "ssl." in str(refused.value.hint)
    assert "PRIVATE KEY" not in str(refused.value)
