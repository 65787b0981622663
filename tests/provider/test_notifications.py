"""A notifier tells what Airflow does not know of a pipeline, whatever is wrong with the control plane."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from airflow.sdk.bases.notifier import BaseNotifier

from airflow_provider_arroyo.errors import JobMistakeError
from airflow_provider_arroyo.notifications.arroyo import ArroyoNotifier
from airflow_provider_arroyo.operators.streaming_sql import StreamingSqlOperator
from airflow_provider_arroyo.sensors.watermark import WatermarkSensor
from airflow_provider_arroyo.testing import FakeControlPlane

from .tasks import Run

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("airflow_provider_arroyo.notifications.arroyo.utc_now", lambda: NOW)


class Telling:
    """What was told."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def __call__(self, message: str) -> None:
        self.messages.append(message)

    @property
    def text(self) -> str:
        [message] = self.messages
        return message


class Mail(BaseNotifier):
    """Another provider's notifier."""

    template_fields: Sequence[str] = ("subject", "body")

    def __init__(self, sent: list[tuple[str, str]]) -> None:
        super().__init__()
        self.sent = sent
        self.subject = "{{ arroyo.headline }}"
        self.body = "{{ arroyo_message }} at {{ ds }}"

    def notify(self, context: Any) -> None:
        self.sent.append((self.subject, self.body))


def behind(plane: FakeControlPlane, minutes: int) -> None:
    plane.add("orders", watermarks=[NOW - timedelta(minutes=minutes)])


def test_a_task_that_fails_tells_what_its_pipeline_has_failed_at(plane: FakeControlPlane, airflow_run: Run) -> None:
    plane.new_pipelines_become("Scheduling", "Failed")
    told = Telling()
    task = StreamingSqlOperator(task_id="deploy", pipeline="orders", sql="SELECT 1")

    def fail() -> None:
        [pipeline] = plane.pipelines.values()
        pipeline.failure, pipeline.failure_cause = ("data.source_refused", "the broker says no"), "mistake"

    airflow_run.at_pause[1] = fail
    with pytest.raises(JobMistakeError):
        airflow_run.execute(task)
    ArroyoNotifier(deliver=told)({**airflow_run.context(task), "task": task})

    assert told.text == (
        "pipeline orders is Failed (data.source_refused)\n"
        "  cause: data.source_refused: the broker says no (mistake: needs a fix)\n"
        "  what to do: look there\n"
        "  progress: its lag is not known; up to where its output is complete is not known\n"
        "  state: kept up to epoch 7\n"
        f"  page: {plane.url}/#/pipelines/orders\n"
        "  task: a_dag.deploy in a_run"
    )


def test_a_running_pipeline_is_reported_with_its_lag_and_progress(plane: FakeControlPlane) -> None:
    behind(plane, 13)
    told = Telling()

    ArroyoNotifier("orders", deliver=told)({})

    assert told.text.splitlines()[:3] == [
        "pipeline orders is Running and 0:13:00 behind",
        "  progress: 0:13:00 behind; its output is complete until 2026-01-31T11:47:00+00:00",
        "  state: kept up to epoch 7",
    ]


@pytest.mark.parametrize(
    ("when", "lag", "is_told"),
    [
        ((), None, True),
        (("failed",), None, False),
        ("lag", timedelta(minutes=12), True),
        ("lag", timedelta(minutes=13), False),
        (("failed", "state_lost"), None, False),
    ],
)
def test_a_notification_is_sent_only_if_its_condition_holds(
    plane: FakeControlPlane, when: Any, lag: timedelta | None, is_told: bool
) -> None:
    behind(plane, 13)
    told = Telling()

    ArroyoNotifier("orders", when=when, lag=lag, deliver=told)({})

    assert bool(told.messages) == is_told


def test_only_state_lost_since_the_last_successful_run_is_reported(
    plane: FakeControlPlane,
) -> None:
    behind(plane, 1)
    [pipeline] = plane.pipelines.values()
    pipeline.happen(NOW - timedelta(hours=3), "state.given_up", "the state of version 1, up to epoch 4, is given up")
    pipeline.happen(NOW - timedelta(hours=1), "state.given_up", "the state of version 2, up to epoch 9, is given up")
    pipeline.happen(NOW - timedelta(hours=1), "run.died", "killed")
    told = Telling()
    watch = ArroyoNotifier("orders", when="state_lost", deliver=told)

    watch({"prev_start_date_success": NOW - timedelta(hours=2)})
    watch({"prev_start_date_success": NOW})

    assert told.text.splitlines()[0] == "pipeline orders is Running and 0:01:00 behind, its state is not what it was"
    assert "state: state.given_up: the state of version 2, up to epoch 9, is given up" in told.text
    assert "epoch 4" not in told.text


def test_a_failure_about_the_state_leaves_it_in_doubt(plane: FakeControlPlane) -> None:
    plane.add("orders", failure=("delivery.ledger_lost", "the ledger is gone")).become("Failed")
    told = Telling()

    ArroyoNotifier("orders", deliver=told)({})

    assert "state: in doubt: the failure is about it (delivery.ledger_lost)" in told.text


def test_an_unreachable_control_plane_is_reported_for_every_condition(plane: FakeControlPlane) -> None:
    plane.go_away()
    told = Telling()

    ArroyoNotifier("orders", when="failed", deliver=told)({})

    assert told.text.startswith("pipeline orders: nothing is known of it\n  why: http.unreachable: ")
    assert "state: unknown" in told.text


def test_a_connection_that_is_not_there_keeps_no_message_back() -> None:
    told = Telling()

    ArroyoNotifier("orders", "nowhere", deliver=told)({})

    assert "nowhere" in told.text


def test_another_notifier_uses_the_report_in_its_own_templates_and_serves_many_tasks(plane: FakeControlPlane) -> None:
    behind(plane, 13)
    plane.add("clicks").become("Stopped")
    sent: list[tuple[str, str]] = []
    notifier = ArroyoNotifier("{{ params.name }}", message="line", deliver=Mail(sent))

    for name in ("orders", "clicks"):
        notifier({"params": {"name": name}, "ds": "2026-01-31"})

    assert sent == [
        (head, f"{head} {plane.url}/#/pipelines/{name} at 2026-01-31")
        for name, head in [
            ("orders", "pipeline orders is Running and 0:13:00 behind"),
            ("clicks", "pipeline clicks is Stopped"),
        ]
    ]


def test_a_failed_delivery_does_not_prevent_the_others(plane: FakeControlPlane) -> None:
    behind(plane, 13)
    plane.add("clicks")
    told = Telling()

    def refuse(_: str) -> None:
        raise ConnectionError("no mail today")

    with pytest.raises(ConnectionError, match="no mail"):
        ArroyoNotifier(["orders", "clicks"], deliver=[refuse, told], message="line")({})

    assert len(told.messages) == 2


def test_the_pipelines_are_those_of_the_task_that_calls(plane: FakeControlPlane) -> None:
    behind(plane, 1)
    plane.add("sales").become("Stopped")
    told = Telling()
    task = WatermarkSensor(task_id="gate", pipeline=["orders", "sales/hours"], past=NOW)

    ArroyoNotifier(deliver=told, message="{{ arroyo.pipeline }} {{ arroyo.state }}")({"task": task})

    assert told.messages == ["orders Running", "sales Stopped"]


def test_a_task_without_a_pipeline_is_reported_too() -> None:
    told = Telling()

    ArroyoNotifier(deliver=told)({})

    assert "neither the notifier nor the task names a pipeline" in told.text


def test_html_escapes_what_comes_from_elsewhere(plane: FakeControlPlane) -> None:
    plane.add("orders", failure=("data.bad_record", "<script>")).become("Failed")
    told = Telling()

    ArroyoNotifier("orders", message="html", deliver=told)({})

    assert "<script>" not in told.text
    assert "&lt;script&gt;" in told.text


@pytest.mark.parametrize("message", ["text", "line", "markdown", "html"])
def test_every_message_names_state_cause_and_page(plane: FakeControlPlane, message: str) -> None:
    plane.add("orders", failure=("data.bad_record", "no number")).become("Failed")
    told = Telling()

    ArroyoNotifier("orders", message=message, deliver=told)({})

    assert all(word in told.text for word in ("Failed", "data.bad_record", f"{plane.url}/#/pipelines/orders"))
    assert "None" not in told.text


def test_notifier_sends_the_same_from_an_event_loop(plane: FakeControlPlane) -> None:
    behind(plane, 13)
    told = Telling()

    async def call() -> None:
        await ArroyoNotifier("orders", deliver=told, message="line", context={})

    asyncio.run(call())

    assert told.text.startswith("pipeline orders is Running and 0:13:00 behind")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"message": "tetx"}, "not 'tetx'"),
        ({"when": "lost"}, "not 'lost'"),
        ({"when": "lag"}, "go together"),
        ({"lag": timedelta(1)}, "go together"),
    ],
)
def test_invalid_arguments_are_refused_at_parse_time(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ArroyoNotifier("orders", **arguments)
