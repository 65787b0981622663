"""What must hold of all that a consumer of partitions was told, and of what the batches have read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.checkpoints.lineage import Lineage
from tests.kills.driver import EPOCH_ROWS
from tests.partition_kills.driver import MINUTES, late_second
from tests.partition_kills.readers import MINUTE, instant


@dataclass(frozen=True)
class Outcome:
    """The history that is left in the end, up to its newest epoch."""

    lineage: Lineage
    committed: int

    def history_of(self, epoch: int) -> str:
        """The one in which an epoch was committed that counts."""
        history = self.lineage.id
        for parent, last in self.lineage.parents:
            if epoch > last:
                break
            history = parent
        return history

    def has(self, certificate: Mapping[str, Any]) -> bool:
        """Whether what a certificate stands on still counts."""
        last = {**dict(self.lineage.parents), self.lineage.id: self.committed}
        return bool(certificate["epoch"] <= last.get(certificate["lineage"], -1))

    def batch(self, minute: int, until: int) -> dict[str, Any]:
        """The rows of a minute, and what has come late for it up to an epoch."""
        seconds = range(minute * MINUTE, (minute + 1) * MINUTE)
        late = [
            [second, self.history_of(epoch)]
            for epoch in range(until + 1)
            if (second := late_second(epoch)) is not None and second in seconds
        ]
        rows = [[second, self.history_of(second // EPOCH_ROWS)] for second in seconds]
        return {"rows": rows, "late": late}


def judge(given: Sequence[dict[str, Any]], read: Sequence[dict[str, Any]], outcome: Outcome) -> Mapping[str, int]:
    """Hold all deliveries of a consumer, in their order, and what was read of them, to the outcome; what there was."""
    assert [each["sequence"] for each in given] == list(range(1, len(given) + 1))
    last: dict[int, dict[str, Any]] = {}
    void_since: dict[int, list[bool]] = {}
    reopened: dict[int, int] = {}
    for each in given:
        minute, before = minute_of(each), last.get(minute_of(each))
        match each["kind"]:
            case "closed":
                assert before is None or before["kind"] == "voided", f"minute {minute} is closed twice"
                assert before is not None or minute == len(last), f"minute {minute} is told out of order"
                reopened[minute], void_since[minute] = 0, [is_void(each)]
            case "voided":
                assert before is not None, minute
                assert before["kind"] != "voided", f"minute {minute} is voided twice"
                assert any(void_since.pop(minute)), f"minute {minute} is voided without a reason"
            case "reopened":
                assert before is not None, minute
                assert before["kind"] != "voided", f"minute {minute} is void, and reopened"
                reopened[minute] += 1
                void_since[minute].append(is_void(each))
        last[minute] = each
    assert sorted(last) == list(range(MINUTES)), "none is missing"
    assert not any(map(any, void_since.values())), "what is void was told to be"
    _judge_ends(given, last, reopened, outcome)
    _judge_reads(given, read, outcome)
    kinds = [each["kind"] for each in given]
    return {kind: kinds.count(kind) for kind in ("closed", "reopened", "voided")} | {"read": len(read)}


def _judge_ends(
    given: Sequence[dict[str, Any]], last: Mapping[int, dict[str, Any]], reopened: Mapping[int, int], outcome: Outcome
) -> None:
    """What was told of each minute last counts, and has come after all that came late for it."""
    closed = {minute_of(each): each for each in given if each["kind"] == "closed"}
    for minute, each in last.items():
        assert each["kind"] != "voided", f"minute {minute} is not closed again"
        assert outcome.has(each["certificate"]), f"minute {minute} counts no more, and was not voided"
        late = [epoch for epoch in range(outcome.committed + 1) if is_late_for(minute, epoch)]
        untold = [epoch for epoch in late if epoch > closed[minute]["certificate"]["epoch"]]
        assert reopened[minute] <= len(untold), f"minute {minute} is reopened without a reason"
        assert not untold or each["certificate"]["epoch"] >= untold[-1], f"minute {minute} is not reopened"


def _judge_reads(given: Sequence[dict[str, Any]], read: Sequence[dict[str, Any]], outcome: Outcome) -> None:
    """Each delivery was read, but what was voided before anybody came to it; what was read is the batch answer of all
    that counts, and is not of exactly what was voided."""
    by_sequence: dict[int, list[dict[str, Any]]] = {}
    for each in read:
        by_sequence.setdefault(each["sequence"], []).append(each)
    for each in given:
        sequence, certificate = each["sequence"], each["certificate"]
        if each["kind"] == "voided":
            assert sequence in by_sequence, f"delivery {sequence} was told to nobody"
            continue
        assert is_void(each) != outcome.has(certificate), f"delivery {sequence} is wrongly marked"
        if is_void(each):
            continue
        assert sequence in by_sequence, f"delivery {sequence} was told to nobody"
        for told in by_sequence[sequence]:
            assert told["kind"] == each["kind"]
            assert told["read"] == outcome.batch(minute_of(each), certificate["epoch"]), f"delivery {sequence}"


def is_void(delivery: Mapping[str, Any]) -> bool:
    """Whether its certificate was voided since."""
    return delivery["certificate"]["voided_at"] is not None


def is_late_for(minute: int, epoch: int) -> bool:
    """Whether a row of the minute comes late in the epoch."""
    second = late_second(epoch)
    return second is not None and second // MINUTE == minute


def minute_of(delivery: Mapping[str, Any]) -> int:
    """The minute since 1970 that a delivery is of."""
    start = delivery.get("start", delivery["key"] + "+00:00" if "key" in delivery else None)
    assert start is not None
    return int(instant(start)) // MINUTE
