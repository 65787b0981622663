"""Updating aggregates of which the time to live, a condition or an output column is changed: their keys go on."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.checkpoints.test_carry_over_with_spark import LAST, Pipeline, all_events, pipeline
from tests.checkpoints.test_upgrade_with_spark import upgrade
from tests.golden.folding import fold

__all__ = ["pipeline"]
pytestmark = pytest.mark.spark


def script(story: Pipeline, ttl: str, columns: str = "", values: str = "", having: str = "") -> str:
    """The events by remainder, and by number in one group of each twenty minutes."""
    return f"""
        SET updating_ttl = '{ttl}';
        CREATE TABLE groups (g BIGINT, n BIGINT, s BIGINT{columns}) WITH (
          connector = 'single_file', path = '{story.folder}/groups', format = 'debezium_json', type = 'sink');
        INSERT INTO groups SELECT number % 16 AS g, count(*) AS n, sum(number) AS s{values}
        FROM events WHERE key = 'a' GROUP BY number % 16{having};
    """


def written(story: Pipeline) -> dict[int, tuple[int, int]]:
    rows = fold((story.folder / "groups").read_text().splitlines(), ("g",)).values()
    return {int(str(row["g"])): (int(str(row["n"])), int(str(row["s"]))) for row in rows}


def test_state_with_a_shorter_ttl_starts_empty(pipeline: Pipeline) -> None:
    """Numbers are minutes, so the groups 0 to 7 come twice, sixteen minutes apart."""
    pipeline.run(script(pipeline, "1 hour"), LAST)

    upgrade(pipeline, script(pipeline, "10 minutes"))

    assert {g: row for g, row in written(pipeline).items() if g < 8} == {g: (1, g + 16) for g in range(8)}


def test_state_with_a_longer_ttl_is_taken_over(pipeline: Pipeline) -> None:
    pipeline.run(script(pipeline, "10 minutes"), LAST)

    upgrade(pipeline, script(pipeline, "1 hour"))

    rows = written(pipeline)
    # before the change nothing younger than ten minutes was forgotten
    assert {g: rows[g] for g in (4, 5, 6, 7)} == {g: (2, 2 * g + 16) for g in (4, 5, 6, 7)}


def all_groups() -> dict[int, tuple[int, int]]:
    """The batch answer without a condition."""
    numbers = [number for _, key, number in all_events() if key == "a"]
    groups = {g: [number for number in numbers if number % 16 == g] for g in range(16)}
    return {g: (len(group), sum(group)) for g, group in groups.items() if group}


HAVING = {
    "": lambda _n, _s: True,
    " HAVING sum(number) > 20": lambda _n, s: s > 20,
    " HAVING count(*) = 1 AND sum(number) % 2 = 0": lambda n, s: n == 1 and s % 2 == 0,
}


@pytest.mark.parametrize(("old", "new"), [*pairwise([*HAVING, ""])])
def test_another_condition_behind_keys_is_told_of_all_of_them_once(pipeline: Pipeline, old: str, new: str) -> None:
    """Also where the run is killed after the sink has taken the epoch of that, and before Spark knows it."""
    pipeline.run(script(pipeline, "1 hour", having=old), LAST)

    epochs = upgrade(pipeline, script(pipeline, "1 hour", having=new), stop_after=LAST + 2)
    (pipeline.paths.checkpoint / "commits" / str(epochs[-1])).unlink()
    (pipeline.paths.checkpoint / "offsets" / str(epochs[-1] + 1)).unlink(missing_ok=True)
    pipeline.run(script(pipeline, "1 hour", having=new))

    assert written(pipeline) == {g: row for g, row in all_groups().items() if HAVING[new](*row)}
