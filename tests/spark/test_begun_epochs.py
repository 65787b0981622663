"""Which epochs of a run may begin."""

from __future__ import annotations

import pytest

from engine.spark.run.epoch import EpochGate
from engine.spark.run.stop_control import Control, StopRequested


def test_epochs_are_refused_only_while_none_is_under_way() -> None:
    epochs = EpochGate(Control())
    epochs.begin(7)

    assert not epochs.refuse()
    epochs.newest_reported = 7
    assert epochs.refuse()
    with pytest.raises(StopRequested):
        epochs.begin(8)
    assert (epochs.newest, epochs.is_under_way) == (7, False)

    epochs.admit()
    epochs.begin(8)
    assert epochs.is_under_way


def test_a_run_that_is_to_stop_begins_none_unless_it_drains() -> None:
    control = Control()
    epochs = EpochGate(control)
    control.stop("graceful")
    epochs.begin(0)
    control.stop("checkpoint")

    with pytest.raises(StopRequested):
        epochs.begin(1)
