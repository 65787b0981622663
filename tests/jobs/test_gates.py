from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from engine.errors import CompletenessUnknownError, SinkNotFoundError
from engine.jobs.decisions.effects import Gate, GateTime, at_end, is_passed, least_complete
from engine.jobs.decisions.status import Progress
from engine.values.epoch_report import SinkProgress
from engine.values.instants import FAR_FUTURE

SETTLED = datetime(2026, 1, 1, 5, 29, 51, tzinfo=UTC)
EDGE = SETTLED.replace(second=0)
COUNTS = SinkProgress(EDGE, SETTLED)
VISITS = SinkProgress(None, SETTLED, "it is made of sessions")
LATER = SinkProgress(SETTLED, SETTLED)
MICRO = timedelta(microseconds=1)


def at(**sinks: SinkProgress) -> Progress:
    return Progress(7, SETTLED, sinks=sinks)


@pytest.mark.parametrize(
    ("past", "table", "by", "passed"),
    [
        (EDGE, None, "input", True),
        (EDGE + MICRO, None, "input", False),
        (SETTLED, None, "input", False),
        (SETTLED, "later", "input", True),
        (SETTLED, None, "output", True),
        (SETTLED + MICRO, "counts", "output", False),
    ],
)
def test_a_gate_is_passed_once_its_sinks_are_complete_up_to_it(
    past: datetime, table: str | None, by: GateTime, passed: bool
) -> None:
    assert is_passed(Gate(past, table, by), at(counts=COUNTS, later=LATER)) is passed


def test_no_gate_is_passed_before_progress_is_known() -> None:
    assert not is_passed(Gate(EDGE), Progress())
    assert not is_passed(Gate(EDGE, "counts"), Progress())
    assert not is_passed(Gate(EDGE), Progress(7, SETTLED)), "reported by a driver of an earlier version"
    assert not is_passed(Gate(EDGE), at(counts=COUNTS, later=SinkProgress()))


def test_a_gate_that_can_never_be_passed_is_refused_with_the_way_out() -> None:
    with pytest.raises(CompletenessUnknownError, match=r"'visits'.*sessions") as refused:
        is_passed(Gate(EDGE), at(counts=COUNTS, visits=VISITS))
    assert "by=output" in str(refused.value.hint)
    assert "another sink" in str(refused.value.hint)

    assert is_passed(Gate(EDGE, "counts"), at(counts=COUNTS, visits=VISITS))
    assert is_passed(Gate(SETTLED, "visits", "output"), at(counts=COUNTS, visits=VISITS))
    assert not is_passed(Gate(SETTLED + MICRO, "visits", "output"), at(counts=COUNTS, visits=VISITS))


def test_a_sink_that_there_is_not_is_refused_with_those_there_are() -> None:
    with pytest.raises(SinkNotFoundError, match="'count'") as refused:
        is_passed(Gate(EDGE, "count"), at(counts=COUNTS, later=LATER))

    assert "counts, later" in str(refused.value.hint)


def test_a_job_at_its_end_has_passed_everything_sessions_too() -> None:
    assert is_passed(Gate(FAR_FUTURE), at_end(at(counts=COUNTS, visits=VISITS)))


def test_all_sinks_are_complete_up_to_where_the_slowest_is() -> None:
    assert least_complete(at(counts=COUNTS, later=LATER)) == EDGE
    assert least_complete(at(counts=COUNTS, visits=VISITS)) is None
    assert least_complete(Progress()) is None
