"""What came late in epochs, as long as a consumer of partitions wants to hear of it, and which of it each has heard."""

from __future__ import annotations

STATEMENTS = (
    "ALTER TABLE partition_consumers ADD COLUMN late TEXT NOT NULL DEFAULT 'ignore'",
    "ALTER TABLE partition_consumers ADD COLUMN late_seen BIGINT NOT NULL DEFAULT 0",
    """
    CREATE TABLE late_batches (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        pipeline_id TEXT NOT NULL REFERENCES pipelines (id) ON DELETE CASCADE,
        lineage TEXT NOT NULL, epoch BIGINT NOT NULL, sinks TEXT NOT NULL,
        UNIQUE (pipeline_id, lineage, epoch)
    )
    """,
)
