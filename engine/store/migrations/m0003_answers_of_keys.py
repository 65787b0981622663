"""Idempotency keys that keep the answer of their request. The keys of before say too little to be answered from."""

from __future__ import annotations

STATEMENTS = (
    "DROP TABLE keys",
    """
    CREATE TABLE keys (
        key TEXT PRIMARY KEY, digest TEXT NOT NULL, status INTEGER NOT NULL, etag TEXT, body BLOB NOT NULL,
        created_at BIGINT NOT NULL
    )
    """,
    "CREATE INDEX keys_by_age ON keys (created_at)",
)
