"""A consumer of a pipeline's complete time buckets, and what each was told.

`is_newest` is what was told last of a bucket, `void_since` the number of what takes it back.
"""

from __future__ import annotations

STATEMENTS = (
    """
    CREATE TABLE partition_consumers (
        id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE,
        pipeline_id TEXT NOT NULL REFERENCES pipelines (id) ON DELETE CASCADE,
        sink TEXT, by_time TEXT NOT NULL, every BIGINT NOT NULL, begins_later BIGINT NOT NULL, time_zone TEXT NOT NULL,
        start BIGINT NOT NULL, until BIGINT, created_at BIGINT NOT NULL,
        closed_until BIGINT NOT NULL, delivered BIGINT NOT NULL, acked BIGINT NOT NULL
    )
    """,
    "CREATE INDEX partition_consumers_of ON partition_consumers (pipeline_id)",
    """
    CREATE TABLE partition_deliveries (
        consumer_id TEXT NOT NULL REFERENCES partition_consumers (id) ON DELETE CASCADE, sequence BIGINT NOT NULL,
        kind TEXT NOT NULL, bucket_start BIGINT NOT NULL, bucket_end BIGINT NOT NULL, at BIGINT NOT NULL,
        certificate_id TEXT NOT NULL, is_newest BOOLEAN NOT NULL, void_since BIGINT,
        PRIMARY KEY (consumer_id, sequence)
    )
    """,
    "CREATE INDEX partition_deliveries_by_certificate ON partition_deliveries (certificate_id)",
    """
    CREATE INDEX partition_deliveries_open ON partition_deliveries (consumer_id, bucket_start)
        WHERE is_newest AND kind = 'voided'
    """,
    "CREATE INDEX certificates_void ON certificates (pipeline_id) WHERE voided_at IS NOT NULL",
)
