"""Windows are kept by pane where all that is read is there already, or where the run says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.compile import compile_script
from engine.spark.run.run_spec import RunSpec
from engine.spark.state.panes import begins_by_pane
from engine.values.run_settings import RunSettings
from engine.values.start_positions import Backfill

pytestmark = pytest.mark.unit

FILES = "connector = 'filesystem', type = 'source', path = '/data', format = 'json'"
WATCHED = f"{FILES}, source.watch = 'true'"
FILE = "connector = 'single_file', type = 'source', path = '/data.json', format = 'json'"
TOPIC = "connector = 'kafka', type = 'source', topic = 'rows', bootstrap_servers = 'here:9092', format = 'json'"
RANGE, THEN_ON = Backfill(stop_at={}), Backfill(stop_at={}, goes_on=True)


def chosen(*tables: str, **run: object) -> bool:
    """Whether a run over these tables that begins keeps windows by pane."""
    declared = "".join(
        f"CREATE TABLE t{number} {'' if 'impulse' in options else '(n BIGINT)'} WITH ({options});"
        for number, options in enumerate(tables)
    )
    counts = "".join(
        f"SELECT count(*) FROM t{number} GROUP BY hop(INTERVAL '2 seconds', INTERVAL '10 seconds');"
        for number in range(len(tables))
    )
    spec = RunSpec("counts", declared + counts, Path("/state"), settings=RunSettings(**run))
    return begins_by_pane(spec, compile_script(spec.sql))


@pytest.mark.parametrize(
    ("tables", "run", "is_by_pane"),
    [
        ([FILES], {}, True),
        ([FILE], {}, True),
        ([FILES, FILE], {}, True),
        ([WATCHED], {}, False),
        ([FILES, WATCHED], {}, False),
        ([TOPIC], {}, False),
        (["connector = 'impulse', event_rate = '10', message_count = '5'"], {}, False),
        ([TOPIC], {"by_pane": True}, True),
        ([FILES], {"by_pane": False}, False),
        ([FILES], {"max_epoch_rows": 100}, False),
        ([FILES], {"max_epoch_rows": 100_000}, True),
        ([TOPIC], {"backfill": RANGE}, True),
        ([TOPIC], {"backfill": THEN_ON}, False),
    ],
)
def test_panes_are_chosen_where_epochs_are_large_from_the_beginning(
    tables: list[str], run: dict[str, object], is_by_pane: bool
) -> None:
    assert chosen(*tables, **run) is is_by_pane
