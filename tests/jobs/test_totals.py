"""What a job has done in all, from the reports of its epochs."""

from __future__ import annotations

from datetime import timedelta

from engine.errors import Cause
from engine.jobs.decisions.totals import TableTotals, Totals, add_epochs, add_restart
from engine.values.epoch_report import EpochReport, TableFigures
from tests.jobs.builders import T0


def report(epoch: int, dropped: int | None, *, rows: int = 10) -> EpochReport:
    return EpochReport(
        epoch=epoch,
        rows_in=rows,
        rows_out=3,
        rows_per_second=1.0,
        duration=timedelta(seconds=2),
        watermark=None,
        at=T0,
        late_rows=2,
        state_changes=7,
        tables={
            "clicks": TableFigures(rows_in=rows, late_rows=1, dropped_rows=dropped, dead_letters=dropped),
            "copy": TableFigures(rows_out=3),
        },
        phases={"find": timedelta(milliseconds=5), "commit": timedelta(milliseconds=1)},
        state_requests={"changelog": 2} | ({"list": 1} if epoch else {}),
    )


def test_epochs_are_added_up_by_table_and_phase() -> None:
    totals = add_epochs(Totals(), [report(0, 1), report(1, 4, rows=20)])

    assert (totals.epochs, totals.rows_in, totals.rows_out, totals.late_rows) == (2, 30, 6, 4)
    assert (totals.duration, totals.state_changes) == (timedelta(seconds=4), 14)
    assert totals.state_requests == {"changelog": 4, "list": 1}
    assert totals.phases == {"find": timedelta(milliseconds=10), "commit": timedelta(milliseconds=2)}
    assert totals.tables == {
        "clicks": TableTotals(rows_in=30, late_rows=2, dropped_rows=4, dead_letters=4, newest_dropped=4, newest_dead=4),
        "copy": TableTotals(rows_out=6),
    }


def test_a_count_so_far_that_goes_back_with_the_state_takes_nothing_back() -> None:
    totals = add_epochs(Totals(), [report(0, 1), report(1, 4), report(1, 3), report(2, 5)])

    assert totals.tables["clicks"].dropped_rows == 6


def test_a_table_that_is_not_told_of_keeps_its_totals() -> None:
    totals = add_epochs(Totals(), [report(0, 1), report(1, None)])

    assert totals.tables["clicks"].dropped_rows == 1
    assert totals.tables["copy"].rows_in is None


def test_a_count_so_far_that_an_epoch_does_not_tell_is_not_counted_again() -> None:
    totals = add_epochs(Totals(), [report(0, 3), report(1, None), report(2, 5)])

    assert (totals.tables["clicks"].dropped_rows, totals.tables["clicks"].dead_letters) == (5, 5)


def test_restarts_are_counted_by_cause() -> None:
    totals = Totals()
    for cause in (Cause.OUTAGE, Cause.UNKNOWN, Cause.OUTAGE):
        totals = add_restart(totals, cause)

    assert totals.restarts == {"outage": 2, "unknown": 1}
