"""No point at which a process may die is forgotten: each has its kills, or a reason why it needs none."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from engine.jobs import fault_points
from tests.kills.points import KILLS, LEFT_OUT, SHORT, enums, every_point, kills_of
from tests.kills.verbs import VERBS


def test_every_point_is_killed_at_in_some_request_or_left_out_for_a_reason() -> None:
    killed = {kill.fault for kill in KILLS}

    assert killed | LEFT_OUT.keys() == every_point()
    assert all(LEFT_OUT.values())


def test_points_have_names_of_their_own_and_all_are_found() -> None:
    names = Counter(str(point) for points in enums() for point in points)

    assert {fault_points.ControlPoint, fault_points.HandOverPoint, fault_points.PushPoint} <= {*enums()}
    # of a schedule and of a rehearsal, which no test plays together
    assert {name for name, count in names.items() if count > 1} == {"after_outcome"}


def test_tests_named_in_reasons_exist() -> None:
    tests = Path(__file__).parents[1]
    files = {tests.parent / file for why in LEFT_OUT.values() for file in re.findall(r"tests/\S+\.py", why)}

    assert files
    assert [file for file in files if "Point" not in file.read_text()] == []


def test_every_request_is_killed_each_kill_stands_once_and_the_short_ones_are_some_of_them() -> None:
    assert {kill.verb for kill in KILLS} == VERBS.keys()
    assert max(Counter(map(str, KILLS)).values()) == 1
    assert set(SHORT) <= set(map(str, KILLS))


def test_builder_of_a_new_state_is_killed_at_every_point_of_the_swap() -> None:
    swap = {"while_building", "before_swap", "after_swap_decision", "while_swapping", "after_swap"}

    for verb in ("restore", "rescale", "upgrade", "go-back", "rollback", "fork"):
        assert swap <= kills_of(verb), verb
