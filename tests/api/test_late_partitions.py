"""Buckets that rows come late for are told once more, once for each batch of them, to those who want to hear of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from engine.cli.main import main
from engine.jobs.decisions.partitions import LateBatch
from engine.store.partitions import late_batches
from tests.api.conftest import T0, Plane, report
from tests.api.stand_in_server import StandInServer
from tests.api.test_partitions import BODY, ack, follow, reach, told

MINUTES = [(5, 5), (9, 65), (10, 65), *((epoch, 150) for epoch in range(11, 17))]
FIRST_MINUTE = int(T0.timestamp()) // 60


@pytest.fixture
def late(plane: Plane) -> Plane:
    """The clock shows noon, orders runs, its late rows have a table, and three hours were told and acknowledged."""
    plane.run(query="SELECT 1 INTO LATE")
    plane.now = T0 + timedelta(hours=12)
    follow(plane, late="reopen")
    reach(plane, 7, 185)
    assert len(told(plane)) == 3
    ack(plane, 3)
    return plane


def batch(epoch: int, minutes: Sequence[int], sinks: Sequence[str] = ("counts",), lineage: str = "a") -> dict[str, Any]:
    stretches = [[FIRST_MINUTE + minute, FIRST_MINUTE + minute + 1] for minute in minutes]
    return {"lineage": lineage, "epoch": epoch, "sinks": dict.fromkeys(sinks, stretches)}


def come(plane: Plane, epoch: int, until: int, *batches: dict[str, Any], lineage: str = "a") -> None:
    news = {"reports": [{**report(epoch, until), "lineage": lineage}], "late": list(batches)}
    plane.call("heartbeat", {"state": "running", **news})


def test_a_bucket_is_told_once_more_for_each_batch_of_late_rows(late: Plane) -> None:
    come(late, 8, 190, batch(8, [65, 70, 20]))

    assert told(late) == [(4, "reopened", "00"), (5, "reopened", "01")]
    assert told(late) == [(4, "reopened", "00"), (5, "reopened", "01")]
    [first, _] = late.get("/partitions/hours/next")["data"]
    assert (first["certificate"]["epoch"], first["certificate"]["run_id"]) == (8, "hours/2026-01-01T00:00:00")
    come(late, 9, 190, batch(9, [70]))
    assert told(late)[2:] == [(6, "reopened", "01")]
    ack(late, 6)
    come(late, 10, 250, batch(10, [20]))
    assert told(late) == [(7, "reopened", "00"), (8, "closed", "03")]


def test_late_rows_of_an_undelivered_bucket_are_part_of_its_delivery(late: Plane) -> None:
    come(late, 8, 245, batch(8, [200]))

    assert told(late) == [(4, "closed", "03")]


def test_batches_that_are_reported_twice_are_told_once(late: Plane) -> None:
    for _ in range(2):
        come(late, 8, 190, batch(8, [65]))
    assert told(late) == [(4, "reopened", "01")]
    come(late, 8, 190, batch(8, [65]))
    ack(late, 4)
    come(late, 9, 190, batch(8, [65]))

    assert told(late) == []


@pytest.mark.parametrize("epochs", [(8,), (8, 9)])
@pytest.mark.parametrize("is_told", [True, False])
def test_a_batch_whose_answer_was_lost_is_told_once_though_another_history_tells_of_it_again(
    late: Plane, epochs: tuple[int, ...], is_told: bool
) -> None:
    """The run that has told of it dies before it hears so; the state goes on from there in a history of its own."""
    for epoch in epochs:
        come(late, epoch, 190, batch(8, [65]))
    if is_told:
        assert told(late) == [(4, "reopened", "01")]
        ack(late, 4)

    come(late, epochs[-1] + 1, 190, batch(8, [65], lineage="b"), lineage="b")

    assert told(late) == ([] if is_told else [(4, "reopened", "01")])


def test_a_batch_of_a_run_that_was_killed_is_told_once_its_epoch_is_reached(late: Plane) -> None:
    """The report of epoch 8 was lost with the run; the next run finds what came late in it and tells of that first."""
    late.call("heartbeat", {"state": "starting", "late": [batch(8, [65])]})
    assert told(late) == []

    come(late, 9, 190)

    assert told(late) == [(4, "reopened", "01")]
    assert late.get("/partitions/hours/next")["data"][0]["certificate"]["epoch"] == 9


def test_the_last_word_tells_of_late_rows_too(late: Plane) -> None:
    news = {"reports": [{**report(8, 190), "lineage": "a"}], "late": [batch(8, [65])]}
    late.call("goodbye", {"outcome": "stopped", "error": None, **news})

    assert told(late) == [(4, "reopened", "01")]


@pytest.mark.parametrize("is_told", [True, False])
def test_a_restore_takes_back_what_came_late_after_it(late: Plane, is_told: bool) -> None:
    savepoint = late.http.post("/api/v1/pipelines/orders/savepoints").json()  # of epoch 7
    come(late, 8, 190, batch(8, [65]))
    if is_told:
        assert told(late) == [(4, "reopened", "01")]
    body = {"savepoint_id": savepoint["id"], "allow_replay": True}
    assert late.http.post("/api/v1/pipelines/orders/restore", json=body).is_success
    late.settle()
    late.end()
    late.come_up()
    come(late, 8, 190, lineage="b")

    assert told(late) == ([(5, "voided", "01"), (6, "closed", "01")] if is_told else [])


def test_voided_bucket_hides_its_unacknowledged_deliveries(late: Plane) -> None:
    savepoint = late.http.post("/api/v1/pipelines/orders/savepoints").json()  # of epoch 7
    come(late, 8, 245)
    come(late, 9, 245, batch(9, [200]))
    assert told(late) == [(4, "closed", "03")], "the batch was there before it was told"
    come(late, 10, 245, batch(10, [200]))
    assert told(late) == [(4, "closed", "03"), (5, "reopened", "03")]
    body = {"savepoint_id": savepoint["id"], "allow_replay": True}
    assert late.http.post("/api/v1/pipelines/orders/restore", json=body).is_success
    late.settle()
    late.end()
    late.come_up()

    assert told(late) == [(6, "voided", "03")]


def test_consumers_hear_of_the_sinks_that_they_follow_and_only_if_they_want_to(late: Plane) -> None:
    follow(late, "quiet")
    follow(late, "counts", late="reopen", table="counts")
    for name in ("quiet", "counts"):
        ack(late, len(told(late, name)), name)
    come(late, 8, 190, batch(8, [65], ["others"]))

    assert [told(late, name) for name in ("hours", "quiet", "counts")] == [[(4, "reopened", "01")], [], []]
    assert follow(late, "quiet", late="reopen")["late"] == "reopen"
    come(late, 9, 190, batch(9, [5]))
    assert [told(late, name) for name in ("quiet", "counts")] == [[(4, "reopened", "00")]] * 2
    assert follow(late)["late"] == "reopen", "what is left out stays as it was"
    follow(late, late="ignore")
    come(late, 10, 190, batch(10, [70]))
    assert told(late) == [(4, "reopened", "01")]


def test_batches_are_kept_no_longer_than_somebody_wants_to_hear_of_them(late: Plane) -> None:
    def kept() -> int:
        with late.context.database.reading() as connection:
            return connection.exec_driver_sql("SELECT count(*) FROM late_batches").scalar_one()

    follow(late, "other", late="reopen")
    come(late, 8, 190, batch(8, [65]))
    told(late)
    assert kept() == 1
    told(late, "other")
    assert kept() == 0
    come(late, 9, 190, batch(9, [65]))
    told(late)
    assert kept() == 1
    late.http.delete("/api/v1/partitions/other")
    assert kept() == 0
    late.http.delete("/api/v1/partitions/hours")
    come(late, 10, 190, batch(10, [65]))
    assert kept() == 0


def test_old_late_batches_are_merged_without_losing_a_bucket(late: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late_batches, "MOST", 20)

    def kept() -> int:
        with late.context.database.reading() as connection:
            return connection.exec_driver_sql("SELECT count(*) FROM late_batches").scalar_one()

    follow(late, "other", late="reopen")
    ack(late, len(told(late, "other")), "other")
    for epoch in range(8, 90):
        come(late, epoch, 190, batch(epoch, [65 if epoch == 8 else 5 if epoch == 50 else 150]))
        if epoch == 30:
            assert told(late, "other") == [(4, "reopened", "01"), (5, "reopened", "02")]
            ack(late, 5, "other")

    assert kept() <= 20
    assert told(late) == [(4, "reopened", "00"), (5, "reopened", "01"), (6, "reopened", "02")]
    assert told(late, "other") == [(6, "reopened", "00"), (7, "reopened", "02")], "what it heard is not told again"
    assert kept() == 0


def test_merged_late_batches_survive_a_restore_to_an_epoch_between_them(
    late: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which of it came later is not known: the hour of epoch 5 is told, and with it that of epoch 9."""
    monkeypatch.setattr(late_batches, "MOST", 6)
    ack(late, 3)
    with late.context.database.writing() as connection:
        pipeline_id = late.get("/pipelines/orders")["id"]
        batches = [LateBatch("a", epoch, {"counts": [(minute, minute + 1)]}) for epoch, minute in MINUTES]
        late_batches.add(connection, pipeline_id, batches)
        late_batches.forget(connection, pipeline_id, 7)
        [left] = late_batches.after(connection, pipeline_id, 0, 7)

    assert (left.epoch, [tuple(each) for each in left.sinks["counts"]]) == (7, [(5, 6), (65, 66)])


def test_repeated_request_for_a_consumer_is_accepted_after_its_table_of_late_rows_is_gone(
    late: Plane,
) -> None:
    assert late.get("/partitions/hours")["late_known"] is True
    late.deploy("orders", query="SELECT 2", force=True)

    assert (follow(late)["late"], late.get("/partitions/hours")["late_known"]) == ("reopen", False)
    again = late.http.put("/api/v1/partitions/hours", json={**BODY, "late": "reopen"})
    assert (again.status_code, again.json()["code"]) == (409, "partition.late_unknown")
    ignoring = follow(late, late="ignore")
    assert (ignoring["late"], ignoring["late_known"]) == ("ignore", None)


def test_the_verb_says_that_no_table_takes_late_rows(server: StandInServer, capsys: pytest.CaptureFixture[str]) -> None:
    server.answer = json.dumps({"name": "hours", "late": "reopen", "late_known": False}).encode()

    assert main(["partitions", "show", "hours", "--url", server.url, "--token", "t"]) == 0

    assert "reopen, but no table takes late rows now" in capsys.readouterr().out


@pytest.mark.parametrize(
    "body",
    [{"table": "copy"}, {"by": "output"}, {"every": "90 seconds"}, {"offset": "30 seconds"}, {"pipeline": "plain"}],
    ids=str,
)
def test_late_rows_of_which_nothing_is_known_are_refused(late: Plane, body: dict[str, str]) -> None:
    late.deploy("plain", query="SELECT 2")
    sinks = {"copy": {"complete_until": None, "output_until": None}, **report(8, 190)["sinks"]}
    late.call(
        "heartbeat",
        {"state": "running", "reports": [{**report(8, 190), "sinks": sinks, "lineage": "a"}]},
        late.runner.launched[0],
    )
    wanted = {"pipeline": "orders", "every": "1 hour", "start": "2026-01-01", "late": "reopen", **body}

    refused = late.http.put("/api/v1/partitions/more", json=wanted)

    assert (refused.status_code, refused.json()["code"]) == (409, "partition.late_unknown"), refused.text
