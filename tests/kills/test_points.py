"""No point at which a process may die is forgotten: each has its kills, or a reason why it needs none."""

from __future__ import annotations

from collections import Counter

from tests.kills.points import KILLS, LEFT_OUT, SHORT, every_point, kills_of
from tests.kills.verbs import VERBS


def test_every_point_is_killed_at_in_some_request_or_left_out_for_a_reason() -> None:
    killed = {kill.fault for kill in KILLS}

    assert killed | LEFT_OUT.keys() == every_point()
    assert all(LEFT_OUT.values())


def test_every_request_is_killed_each_kill_stands_once_and_the_short_ones_are_some_of_them() -> None:
    assert {kill.verb for kill in KILLS} == VERBS.keys()
    assert max(Counter(map(str, KILLS)).values()) == 1
    assert set(SHORT) <= set(map(str, KILLS))


def test_what_builds_a_state_beside_the_old_one_is_killed_at_every_point_of_the_swap() -> None:
    swap = {"while_building", "before_swap", "after_swap_decision", "while_swapping", "after_swap"}

    for verb in ("restore", "rescale", "upgrade", "go-back", "rollback", "fork"):
        assert swap <= kills_of(verb), verb
