"""Where the deliveries of consumers of partitions are pushed to, and how that goes. Of credentials only the names of
secrets are kept."""

from __future__ import annotations

STATEMENTS = (
    """
    CREATE TABLE partition_pushes (
        consumer_id TEXT PRIMARY KEY REFERENCES partition_consumers (id) ON DELETE CASCADE,
        url TEXT NOT NULL, asset TEXT NOT NULL, with_keys BOOLEAN NOT NULL, username TEXT, password TEXT, token TEXT,
        failures BIGINT NOT NULL, error TEXT, error_code TEXT, failing_since BIGINT, due BIGINT, pushed_at BIGINT,
        doubt_of BIGINT, doubt_after BIGINT, doubt_since BIGINT
    )
    """,
)
