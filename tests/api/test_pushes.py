"""Deliveries that are pushed to Airflow: each is one event, in order, whatever is lost on the way."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from engine.api.partitions.airflow_events import AirflowEvents, Environ
from engine.api.partitions.push_watch import Pusher, PushWatch
from engine.cli.main import main
from engine.connectors.addresses import ALLOWED
from engine.jobs.decisions.partitions import LONGEST_PAUSE, SETTLING, Push, pause
from engine.values.instants import FAR_FUTURE
from tests.api.conftest import T0, Plane
from tests.api.stand_in_airflow import PASSWORD, StandInAirflow
from tests.api.stand_in_server import StandInServer
from tests.api.test_late_partitions import batch, come
from tests.api.test_partitions import follow, reach, told

URL = "http://203.0.113.9:8080/base"
PUSH = {"url": URL, "asset": "hours", "username": "me", "password": "{{ secret:AIRFLOW }}"}


class Pushing:
    """A consumer of hours whose deliveries are pushed to an Airflow in memory."""

    def __init__(self, plane: Plane) -> None:
        self.plane, self.airflow = plane, StandInAirflow()
        self.pusher = self.start()

    def start(self) -> Pusher:
        """Begin anew with what is written down, as a control plane that was killed does."""
        self.pusher = Pusher(self.plane.context, "hours", self.open, lambda: 1.0)
        return self.pusher

    def open(self, push: Push, environ: Environ) -> AirflowEvents:
        return AirflowEvents(push, environ, self.airflow.transport)

    def push_all(self) -> None:
        """Push until there is nothing to do now."""
        for _ in range(1000):
            if self.pusher.step() is not None:
                return
        raise AssertionError("it comes to no end")

    def wait_and_push(self) -> None:
        """Let the pause pass that is due."""
        while (again := self.pusher.step()) is None:
            pass
        if again < FAR_FUTURE:
            self.plane.now = again
        self.push_all()

    @property
    def state(self) -> dict[str, Any]:
        shown: dict[str, Any] = self.plane.get("/partitions/hours")["push"]
        return shown


@pytest.fixture
def hours(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pushing]:
    """The clock shows noon, orders runs, and three hours are complete."""
    monkeypatch.setenv("ARROYO_SECRET_AIRFLOW", PASSWORD)
    monkeypatch.setenv(ALLOWED, "203.0.113.0/24")
    plane.run(query="SELECT 1 INTO LATE")
    plane.now = T0 + timedelta(hours=12)
    follow(plane, push=PUSH)
    reach(plane, 7, 185)
    pushing = Pushing(plane)
    yield pushing
    pushing.pusher.close()


def test_each_hour_becomes_one_event_with_its_key_and_certificate_and_is_acknowledged(hours: Pushing) -> None:
    hours.push_all()

    assert hours.airflow.told == ["closed 00", "closed 01", "closed 02"]
    event = hours.airflow.events[1]
    consumer = hours.plane.get("/partitions/hours")
    assert event["partition_key"] == event["extra"]["key"] == "2026-01-01T01:00:00"
    assert event["extra"]["delivery"] == f"{consumer['id']}-2"
    assert (event["extra"]["pipeline"], event["extra"]["voided"]) == ("orders", False)
    assert event["extra"]["certificate"]["epoch"] == 7
    run = event["extra"]["openlineage"]
    assert (run["parentJobNamespace"], run["parentJobName"]) == ("arroyo", "orders")
    assert UUID(run["parentRunId"]).version == 7
    pulled = hours.plane.get("/partitions/hours/deliveries")["data"][1]["certificate"]
    assert pulled["openlineage"] == run
    assert (event["extra"]["start"], event["extra"]["end"]) == (
        "2026-01-01T01:00:00+00:00",
        "2026-01-01T02:00:00+00:00",
    )
    assert (consumer["acked"], consumer["push"]["waiting"], consumer["push"]["error"]) == (3, 0, None)
    assert hours.airflow.logins == 1
    assert all(request.url.path.startswith("/base/") for request in hours.airflow.requests)
    reach(hours.plane, 8, 245)
    assert hours.state["waiting"] == 1
    hours.push_all()
    assert hours.airflow.told[3:] == ["closed 03"]
    assert "open sesame" not in hours.plane.http.get("/api/v1/partitions/hours").text


FAULTS = {
    "lost answer": "partition.push_unclear",
    "stored, then 502": "partition.push_unclear",
    "lost request": "partition.push_unclear",
    "503": "partition.push_unclear",
    "no connection": "partition.push_unreachable",
    "409": "partition.push_refused",
    "302": "partition.push_refused",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_push_interrupted_at_any_point_results_in_one_event(hours: Pushing, fault: str) -> None:
    hours.airflow.faults += ["", fault, fault]

    hours.push_all()
    assert hours.airflow.told[:1] == ["closed 00"]
    assert (hours.state["failures"], hours.state["waiting"]) == (1, 2)
    assert hours.state["error_code"] == FAULTS[fault]
    for _ in range(6):
        hours.wait_and_push()

    assert hours.airflow.told == ["closed 00", "closed 01", "closed 02"]
    assert (hours.state["failures"], hours.state["waiting"], hours.state["error"]) == (0, 0, None)


@pytest.mark.parametrize("fault", ["lost answer", "lost request"])
def test_push_in_doubt_after_a_kill_is_looked_up_before_it_is_sent_again(
    hours: Pushing, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hours.airflow.faults += [fault]
    with monkeypatch.context() as dying:
        dying.setattr(Pusher, "_fail", lambda *_: T0)  # before it can write down what went wrong
        hours.push_all()
    hours.start()

    hours.push_all()
    assert hours.airflow.posted() == 1, "the event may still be about to be stored"
    hours.wait_and_push()

    assert hours.airflow.told == ["closed 00", "closed 01", "closed 02"]


def test_a_doubt_settles_from_when_the_answer_was_given_up_and_over_a_clock_that_is_set_back(
    hours: Pushing, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell = AirflowEvents.tell

    def slow(*arguments: Any) -> None:
        hours.plane.now += timedelta(seconds=35)  # a login anew, and then the answer, both waited for
        tell(*arguments)

    hours.airflow.faults += ["lost request"]
    with monkeypatch.context() as waiting:
        waiting.setattr(AirflowEvents, "tell", slow)
        assert hours.pusher.step() is None
        assert hours.pusher.step() == hours.plane.now + SETTLING
    hours.plane.now -= timedelta(hours=5)

    assert hours.pusher.step() == hours.plane.now + SETTLING
    assert hours.airflow.posted() == 1
    hours.wait_and_push()

    assert hours.airflow.told == ["closed 00", "closed 01", "closed 02"]


def test_push_in_doubt_stays_so_with_another_login(hours: Pushing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARROYO_SECRET_TOKEN", "token-1")
    hours.airflow.faults += ["lost answer"]
    hours.push_all()

    follow(hours.plane, push={"url": URL, "asset": "hours", "token": "{{ secret:TOKEN }}"})
    hours.wait_and_push()

    assert hours.airflow.told == ["closed 00", "closed 01", "closed 02"]


@pytest.mark.parametrize("fault", ["lost answer", "lost request"])
def test_push_in_doubt_stays_so_while_its_consumer_is_pulled(hours: Pushing, fault: str) -> None:
    hours.airflow.faults += ["", fault]
    hours.push_all()
    follow(hours.plane, push=None)
    assert hours.pusher.step() == FAR_FUTURE
    hours.start()

    follow(hours.plane, push=PUSH)
    assert hours.state["failures"] == 1
    hours.wait_and_push()

    assert hours.airflow.told == ["closed 00", "closed 01", "closed 02"]
    assert hours.airflow.posted() == 3 + (fault == "lost request")


def rows_of_pushes(plane: Plane) -> dict[str, list[dict[str, Any]]]:
    """What a copy of the database has of consumers and what they were told."""
    with plane.context.database.reading() as connection:
        return {
            name: [dict(row) for row in connection.exec_driver_sql(f"SELECT * FROM {name}").mappings()]
            for name in ("certificates", "partition_consumers", "partition_deliveries", "partition_pushes")
        }


def restore(plane: Plane, copy: dict[str, list[dict[str, Any]]]) -> None:
    """Bring it back."""
    with plane.context.database.writing() as connection:
        for name in reversed(copy):
            connection.exec_driver_sql(f"DELETE FROM {name}")
        for name, rows in copy.items():
            for row in rows:
                columns, marks = ", ".join(row), ", ".join("?" * len(row))
                connection.exec_driver_sql(f"INSERT INTO {name} ({columns}) VALUES ({marks})", tuple(row.values()))


@pytest.mark.parametrize("others", [0, 250])
@pytest.mark.parametrize("pushed_before", [False, True])
def test_a_control_plane_that_was_restored_from_a_backup_posts_nothing_twice(
    hours: Pushing, others: int, pushed_before: bool
) -> None:
    if pushed_before:
        hours.push_all()
    copy = rows_of_pushes(hours.plane)
    hours.push_all()
    reach(hours.plane, 8, 305)
    hours.push_all()
    hours.airflow.events += [{"id": 6 + number, "extra": {}} for number in range(others)]
    told = hours.airflow.posted()
    restore(hours.plane, copy)
    hours.start()

    hours.push_all()
    assert hours.airflow.posted() == told
    reach(hours.plane, 9, 365)
    hours.push_all()

    ours = [event["extra"]["key"][11:13] for event in hours.airflow.events if event["extra"]]
    assert ours == ["00", "01", "02", "03", "04", "05"]


def test_after_a_restore_from_a_backup_nothing_else_is_told_under_the_name_of_what_was_told(hours: Pushing) -> None:
    hours.push_all()
    copy = rows_of_pushes(hours.plane)
    reach(hours.plane, 8, 245)
    hours.push_all()
    restore(hours.plane, copy)
    follow(hours.plane, late="reopen")
    come(hours.plane, 9, 250, batch(9, [65]))
    hours.start()

    hours.push_all()

    assert hours.airflow.told == ["closed 00", "closed 01", "closed 02", "closed 03"]
    assert (hours.state["error_code"], hours.state["waiting"]) == ("partition.push_behind", 2)
    assert "delete the consumer" in hours.state["error"]


def test_events_are_listed_only_where_something_is_not_known(hours: Pushing) -> None:
    hours.push_all()
    hours.start()
    reach(hours.plane, 8, 365)

    hours.push_all()

    assert (len(hours.airflow.told), hours.airflow.listed) == (6, 0)


def test_push_in_doubt_waits_while_airflow_cannot_list_events(hours: Pushing) -> None:
    hours.airflow.faults += ["lost answer"]
    hours.airflow.cannot_list = True
    hours.push_all()

    for _ in range(3):
        hours.wait_and_push()
    assert (hours.airflow.told, hours.airflow.posted()) == (["closed 00"], 1)
    hours.airflow.cannot_list = False
    hours.wait_and_push()

    assert hours.airflow.told == ["closed 00", "closed 01", "closed 02"]


def test_events_of_others_are_passed_over_page_by_page(hours: Pushing) -> None:
    hours.airflow.faults += ["lost answer"]
    hours.push_all()
    hours.airflow.events += [{"id": 2 + number, "extra": {}} for number in range(250)]

    hours.wait_and_push()

    ours = [event["extra"]["key"][11:13] for event in hours.airflow.events if event["extra"]]
    assert ours == ["00", "01", "02"]


def test_a_token_that_has_ended_is_asked_for_anew(hours: Pushing) -> None:
    hours.push_all()
    hours.airflow.valid = "token-2"
    reach(hours.plane, 8, 245)

    hours.push_all()

    assert (hours.airflow.told[3:], hours.airflow.logins) == (["closed 03"], 2)


def test_a_wrong_password_is_shown_without_it_and_tried_again_when_it_is_set(
    hours: Pushing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARROYO_SECRET_AIRFLOW", "guessed")
    hours.push_all()
    assert hours.state["error_code"] == "partition.push_refused"
    assert "401" in hours.state["error"]
    assert "guessed" not in hours.state["error"]
    monkeypatch.setenv("ARROYO_SECRET_AIRFLOW", PASSWORD)

    follow(hours.plane, push=PUSH)
    hours.push_all()

    assert len(hours.airflow.told) == 3, "who asks again has it tried at once"


def test_an_answer_that_repeats_what_was_sent_is_shown_without_the_secrets(
    hours: Pushing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARROYO_SECRET_AIRFLOW", 'quo"ted')
    hours.airflow.repeats = True
    hours.push_all()

    assert hours.state["error_code"] == "partition.push_refused"
    assert "username" in hours.state["error"]
    assert "quo" not in hours.state["error"]
    assert "quo" not in hours.plane.http.get("/api/v1/pipelines/orders/events").text


def test_the_secret_of_the_pipeline_goes_before_that_of_the_environment(hours: Pushing, monkeypatch: Any) -> None:
    monkeypatch.delenv("ARROYO_SECRET_AIRFLOW")
    hours.push_all()
    assert hours.state["error_code"] == "run.no_secret"
    hours.plane.deploy("orders", query="SELECT 1 INTO LATE", secrets={"AIRFLOW": PASSWORD})

    hours.wait_and_push()

    assert len(hours.airflow.told) == 3


@pytest.mark.parametrize(("token", "logins"), [("{{ secret:TOKEN }}", 0), (None, 1)])
def test_a_token_of_ones_own_and_an_airflow_that_lets_everybody_in(
    hours: Pushing, monkeypatch: pytest.MonkeyPatch, token: str | None, logins: int
) -> None:
    monkeypatch.setenv("ARROYO_SECRET_TOKEN", "token-1")
    follow(hours.plane, push={"url": URL, "asset": "x://hours", "token": token})

    hours.push_all()

    assert (len(hours.airflow.told), hours.airflow.logins) == (3, logins)


def test_an_airflow_that_is_away_for_hours_fills_nothing_and_is_told_of_once(hours: Pushing) -> None:
    hours.airflow.away = "refused"
    since = hours.plane.now
    hours.push_all()
    for epoch in range(8, 60):
        reach(hours.plane, epoch, 125 + epoch * 5)
        hours.wait_and_push()

    consumer = hours.plane.get("/partitions/hours")
    assert (consumer["delivered"], consumer["push"]["waiting"]) == (1, 7)
    assert (consumer["push"]["error_code"], consumer["push"]["failures"]) == ("partition.push_unreachable", 53)
    assert consumer["push"]["failing_since"] == int(since.timestamp() * 1_000_000)
    assert hours.plane.now - since > timedelta(hours=3)
    figures = hours.plane.http.get("/metrics").text
    assert 'arroyo_push_waiting{consumer="hours",pipeline="orders"} 7.0' in figures
    assert 'arroyo_push_failures_in_a_row{consumer="hours",pipeline="orders"} 53.0' in figures
    hours.airflow.away = None
    hours.wait_and_push()
    assert len(hours.airflow.told) == 7
    figures = hours.plane.http.get("/metrics").text
    assert 'arroyo_push_waiting{consumer="hours",pipeline="orders"} 0.0' in figures
    words = [event["message"] for event in hours.plane.get("/pipelines/orders/events")["data"]]
    assert sum("cannot be pushed" in each for each in words) == 1
    assert sum("are pushed to" in each for each in words) == 1


def test_redirects_are_not_followed(hours: Pushing) -> None:
    hours.airflow.away = "302"

    hours.push_all()

    assert {request.url.host for request in hours.airflow.requests} == {"203.0.113.9"}
    assert "redirects are not followed" in hours.state["error"]


def test_an_asset_that_airflow_does_not_know_is_named(hours: Pushing) -> None:
    hours.airflow.has_asset = False

    hours.push_all()

    assert "knows no active asset 'hours'" in hours.state["error"]


def test_pauses_grow_and_are_not_all_the_same() -> None:
    lengths = [pause(failures, lambda: 1.0) for failures in range(1, 12)]

    assert lengths[:3] == [timedelta(seconds=1), timedelta(seconds=2), timedelta(seconds=4)]
    assert lengths == sorted(lengths)
    assert lengths[-1] == pause(10_000, lambda: 1.0) == LONGEST_PAUSE
    assert pause(3, lambda: 0.0) == timedelta(seconds=2)


@pytest.mark.parametrize("with_keys", [True, False])
def test_bucket_voided_by_a_restore_is_pushed_as_an_asset_event(hours: Pushing, with_keys: bool) -> None:
    """With keys an event would start the DAG of the hour: it is told with the next one. Without keys it is an event."""
    follow(hours.plane, push={**PUSH, "with_keys": with_keys})
    plane = hours.plane
    savepoint = plane.http.post("/api/v1/pipelines/orders/savepoints").json()  # of epoch 7
    hours.push_all()
    reach(plane, 8, 245)
    hours.push_all()
    body = {"savepoint_id": savepoint["id"], "allow_replay": True}
    assert plane.http.post("/api/v1/pipelines/orders/restore", json=body).is_success
    plane.settle()
    plane.end()
    plane.come_up()
    hours.push_all()
    reach(plane, 8, 305, lineage="b")
    hours.push_all()

    voided = [] if with_keys else ["voided 03"]
    assert hours.airflow.told[3:] == ["closed 03", *voided, "closed 03", "closed 04"]
    assert [event["extra"]["voided"] for event in hours.airflow.events[-2:]] == [True, False]
    assert [event.get("partition_key") is not None for event in hours.airflow.events] == [with_keys] * len(
        hours.airflow.events
    )


def test_rows_that_come_late_reopen_an_hour(hours: Pushing) -> None:
    hours.push_all()
    follow(hours.plane, late="reopen")
    come(hours.plane, 8, 190, batch(8, [65]))

    hours.push_all()

    assert hours.airflow.told[3:] == ["reopened 01"]


def test_pulling_from_a_push_consumer_is_refused_until_it_is_changed_to_pull(hours: Pushing) -> None:
    refused = hours.plane.http.post("/api/v1/partitions/hours/ack", json={"up_to": 1})
    assert (refused.status_code, refused.json()["code"]) == (409, "partition.is_pushed")
    assert follow(hours.plane)["push"]["url"] == URL, "what is left out stays as it was"

    assert follow(hours.plane, push=None)["push"] is None
    assert hours.pusher.step() is not None
    assert len(told(hours.plane)) == 3
    assert hours.plane.http.post("/api/v1/partitions/hours/ack", json={"up_to": 1}).is_success


@pytest.mark.parametrize(
    ("changed", "status", "code"),
    [
        ({"password": "plain"}, 400, "partition.push_login"),
        ({"password": "x{{ secret:A }}"}, 400, "partition.push_login"),
        ({"password": "{{ ARROYO_VAR_A }}"}, 400, "partition.push_login"),
        ({"password": "{{ secret:A-B }}"}, 400, "partition.push_login"),
        ({"password": None}, 400, "partition.push_login"),
        ({"token": "{{ secret:T }}"}, 400, "partition.push_login"),
        ({"url": f"{URL}?a=b"}, 400, "partition.push_login"),
        ({"url": "http://me:pw@203.0.113.9"}, 422, "request.invalid"),
        ({"url": "file:///etc/passwd"}, 422, "request.invalid"),
        ({"url": "http://127.0.0.1:5432"}, 400, "run.address_refused"),
        ({"url": "http://169.254.169.254"}, 400, "run.address_refused"),
    ],
    ids=str,
)
def test_a_push_that_cannot_be_or_may_not_be_is_refused(
    hours: Pushing, changed: dict[str, str | None], status: int, code: str
) -> None:
    body = {"pipeline": "orders", "every": "1 hour", "start": "2026-01-01", "push": {**PUSH, **changed}}

    refused = hours.plane.http.put("/api/v1/partitions/more", json=body)

    assert (refused.status_code, refused.json()["code"]) == (status, code), refused.text
    assert hours.plane.http.get("/api/v1/partitions/more").status_code == 404


def test_an_address_that_is_not_public_any_more_gets_no_request(
    hours: Pushing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ALLOWED)

    hours.push_all()

    assert (hours.state["error_code"], hours.airflow.requests) == ("run.address_refused", [])


def test_the_watch_pushes_what_is_due_and_rests_until_the_pipeline_comes_on(hours: Pushing) -> None:
    steps: list[str] = []
    watch = PushWatch(hours.plane.context, lambda push, environ: steps.append("open") or hours.open(push, environ))

    def look() -> int:
        watch.look()
        while any(followed.is_busy for followed in watch._followed.values()):
            pass
        return len(hours.airflow.requests)

    first = look()
    assert (len(hours.airflow.told), steps) == (3, ["open"])
    reach(hours.plane, 8, 190)
    assert look() == first == look()
    reach(hours.plane, 9, 245)
    look()
    assert len(hours.airflow.told) == 4
    hours.plane.http.delete("/api/v1/partitions/hours")
    look()
    assert watch._followed == {}
    watch.close()


@pytest.mark.parametrize("seed", range(3))
def test_over_any_faults_and_kills_each_hour_is_one_event_in_order(hours: Pushing, seed: int) -> None:
    chance = random.Random(seed)
    for epoch in range(8, 40):
        reach(hours.plane, epoch, 125 + epoch * 14)
        hours.airflow.faults = type(hours.airflow.faults)(chance.choice(["", *FAULTS]) for _ in range(3))
        hours.airflow.cannot_list = chance.random() < 0.2
        if chance.random() < 0.3:
            hours.start()
        hours.wait_and_push()
    hours.airflow.faults.clear()
    hours.airflow.cannot_list = False
    for _ in range(3):
        hours.wait_and_push()

    keys = [event["extra"]["key"][11:13] for event in hours.airflow.events]
    assert keys == [f"{hour:02}" for hour in range(len(keys))]
    assert len(keys) > 9


def test_the_verb_says_where_to_push_and_shows_how_it_goes(
    server: StandInServer, capsys: pytest.CaptureFixture[str]
) -> None:
    push = {
        "url": URL,
        "asset": "hours",
        "waiting": 3,
        "pushed_at": None,
        "failures": 2,
        "due": 0,
        "error": "it is away",
    }
    server.answer = json.dumps({"name": "hours", "data": [], "push": push}).encode()
    there = ["--url", server.url, "--token", "t"]
    create = ["partitions", "create", "hours", "--pipeline", "orders", "--every", "1 hour"]
    login = ["--push-asset", "hours", "--push-user", "me", "--push-password", "{{ secret:AIRFLOW }}"]

    assert main([*create, "--push", URL, *login, *there]) == 0
    assert main([*create, "--pull", *there]) == 0
    assert main([*create, *there]) == 0
    assert main(["partitions", "deliveries", "hours", *there]) == 0
    said = capsys.readouterr().out
    assert main([*create, *login, *there]) == main([*create, "--push", URL, *there]) == 2

    bodies = [json.loads(request[3]) for request in server.requests if request[0] == "PUT"]
    follows = {"pipeline": "orders", "every": "1 hour"}
    assert bodies == [{**follows, "push": {**PUSH, "with_keys": True}}, {**follows, "push": None}, follows]
    for words in ("hours at http://203.0.113.9", "waiting", "it is away"):
        assert said.count(words) == 4
