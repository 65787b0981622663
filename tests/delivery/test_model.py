"""Every state of the protocol, and designs that leave something out: each of them has to be found out."""

from __future__ import annotations

import pytest

from tests.delivery.model import Bounds, Design, search

ONE = Bounds(epochs=3)
TWO = Bounds(width=2)

MUTANTS = {
    "no ledger": (Design(has_ledger=False), ONE, "doubled"),
    "the ledger is read before the fence": (Design(fences_first=False), ONE, "doubled"),
    "the ledger is written after the commit": (Design(ledger_in_transaction=False), ONE, "stopped without a reason"),
    "one producer for many epochs": (Design(fresh_producers=False), ONE, "torn"),
    "a restore is not noticed": (Design(knows_lineage=False), ONE, "lost"),
    "offsets are not compared": (Design(compares_offsets=False), ONE, "lost"),
    "the width changes with the driver": (Design(width_is_kept=False), TWO, "lost"),
    "rows change their partition": (Design(rows_stay_in_place=False), TWO, "doubled"),
}


@pytest.mark.parametrize("bounds", [ONE, TWO], ids=["one partition", "two partitions"])
def test_the_design_loses_doubles_and_tears_nothing(bounds: Bounds) -> None:
    states, wrong, way = search(Design(), bounds)

    assert wrong is None, way
    assert states > 1000


@pytest.mark.parametrize("name", MUTANTS)
def test_a_design_that_leaves_something_out_is_found_out(name: str) -> None:
    design, bounds, expected = MUTANTS[name]

    _, wrong, way = search(design, bounds)

    assert wrong is not None
    assert expected in wrong
    assert way
