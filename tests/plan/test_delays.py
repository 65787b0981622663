"""How far a declared watermark is behind the event time: known for the plain declarations, and for no other."""

from __future__ import annotations

from datetime import timedelta

import pytest

from engine.compile import compile_script
from engine.errors import ScriptRefused
from engine.plan.times import fixed_delay

SCRIPT = """
CREATE TABLE s (id BIGINT, at TIMESTAMP NOT NULL, seen TIMESTAMP NOT NULL, millis BIGINT NOT NULL,
  made TIMESTAMP GENERATED ALWAYS AS (to_timestamp_millis(millis)) STORED NOT NULL{watermark})
WITH (connector = 'single_file', path = '/t', type = 'source', format = 'json'{options});
CREATE TABLE o WITH (connector = 'blackhole');
INSERT INTO o SELECT id FROM s;
"""


def script(watermark: str = "", options: str = "") -> str:
    return SCRIPT.format(watermark=watermark, options=options)


@pytest.mark.parametrize(
    ("watermark", "options", "seconds"),
    [
        ("", "", 1),
        ("", ", event_time_field = 'at'", 1),
        (", WATERMARK FOR at", "", 0),
        (", WATERMARK FOR at AS at - INTERVAL '5 minutes'", "", 300),
        (", WATERMARK FOR made AS made - INTERVAL '5 seconds'", "", 5),
    ],
)
def test_a_fixed_delay_is_known(watermark: str, options: str, seconds: int) -> None:
    program = compile_script(script(watermark, options + ", quiet_after = '10 minutes'"))

    scan = program.scans["s"]

    assert fixed_delay(scan.event_time, scan.watermark) == timedelta(seconds=seconds)
    assert program.tables["s"].quiet_after == timedelta(minutes=10)


@pytest.mark.parametrize(
    ("watermark", "options"),
    [
        ("", ", event_time_field = 'at', watermark_field = 'seen'"),
        (", WATERMARK FOR at AS seen - INTERVAL '5 seconds'", ""),
        (", WATERMARK FOR at AS date_trunc('hour', at)", ""),
    ],
)
def test_the_clock_cannot_stand_in_for_a_watermark_of_another_kind(watermark: str, options: str) -> None:
    compile_script(script(watermark, options))

    with pytest.raises(ScriptRefused, match="'quiet_after' needs a watermark that is the event time less"):
        compile_script(script(watermark, options + ", quiet_after = '10 minutes'"))
