"""Updating aggregates of which the time to live, a condition or an output column is changed: their keys go on."""

from __future__ import annotations

import json

import pytest

from engine.changes.compare import compare
from engine.compile import compile_script
from engine.errors import UpgradeRefusedError
from engine.spark.run_spec import StateUpgrade
from tests.checkpoints.test_carry_over_with_spark import LAST, Pipeline, pipeline
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


def test_what_is_to_be_forgotten_sooner_begins_anew(pipeline: Pipeline) -> None:
    """Numbers are minutes, so the groups 0 to 7 come twice, sixteen minutes apart."""
    pipeline.run(script(pipeline, "1 hour"), LAST)

    upgrade(pipeline, script(pipeline, "10 minutes"))

    assert {g: row for g, row in written(pipeline).items() if g < 8} == {g: (1, g + 16) for g in range(8)}


def test_what_is_to_be_kept_longer_is_kept(pipeline: Pipeline) -> None:
    pipeline.run(script(pipeline, "10 minutes"), LAST)

    upgrade(pipeline, script(pipeline, "1 hour"))

    rows = written(pipeline)
    # before the change nothing younger than ten minutes was forgotten
    assert {g: rows[g] for g in (4, 5, 6, 7)} == {g: (2, 2 * g + 16) for g in (4, 5, 6, 7)}


def test_a_condition_and_a_column_behind_keys_hold_for_rows_that_come_from_then_on(pipeline: Pipeline) -> None:
    pipeline.run(script(pipeline, "1 hour"), LAST)

    sql = script(pipeline, "1 hour", ", m BIGINT", ", sum(number) + 1 AS m", " HAVING sum(number) > 20")
    plan = compare(*(compile_script(pipeline.spec(text).sql) for text in (script(pipeline, "1 hour"), sql)))
    assert any("of which (sum(number) > 20) is not true stay" in verdict.shown for verdict in plan.verdicts)
    with pytest.raises(UpgradeRefusedError, match="rows may stay in groups that should not be there"):
        upgrade(pipeline, sql)
    upgrade(pipeline, sql, StateUpgrade(accept_loss=plan.id))

    rows: dict[int, dict[str, int]] = {}
    for line in map(json.loads, (pipeline.folder / "groups").read_text().splitlines()):
        rows.pop((line["before"] or line["after"])["g"], None)
        if line["after"]:
            rows[line["after"]["g"]] = line["after"]
    # the keys 0 to 7 have come again; what 0 to 2 are by now does not pass, so that what was written of them stays
    assert {g: row for g, row in rows.items() if 3 <= g < 8} == {
        g: {"g": g, "n": 2, "s": 2 * g + 16, "m": 2 * g + 17} for g in range(3, 8)
    }
    assert {g: row for g, row in rows.items() if not 3 <= g < 8} == {
        g: {"g": g, "n": 1, "s": g} for g in (0, 1, 2, 8, 9, 10, 11)
    }
