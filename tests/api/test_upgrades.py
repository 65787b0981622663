"""Another query takes over the state of the one before it: what is shown, what is refused, what its driver is told."""

from __future__ import annotations

from dataclasses import replace
from threading import Barrier
from typing import cast

import pytest

from engine.cli.base import Client, Json
from engine.cli.main import main
from engine.control.savepoints.take_savepoints import take_due
from engine.control.upgrades import auto_rollback
from engine.errors import SavepointError
from engine.jobs.decisions.spec import ShownUpgrade
from engine.jobs.decisions.states import State
from tests.api.conftest import Plane, report

KEPT = ShownUpgrade("3f0c", "SELECT 1", False, True, "tumble-77 STATE_KEPT\n", "**plan**", '{"verdicts": []}')
LOSES = ShownUpgrade("88aa", "SELECT 1", False, False, "tumble-77 STATE_DROPPED\n", "**plan**", '{"verdicts": []}')
REFUSED = ShownUpgrade("99bb", "SELECT 1", True, False, "tumble-77 REFUSED\n", "**plan**", '{"verdicts": []}')


@pytest.fixture
def running(plane: Plane) -> Plane:
    """A pipeline with state."""
    plane.run(query="SELECT 1")
    plane.call("heartbeat", {"state": "running", "reports": [report(1, 5)]})
    return plane


def redeploy(plane: Plane, **body: object) -> tuple[int, str]:
    answer = plane.http.put("/api/v1/pipelines/by-name/orders", json={"query": "SELECT 2", **body})
    return answer.status_code, answer.text


def let_savepoints_settle(plane: Plane) -> None:
    """Wait until both workers have ended what they had in hand."""
    barrier = Barrier(2)
    for free in [plane.context.workers.submit(barrier.wait) for _ in range(2)]:
        free.result()
    plane.settle()


def test_a_query_that_keeps_the_state_is_deployed_without_a_word(running: Plane) -> None:
    running.upgrade = KEPT

    assert redeploy(running)[0] == 200
    running.settle()
    running.end()

    upgrade = running.runner.launched[-1].upgrade
    assert upgrade is not None
    assert (upgrade.from_version, upgrade.accept_loss) == (1, "3f0c")
    assert not running.runner.launched[-1].force


def test_upgrade_that_cannot_take_over_the_state_is_refused_with_its_plan(running: Plane) -> None:
    running.upgrade = REFUSED

    status, text = redeploy(running)

    assert status == 409
    assert "tumble-77 REFUSED" in text
    assert running.get("/pipelines/orders")["version"] == 1
    assert running.get("/pipelines/orders/savepoints")["data"] == []


def test_an_equal_query_is_refused_where_the_state_has_objects_of_other_packages(running: Plane) -> None:
    def redeploy_with(udfs: list[str], **body: object) -> int:
        wish = {"query": "SELECT 1", "udfs": udfs, **body}
        return running.http.put("/api/v1/pipelines/by-name/orders", json=wish).status_code

    running.upgrade = REFUSED
    assert redeploy_with(["# a comment"]) == 200
    running.upgrade = replace(REFUSED, keeps_other_objects=True)
    assert redeploy_with(["# numpy>=2"]) == 409

    running.upgrade = replace(LOSES, keeps_other_objects=True)
    assert redeploy_with(["# numpy>=2"]) == 409
    assert redeploy_with(["# numpy>=2"], accept_loss=LOSES.id) == 200
    running.settle()
    running.end()
    upgrade = running.runner.launched[-1].upgrade
    assert upgrade is not None
    assert upgrade.accept_loss == LOSES.id


def test_an_equal_query_with_objects_of_other_packages_is_another_one_for_who_wants_no_upgrade(running: Plane) -> None:
    assert redeploy(running, query="SELECT 1", udfs=["# objects 1"], force=True)[0] == 200

    status, text = redeploy(running, query="SELECT 1", udfs=["# objects 2"], upgrade="never")

    assert (status, "pipeline.incompatible" in text) == (409, True)
    settings = {"memory": "4g"}
    assert redeploy(running, query="SELECT 1", udfs=["# objects 1"], settings=settings, upgrade="never")[0] == 200


@pytest.mark.parametrize("shown", [LOSES, REFUSED])
def test_a_refusal_carries_the_plan_for_programs_also_when_it_was_only_asked_about(
    running: Plane, shown: ShownUpgrade
) -> None:
    running.upgrade = shown

    for dry_run in ("true", "false"):
        body = {"query": "SELECT 2"}
        answer = running.http.put(f"/api/v1/pipelines/by-name/orders?dry_run={dry_run}", json=body)
        plan = answer.json()["plan"]
        assert (answer.status_code, plan["id"], plan["is_refused"]) == (409, shown.id, shown.is_refused)
        assert plan["plan"]["verdicts"] == []


def test_a_loss_must_be_accepted_by_the_id_of_the_very_plan(running: Plane) -> None:
    running.upgrade = LOSES

    assert redeploy(running)[0] == 409
    assert redeploy(running, accept_loss="3f0c")[0] == 409
    assert redeploy(running, accept_loss="88aa", reset=["tumble-77"], hold_back=["hop-5"])[0] == 200
    running.settle()
    running.end()

    upgrade = running.runner.launched[-1].upgrade
    assert upgrade is not None
    assert (upgrade.accept_loss, upgrade.reset, upgrade.hold_back) == ("88aa", ("tumble-77",), ("hop-5",))


def test_an_event_says_which_plan_was_accepted_that_loses_something(running: Plane) -> None:
    running.upgrade = KEPT
    redeploy(running)
    running.upgrade = LOSES
    redeploy(running, query="SELECT 3", accept_loss="88aa")

    [event] = running.get("/pipelines/orders/events?severity=warn")["data"]

    assert (event["code"], event["who"]) == ("state.loss_accepted", "admin")
    assert event["message"] == "version 3 loses something of the state, as plan 88aa says"
    assert event["details"].startswith(LOSES.text)


def test_deployment_with_upgrade_never_is_refused_for_a_changed_plan(running: Plane) -> None:
    running.upgrade = KEPT

    assert redeploy(running, upgrade="never")[0] == 409


def test_force_asks_for_no_plan_and_gives_the_state_up(running: Plane) -> None:
    running.upgrade = REFUSED

    assert redeploy(running, force=True)[0] == 200
    running.settle()
    running.end()

    assert running.runner.launched[-1].upgrade is None
    assert running.runner.launched[-1].force


def test_the_savepoint_before_an_upgrade_is_completed_once_its_run_is_up(running: Plane) -> None:
    running.upgrade = KEPT
    redeploy(running)
    running.settle()
    savepoint = running.get("/pipelines/orders/savepoints")["data"][0]
    assert (savepoint["state"], savepoint["label"]) == ("pending", "before version 2")

    running.end()
    assert running.state() == State.SCHEDULING.value
    assert running.get("/pipelines/orders/savepoints")["data"][0]["state"] == "pending"

    running.come_up()
    let_savepoints_settle(running)

    upgrade = running.runner.launched[-1].upgrade
    assert upgrade is not None
    assert upgrade.savepoint_id == savepoint["id"]
    assert running.get(f"/pipelines/orders/savepoints/{savepoint['id']}")["state"] == "completed"


def test_a_run_after_the_first_one_that_was_up_takes_over_nothing_any_more(running: Plane) -> None:
    running.upgrade = KEPT
    redeploy(running)
    running.settle()
    running.end()
    running.come_up()

    running.end("failed", {"code": "x.y", "message": "oh", "hint": "", "cause": "unknown"})
    running.let_pass(5)

    assert running.runner.launched[-1].generation == 3
    assert running.runner.launched[-1].upgrade is None


def test_the_plan_can_be_seen_before_and_touches_nothing(running: Plane) -> None:
    running.upgrade = LOSES

    answer = running.http.post("/api/v1/pipelines/orders/plan", json={"query": "SELECT 2"})

    shown = answer.json()
    assert shown["text"].startswith("tumble-77 STATE_DROPPED\nexpected pause: unknown, ")
    assert shown["markdown"].startswith("**plan**")
    assert {name: shown[name] for name in ("id", "is_refused", "loses_nothing")} == {
        "id": "88aa",
        "is_refused": False,
        "loses_nothing": False,
    }
    assert shown["plan"]["verdicts"] == []
    assert running.get("/pipelines/orders")["version"] == 1


def test_without_state_there_is_nothing_to_lose(running: Plane) -> None:
    answer = running.http.post("/api/v1/pipelines/orders/plan", json={"query": "SELECT 2"})

    assert answer.json()["id"] is None
    assert answer.json()["loses_nothing"]


def test_the_plan_of_a_query_that_cannot_be_run_is_refused_with_every_complaint(running: Plane) -> None:
    answer = running.http.post("/api/v1/pipelines/orders/plan", json={"query": "bad"})

    assert answer.status_code == 400
    assert len(answer.json()["errors"]) == 2


def test_a_rehearsed_upgrade_loses_nothing_and_takes_no_savepoint(running: Plane) -> None:
    running.upgrade = KEPT

    answer = running.http.put("/api/v1/pipelines/by-name/orders?dry_run=true", json={"query": "SELECT 2"})

    assert (answer.json()["stops"], answer.json()["lost"]) == (True, [])
    assert answer.json()["upgrade"]["id"] == "3f0c"
    assert running.get("/pipelines/orders/savepoints")["data"] == []


def fail_until_given_up(plane: Plane) -> None:
    """The newest run fails, and so do those after it, until no other follows."""
    for _ in range(3):
        plane.call("hello", {"nonce": plane.runner.launched[-1].key, "pid": 1})
        plane.end("failed", {"code": "x.y", "message": "oh", "hint": "", "cause": "unknown"})
        plane.let_pass(5)
    let_savepoints_settle(plane)


def fail_for_good(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    """An upgrade fails, and cannot go back."""
    plane.call("heartbeat", {"state": "running", "reports": [report(7, 6)]})
    plane.upgrade = KEPT
    redeploy(plane)
    plane.settle()
    plane.end()

    def plan_restore(*_: object, **__: object) -> None:
        raise SavepointError("files of it are gone")

    monkeypatch.setattr(auto_rollback, "plan_restore", plan_restore)
    fail_until_given_up(plane)


def test_an_upgrade_that_fails_before_its_first_epoch_goes_back_by_itself(running: Plane) -> None:
    running.call("heartbeat", {"state": "running", "reports": [report(7, 6)]})
    running.upgrade = KEPT
    redeploy(running)
    running.settle()
    running.end()

    fail_until_given_up(running)

    pipeline = running.get("/pipelines/orders")
    assert (pipeline["version"], pipeline["query"]) == (3, "SELECT 1")
    assert running.runner.launched[-1].query == "SELECT 1"
    assert any(event["code"] == "upgrade.undone" for event in running.get("/pipelines/orders/events")["data"])


def test_an_upgrade_goes_back_to_the_version_whose_objects_the_state_has_and_not_to_a_newer_one_of_its_plan(
    plane: Plane,
) -> None:
    plane.run(query="SELECT 1", udfs=["# objects 1"])
    plane.call("heartbeat", {"state": "running", "reports": [report(7, 6)]})
    state = replace(KEPT, objects="# objects 1")
    plane.upgrade = replace(state, keeps_other_objects=True)
    assert redeploy(plane, query="SELECT 1", udfs=["# objects 2"])[0] == 200
    plane.upgrade = state
    assert redeploy(plane, query="SELECT 3", udfs=[])[0] == 200
    plane.settle()
    plane.end()
    upgrade = plane.runner.launched[-1].upgrade
    assert upgrade is not None
    assert (upgrade.from_version, upgrade.from_plan) == (1, "SELECT 1")
    plane.save_before(plane.runner.launched[-1])

    fail_until_given_up(plane)

    run = plane.runner.launched[-1]
    assert (plane.get("/pipelines/orders")["version"], run.query, run.udfs) == (4, "SELECT 1", ("# objects 1",))


def test_a_state_that_is_saved_at_rest_is_of_the_version_whose_objects_it_has(plane: Plane) -> None:
    plane.run(query="SELECT 1", udfs=["# objects 1"])
    plane.call("heartbeat", {"state": "running", "reports": [report(7, 6)]})
    plane.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})
    plane.settle()
    plane.end()
    state = replace(KEPT, objects="# objects 1")
    plane.upgrade = replace(state, keeps_other_objects=True)
    assert redeploy(plane, query="SELECT 1", udfs=["# objects 2"], stop="checkpoint")[0] == 200
    plane.upgrade = state
    assert redeploy(plane, query="SELECT 3", udfs=[], stop="checkpoint")[0] == 200

    take_due(plane.context, plane.get("/pipelines/orders")["id"])
    let_savepoints_settle(plane)

    saved = savepoints_of(plane)["before version 3"]
    assert (saved["state"], saved["version"]) == ("completed", 1)


def test_impossible_auto_rollback_is_explained_in_one_event(running: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    fail_for_good(running, monkeypatch)
    auto_rollback.resume(running.context)

    assert running.state() == State.FAILED.value
    assert running.get("/pipelines/orders")["version"] == 2
    told = [event for event in running.get("/pipelines/orders/events")["data"] if event["code"] == "upgrade.not_undone"]
    assert [event["level"] for event in told] == ["error"]
    assert "files of it are gone" in told[0]["message"]


def test_impossible_auto_rollback_is_explained_wherever_the_pipeline_is_shown(
    running: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_for_good(running, monkeypatch)

    for shown in (running.get("/pipelines/orders"), running.get("/pipelines")["data"][0]):
        assert "version 2 cannot be rolled back" in shown["not_undone"]
        assert "files of it are gone" in shown["not_undone"]


def test_the_command_line_says_why_a_version_could_not_go_back(
    running: Plane, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def send(_: Client, method: str, path: str, *__: object, **___: object) -> Json:
        return cast("Json", running.http.request(method, f"/api/v1{path}").json())

    fail_for_good(running, monkeypatch)
    monkeypatch.setattr(Client, "_send", send)
    connection = ["--url", "http://x", "--token", "t"]

    assert main(["show", "orders", *connection]) == 0
    assert "files of it are gone" in capsys.readouterr().out
    assert main(["list", *connection]) == 0
    assert "orders: version 2 cannot be rolled back" in capsys.readouterr().err


def test_why_a_version_could_not_go_back_is_over_once_another_one_runs(
    running: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_for_good(running, monkeypatch)
    redeploy(running, query="SELECT 3", force=True)
    running.settle()
    running.come_up()

    for shown in (running.get("/pipelines/orders"), running.get("/pipelines")["data"][0]):
        assert shown["not_undone"] is None


def test_upgrade_that_failed_after_an_epoch_is_not_rolled_back(running: Plane) -> None:
    running.call("heartbeat", {"state": "running", "reports": [report(7, 6)]})
    running.upgrade = KEPT
    redeploy(running)
    running.settle()
    running.end()
    running.come_up()
    running.call("heartbeat", {"state": "running", "reports": [report(8, 7)]})

    fail_until_given_up(running)

    assert running.state() == State.FAILED.value
    assert running.get("/pipelines/orders")["version"] == 2


def savepoints_of(plane: Plane) -> dict[str, dict[str, object]]:
    """The savepoints by their labels."""
    return {savepoint["label"]: savepoint for savepoint in plane.get("/pipelines/orders/savepoints")["data"]}


def test_a_savepoint_before_a_version_that_is_replaced_before_it_runs_is_called_off(running: Plane) -> None:
    running.upgrade = KEPT
    redeploy(running)
    redeploy(running, query="SELECT 3")
    running.settle()
    running.end()
    running.come_up()

    let_savepoints_settle(running)

    stored = savepoints_of(running)
    assert stored["before version 3"]["state"] == "completed"
    assert stored["before version 3"]["version"] == 1
    assert stored["before version 2"]["state"] == "failed"
    assert "version 2 was replaced before it ran" in str(stored["before version 2"]["failure_message"])


def test_upgrade_that_the_driver_has_confirmed_is_final(running: Plane) -> None:
    running.upgrade = KEPT
    redeploy(running)
    running.settle()
    running.end()
    running.save_before(running.runner.launched[-1])
    redeploy(running, query="SELECT 3")
    running.settle()
    running.end()
    running.come_up()

    let_savepoints_settle(running)

    assert {stored["state"] for stored in savepoints_of(running).values()} == {"completed"}


def test_the_state_of_a_job_at_rest_is_saved_before_another_query_starts_on_it(running: Plane) -> None:
    running.http.patch("/api/v1/pipelines/orders", json={"stop": "checkpoint"})
    running.settle()
    running.end()
    running.upgrade = KEPT
    in_hand = Barrier(3)
    for _ in range(2):
        running.context.workers.submit(in_hand.wait)

    redeploy(running)
    running.settle()
    assert len(running.runner.launched) == 1
    in_hand.wait()
    let_savepoints_settle(running)

    assert savepoints_of(running)["before version 2"]["state"] == "completed"
    assert len(running.runner.launched) == 2


@pytest.mark.parametrize("dry_run", ["true", "false"])
@pytest.mark.parametrize("query", ["SELECT 1", "SELECT 2"])
def test_malformed_plan_id_is_not_accepted(running: Plane, query: str, dry_run: str) -> None:
    running.upgrade = KEPT
    path = f"/api/v1/pipelines/by-name/orders?dry_run={dry_run}"

    refused = running.http.put(path, json={"query": query, "accept_loss": "foo"})

    assert refused.status_code == 422
    assert refused.json()["detail"] == "accept_loss must be the id of a plan, as `arroyo plan` shows it, and is 'foo'"


def test_the_id_of_another_plan_is_no_acceptance_of_one_that_loses_nothing(running: Plane) -> None:
    running.upgrade = KEPT

    assert redeploy(running, accept_loss="88aa")[0] == 409
    assert running.get("/pipelines/orders")["version"] == 1
    assert redeploy(running, accept_loss="3f0c")[0] == 200
    assert redeploy(running, accept_loss="3f0c")[0] == 200, "the same request again"
