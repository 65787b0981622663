"""A queue of Airflow's common-messaging provider is the trigger of a consumer of partitions."""

from __future__ import annotations

from typing import Any

import pytest
from airflow.providers_manager import ProvidersManager

from airflow_provider_arroyo.message_queue import ArroyoMessageQueue
from airflow_provider_arroyo.triggers.partition import WatermarkEventTrigger

QUEUES = ArroyoMessageQueue()
PLAIN = {"pipeline": "orders", "every": "1 hour", "consumer": "hours"}


def trigger(queue: str | None = None, scheme: str | None = None, **kwargs: Any) -> Any:
    """The trigger as `MessageQueueTrigger` makes it."""
    if queue is None:
        assert QUEUES.scheme_matches(scheme or "")
        return QUEUES.trigger_class()(**kwargs)
    assert QUEUES.queue_matches(queue)
    return QUEUES.trigger_class()(**QUEUES.trigger_kwargs(queue, **kwargs), **kwargs)


@pytest.mark.parametrize("scheme", ["arroyo+http", "arroyo+https"])
def test_a_scheme_and_a_queue_are_the_trigger_with_the_same_arguments(scheme: str) -> None:
    plain = WatermarkEventTrigger(**PLAIN)

    assert trigger(scheme=scheme, **PLAIN).serialize() == plain.serialize()
    queue = f"{scheme}://arroyo_default/orders?every=1 hour&consumer=hours"
    assert trigger(queue).serialize() == plain.serialize()
    assert (
        trigger(f"{scheme}://arroyo_default/orders?every=1%20hour", consumer="hours").serialize() == plain.serialize()
    )


def test_a_queue_says_all_that_a_trigger_takes() -> None:
    queue = "arroyo+https://other/a%2Fb?every=1 day&consumer=c&table=t&by=input&time_zone=Europe/Berlin&offset=1 hour"
    more = "&start=2026-01-01&until=2026-02-01&late=reopen"

    wanted = WatermarkEventTrigger(
        arroyo_conn_id="other",
        pipeline="a/b",
        every="1 day",
        consumer="c",
        table="t",
        by="input",
        time_zone="Europe/Berlin",
        offset="1 hour",
        start="2026-01-01",
        until="2026-02-01",
        late="reopen",
    )
    assert trigger(queue + more).serialize() == wanted.serialize()


@pytest.mark.parametrize("scheme", ["http", "arroyo", "arroyo+ftp", "kafka"])
def test_queues_of_other_schemes_are_ignored(scheme: str) -> None:
    assert not QUEUES.scheme_matches(scheme)
    assert not QUEUES.queue_matches(f"{scheme}://arroyo_default/orders")


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        ("arroyo+http:///orders?every=1 hour&consumer=c", "name a connection and a pipeline"),
        ("arroyo+http://arroyo_default?every=1 hour&consumer=c", "name a connection and a pipeline"),
        ("arroyo+http://me:secret@host/orders?every=1 hour&consumer=c", "stay in the connection"),
        ("arroyo+http://127.0.0.1:5115/orders?every=1 hour&consumer=c", "stay in the connection"),
        ("arroyo+http://arroyo_default/orders?every=1 hour&consumr=c", "no consumr"),
        ("arroyo+http://arroyo_default/orders?every=1 hour&pipeline=b", "no pipeline"),
    ],
)
def test_a_queue_that_cannot_be_is_refused_without_its_secrets(queue: str, words: str) -> None:
    with pytest.raises(ValueError, match=words) as refused:
        trigger(queue)

    assert "secret" not in str(refused.value)


def test_a_setting_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="consumer is set both in the queue's URI and as an argument"):
        trigger("arroyo+http://arroyo_default/orders?every=1 hour&consumer=c", consumer="d")


def test_airflow_finds_it() -> None:
    manager = ProvidersManager()
    manager.initialize_providers_queues()

    assert "airflow_provider_arroyo.message_queue.ArroyoMessageQueue" in manager.queue_class_names
