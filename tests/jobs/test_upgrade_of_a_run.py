"""What a version says of its upgrade reaches the run that does it."""

from __future__ import annotations

from dataclasses import fields

import pytest

from engine.driver.work import state_upgrade
from engine.jobs.decisions.spec import Upgrade
from engine.spark.run.run_spec import StateUpgrade

WISH = Upgrade(("a",), ("b",), "88aa", "sp_1", 3, "f", is_fork=True, repeated=("counts",), hold_back=("c",))


@pytest.mark.parametrize("name", [field.name for field in fields(StateUpgrade)])
def test_a_run_gets_all_settings_of_an_upgrade(name: str) -> None:
    assert getattr(state_upgrade(WISH), name) == getattr(WISH, name)
