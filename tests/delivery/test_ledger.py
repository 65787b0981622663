from __future__ import annotations

from dataclasses import dataclass

import pytest

from engine.delivery.epoch import Epoch
from engine.delivery.ledger import Decision, LedgerEntry, Skip, StandDown, Stop, WriteAfter, decide


def taken(lineage: str, *epochs: int, generation: int = 1) -> list[LedgerEntry]:
    return [LedgerEntry(lineage, number, f"offsets-{number}", generation, length=10 * number) for number in epochs]


def asked(
    number: int,
    lineage: str = "B",
    *,
    generation: int = 1,
    parents: tuple[tuple[str, int], ...] = (),
    offsets: str = "",
) -> Epoch:
    return Epoch(number, lineage, generation, offsets or f"offsets-{number}", parents)


@dataclass(frozen=True, slots=True)
class Case:
    name: str
    ledger: list[LedgerEntry]
    epoch: Epoch
    decision: str
    ever_committed: bool = False
    is_newer_known: bool = False
    takes_back: bool = True


CASES = [
    Case("the first epoch of all is written", [], asked(0), "Write(None)"),
    Case("a ledger that is gone stops", [], asked(4), "delivery.ledger_lost", ever_committed=True),
    Case("the next epoch is written", taken("B", 0, 1), asked(2), "Write(B1)"),
    Case("a gap is written, too", taken("B", 0), asked(5), "Write(B0)"),
    Case("the same epoch is skipped", taken("B", 0, 1), asked(1), "Skip"),
    Case("the same epoch over other input stops", taken("B", 1), asked(1, offsets="other"), "delivery.offsets_differ"),
    Case("a newer generation makes us stand down", taken("B", 1, generation=3), asked(2), "delivery.superseded"),
    Case("that goes for a skip, too", taken("B", 1, generation=3), asked(1), "delivery.superseded"),
    Case("an older generation does not", taken("B", 1, generation=1), asked(2, generation=2), "Write(B1)"),
    Case("another driver is ahead", taken("B", 1, 2), asked(1), "delivery.superseded", is_newer_known=True),
    Case("the checkpoint is an old copy", taken("B", 1, 2), asked(1), "delivery.ledger_ahead"),
    Case("a restore goes on where it was", taken("A", 3, 4), asked(5, parents=(("A", 4),)), "Write(A4)"),
    Case("a restore goes back", taken("A", 3, 4, 5, 6), asked(5, parents=(("A", 4),)), "Rewind(A4)"),
    Case(
        "a restore of a restore",
        taken("A", 3, 4) + taken("C", 5, 6),
        asked(6, parents=(("C", 5), ("A", 4))),
        "Rewind(C5)",
    ),
    Case(
        "a restore past another restore", taken("A", 2, 3) + taken("C", 4), asked(3, parents=(("A", 2),)), "Rewind(A2)"
    ),
    Case("a parent that wrote nothing", taken("A", 3, 4), asked(6, parents=(("C", 5), ("A", 4))), "Write(A4)"),
    Case("a stranger's ledger stops", taken("X", 1), asked(2, parents=(("A", 1),)), "delivery.ledger_foreign"),
    Case("a restore too far back stops", taken("A", 7, 8), asked(3, parents=(("A", 2),)), "delivery.rewind_too_far"),
    Case(
        "a restore of what cannot be taken back",
        taken("A", 7, 8),
        asked(3, parents=(("A", 2),)),
        "Write(A8)",
        takes_back=False,
    ),
    Case(
        "what cannot be taken back has strangers, too",
        taken("X", 1),
        asked(2, parents=(("A", 1),)),
        "delivery.ledger_foreign",
        takes_back=False,
    ),
    Case("a zombie of the parent's", taken("B", 5, generation=4), asked(5, "A", generation=3), "delivery.superseded"),
]


def asked_of_the_rule(case: Case) -> Decision:
    return decide(
        case.ledger,
        case.epoch,
        ever_committed=case.ever_committed,
        is_newer_known=case.is_newer_known,
        takes_back=case.takes_back,
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "_"))
def test_the_rule(case: Case) -> None:
    decision = asked_of_the_rule(case)

    assert said(decision) == case.decision


def test_every_refusal_gives_advice() -> None:
    for case in CASES:
        match asked_of_the_rule(case):
            case StandDown(error) | Stop(error):
                assert error.hint


def said(decision: Decision) -> str:
    match decision:
        case WriteAfter(None):
            return "Write(None)"
        case WriteAfter(LedgerEntry(lineage, number), is_rewind):
            return f"{'Rewind' if is_rewind else 'Write'}({lineage}{number})"
        case Skip():
            return "Skip"
        case StandDown(error) | Stop(error):
            return error.code
    raise AssertionError(decision)
