"""The judge of `play.py` finds what it is there for."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from engine.checkpoints.lineage import Lineage
from tests.kills.driver import EPOCH_ROWS
from tests.partition_kills.driver import LAST_EPOCH, MINUTES
from tests.partition_kills.judge import Outcome, is_late_for, judge

FORKED_AT, LOST = 80, 90
OUTCOME = Outcome(Lineage("b", (("a", FORKED_AT),)), LAST_EPOCH)
LOST_MINUTE = (FORKED_AT + 4) * EPOCH_ROWS // 60
"""It was closed in what was lost, and read."""
Told = list[dict[str, Any]]


def delivery(sequence: int, kind: str, minute: int, lineage: str, epoch: int, voided_at: int | None) -> dict[str, Any]:
    certificate = {"lineage": lineage, "epoch": epoch, "voided_at": voided_at}
    return {"sequence": sequence, "kind": kind, "start": minute * 60_000_000, "certificate": certificate}


def right() -> tuple[Told, Told]:
    """Each minute is closed as soon as it can be, and reopened by what comes late; one was lost by a restore."""
    given: Told = []

    def tell(kind: str, minute: int, lineage: str, epoch: int, voided_at: int | None = None) -> None:
        given.append(delivery(len(given) + 1, kind, minute, lineage, epoch, voided_at))

    closed = 0
    for epoch in range(LAST_EPOCH + 1):
        lineage = OUTCOME.history_of(epoch)
        for minute in range(closed):
            if is_late_for(minute, epoch):
                tell("reopened", minute, lineage, epoch)
        while closed < MINUTES and (closed + 1) * 60 <= (epoch + 1) * EPOCH_ROWS:
            if closed == LOST_MINUTE:
                tell("closed", closed, "a", LOST, voided_at=1)
                tell("voided", closed, "a", LOST, voided_at=1)
            tell("closed", closed, lineage, epoch)
            closed += 1
    read = [
        {**each, "read": OUTCOME.batch(each["start"] // 60_000_000, each["certificate"]["epoch"])} for each in given
    ]
    return given, read


def test_correct_deliveries_are_counted() -> None:
    given, read = right()

    counts = judge(given, read, OUTCOME)

    assert (counts["closed"], counts["voided"], counts["read"]) == (MINUTES + 1, 1, len(given))
    assert counts["reopened"] > 15


def last(given: Told, kind: str) -> dict[str, Any]:
    return next(each for each in reversed(given) if each["kind"] == kind)


def without(given: Told, read: Told, kind: str) -> None:
    gone = last(given, kind)["sequence"]
    given[:] = [each for each in given if each["sequence"] != gone]
    for number, each in enumerate(given, 1):
        each["sequence"] = number


def told_twice(given: Told, read: Told) -> None:
    given.append({**deepcopy(last(given, "closed")), "sequence": len(given) + 1})


def reopened_twice(given: Told, read: Told) -> None:
    given.append({**deepcopy(last(given, "reopened")), "sequence": len(given) + 1})


def told_too_late(given: Told, read: Told) -> None:
    first, second = given[0], given[1]
    first["start"], second["start"] = second["start"], first["start"]


def counts_still(given: Told, read: Told) -> None:
    for each in given:
        each["certificate"]["voided_at"] = None


def void_without_a_reason(given: Told, read: Told) -> None:
    last(given, "reopened")["certificate"]["voided_at"] = 1


def read_by_nobody(given: Told, read: Told) -> None:
    read.pop()


def read_too_early(given: Told, read: Told) -> None:
    read[-1]["read"]["rows"].pop()


def read_from_what_was_lost(given: Told, read: Told) -> None:
    last(read, "closed")["read"]["rows"][0][1] = "a"


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        (told_twice, "closed twice"),
        (reopened_twice, "reopened without a reason"),
        (told_too_late, "out of order"),
        (counts_still, "voided without a reason"),
        (void_without_a_reason, "void"),
        (read_by_nobody, "told to nobody"),
        (read_too_early, "delivery"),
        (read_from_what_was_lost, "delivery"),
        (lambda given, read: without(given, read, "closed"), "none is missing|told"),
        (lambda given, read: without(given, read, "reopened"), "not reopened"),
        (lambda given, read: without(given, read, "voided"), "closed twice"),
    ],
)
def test_wrong_deliveries_are_found(fault: Callable[[Told, Told], None], word: str) -> None:
    given, read = deepcopy(right())

    fault(given, read)

    with pytest.raises(AssertionError, match=word):
        judge(given, read, OUTCOME)
