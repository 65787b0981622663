"""Parts of a cluster are killed while a pipeline runs: no row is lost, doubled or out of order.

`make test` has five cycles into files on S3. `make chaos-cluster SINK=delta CYCLES=100 EVENTS=1000000` is the long way.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cluster.kills import SINKS, VICTIMS, opened
from tests.cluster.parts import namespaces

pytestmark = pytest.mark.timeout(2400)

_SINKS = tuple(os.environ.get("CLUSTER_SINKS", "files").split(","))
_EVENTS, _EPOCH_ROWS = 100_000, 4_000


@pytest.mark.parametrize("sink", _SINKS)
def test_no_row_is_lost_when_each_part_of_a_cluster_is_killed(sink: str, tmp_path: Path) -> None:
    if namespaces() is None:
        assert not os.environ.get("CI"), "this user may have no namespaces: it is not known whether a cluster survives"
        pytest.skip("this user may have no namespaces of its own, so workers would see the files of this machine")
    assert sink in SINKS
    with opened(tmp_path, sink, events=_EVENTS, epoch_rows=_EPOCH_ROWS, seed=1) as loop:
        loop.kill_all([*VICTIMS, "executor"])
        loop.finish()

        assert loop.faults() == [], loop.ends
