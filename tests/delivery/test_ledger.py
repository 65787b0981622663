from __future__ import annotations

from dataclasses import dataclass

import pytest

from engine.delivery.epoch import Epoch
from engine.delivery.ledger import Decision, LedgerEntry, Skip, StandDown, Stop, WriteAfter, decide


def ledger_of(lineage: str, *epochs: int, generation: int = 1) -> list[LedgerEntry]:
    return [LedgerEntry(lineage, number, f"offsets-{number}", generation, length=10 * number) for number in epochs]


def epoch_of(
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
    Case("the first epoch of all is written", [], epoch_of(0), "Write(None)"),
    Case("a ledger that is gone stops", [], epoch_of(4), "delivery.ledger_lost", ever_committed=True),
    Case("the next epoch is written", ledger_of("B", 0, 1), epoch_of(2), "Write(B1)"),
    Case("a gap is written, too", ledger_of("B", 0), epoch_of(5), "Write(B0)"),
    Case("the same epoch is skipped", ledger_of("B", 0, 1), epoch_of(1), "Skip"),
    Case(
        "the same epoch over other input stops",
        ledger_of("B", 1),
        epoch_of(1, offsets="other"),
        "delivery.offsets_differ",
    ),
    Case("a newer generation makes us stand down", ledger_of("B", 1, generation=3), epoch_of(2), "delivery.superseded"),
    Case("that goes for a skip, too", ledger_of("B", 1, generation=3), epoch_of(1), "delivery.superseded"),
    Case("an older generation does not", ledger_of("B", 1, generation=1), epoch_of(2, generation=2), "Write(B1)"),
    Case("another driver is ahead", ledger_of("B", 1, 2), epoch_of(1), "delivery.superseded", is_newer_known=True),
    Case("the checkpoint is an old copy", ledger_of("B", 1, 2), epoch_of(1), "delivery.ledger_ahead"),
    Case("a restore goes on where it was", ledger_of("A", 3, 4), epoch_of(5, parents=(("A", 4),)), "Write(A4)"),
    Case("a restore goes back", ledger_of("A", 3, 4, 5, 6), epoch_of(5, parents=(("A", 4),)), "Rewind(A4)"),
    Case(
        "a restore of a restore",
        ledger_of("A", 3, 4) + ledger_of("C", 5, 6),
        epoch_of(6, parents=(("C", 5), ("A", 4))),
        "Rewind(C5)",
    ),
    Case(
        "a restore past another restore",
        ledger_of("A", 2, 3) + ledger_of("C", 4),
        epoch_of(3, parents=(("A", 2),)),
        "Rewind(A2)",
    ),
    Case("a parent that wrote nothing", ledger_of("A", 3, 4), epoch_of(6, parents=(("C", 5), ("A", 4))), "Write(A4)"),
    Case("a stranger's ledger stops", ledger_of("X", 1), epoch_of(2, parents=(("A", 1),)), "delivery.ledger_foreign"),
    Case(
        "a restore too far back stops",
        ledger_of("A", 7, 8),
        epoch_of(3, parents=(("A", 2),)),
        "delivery.rewind_too_far",
    ),
    Case(
        "a restore of what cannot be taken back",
        ledger_of("A", 7, 8),
        epoch_of(3, parents=(("A", 2),)),
        "Write(A8)",
        takes_back=False,
    ),
    Case(
        "what cannot be taken back has strangers, too",
        ledger_of("X", 1),
        epoch_of(2, parents=(("A", 1),)),
        "delivery.ledger_foreign",
        takes_back=False,
    ),
    Case(
        "a zombie of the parent's",
        ledger_of("B", 5, generation=4),
        epoch_of(5, "A", generation=3),
        "delivery.superseded",
    ),
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

    assert text_of(decision) == case.decision


def test_every_refusal_gives_advice() -> None:
    for case in CASES:
        match asked_of_the_rule(case):
            case StandDown(error) | Stop(error):
                assert error.hint


def text_of(decision: Decision) -> str:
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
