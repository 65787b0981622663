"""Which plans of a change may be carried out."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from engine.changes.verdict import Wording, why_not

WORDING = Wording("--reset", "--accept-loss", "do something else")


@dataclass(frozen=True)
class Planned:
    id: str
    is_refused: bool = False
    loses_nothing: bool = False


@pytest.mark.parametrize("accepted", [None, "88aa", "3f0c"])
def test_upgrade_without_loss_needs_no_acceptance(accepted: str | None) -> None:
    assert why_not(Planned("88aa", loses_nothing=True), accepted, "", WORDING) is None


def test_a_loss_is_accepted_by_the_id_of_its_plan() -> None:
    assert why_not(Planned("88aa"), "88aa", "", WORDING) is None


@pytest.mark.parametrize("accepted", [None, "", "3f0c"])
def test_another_id_accepts_nothing_and_the_right_one_is_said(accepted: str | None) -> None:
    refused = why_not(Planned("88aa"), accepted, "tumble is dropped", WORDING)

    assert refused is not None
    assert "tumble is dropped" in refused.message
    assert refused.hint == "--accept-loss 88aa accepts all that this plan says is lost"


def test_refused_upgrade_stays_refused_despite_acceptance() -> None:
    refused = why_not(Planned("99bb", is_refused=True), "99bb", "tumble is refused", WORDING)

    assert refused is not None
    assert "tumble is refused" in refused.message
    assert "--reset" in refused.hint
