"""What a sink is told of the rows that come to it."""

from __future__ import annotations

from pathlib import Path

from engine.compile import compile_script
from engine.connectors.base import Epoch, SinkContext
from engine.spark.write.targets import Target

EPOCH = Epoch(3, "lineage", 1, "offsets", watermark_before=17)
SCRIPT = """
CREATE TABLE orders (id BIGINT, at TIMESTAMP NOT NULL, WATERMARK FOR at AS at - INTERVAL '10 seconds')
WITH (connector = 'filesystem', type = 'source', path = '/in', format = 'json', late_rows = 'late');
CREATE TABLE counts (n BIGINT) WITH (connector = 'filesystem', type = 'sink', path = '/counts', format = 'json');
CREATE TABLE late (id BIGINT, event_time TIMESTAMP, watermark TIMESTAMP)
WITH (connector = 'filesystem', type = 'sink', path = '/late', format = 'json');
INSERT INTO counts SELECT count(*) FROM orders GROUP BY tumble(INTERVAL '1 minute');
"""


def test_the_watermark_before_an_epoch_says_nothing_of_late_rows(tmp_path: Path) -> None:
    program = compile_script(SCRIPT)
    place = SinkContext(tmp_path)
    targets = {write.table: Target(program.tables[write.table], place).receiving(write) for write in program.writes}

    assert targets["counts"].epoch_of_sink(EPOCH).watermark_before == 17
    assert targets["late"].epoch_of_sink(EPOCH).watermark_before is None
