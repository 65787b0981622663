"""The first tables."""

from __future__ import annotations

STATEMENTS = (
    """
    CREATE TABLE pipelines (
        id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, job_id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL,
        parallelism INTEGER NOT NULL, stop TEXT NOT NULL, restarts_asked INTEGER NOT NULL,
        restart_now BOOLEAN NOT NULL, restore_savepoint TEXT, restore_parallelism INTEGER, restore_replay BOOLEAN,
        created_at BIGINT NOT NULL, revision INTEGER NOT NULL
    )
    """,
    """
    CREATE TABLE versions (
        pipeline_id TEXT NOT NULL REFERENCES pipelines (id) ON DELETE CASCADE, number INTEGER NOT NULL,
        query TEXT NOT NULL, udfs TEXT NOT NULL, settings TEXT NOT NULL, checkpoint_interval BIGINT,
        digest TEXT NOT NULL, fingerprint TEXT NOT NULL, graph TEXT NOT NULL, force BOOLEAN NOT NULL,
        created_at BIGINT NOT NULL, PRIMARY KEY (pipeline_id, number)
    )
    """,
    """
    CREATE TABLE keys (
        scope TEXT NOT NULL, key TEXT NOT NULL, subject TEXT NOT NULL, pipeline_id TEXT NOT NULL
        REFERENCES pipelines (id) ON DELETE CASCADE, created_at BIGINT NOT NULL, PRIMARY KEY (scope, key)
    )
    """,
    """
    CREATE TABLE jobs (
        id TEXT PRIMARY KEY, pipeline_id TEXT NOT NULL REFERENCES pipelines (id) ON DELETE CASCADE,
        state TEXT NOT NULL, since BIGINT NOT NULL, created_at BIGINT NOT NULL, generation INTEGER NOT NULL,
        version INTEGER, parallelism INTEGER, restarts_done INTEGER NOT NULL, failures INTEGER NOT NULL,
        retry_at BIGINT, running_since BIGINT, started_at BIGINT, finished_at BIGINT, failure_code TEXT,
        failure_message TEXT, failure_hint TEXT, epoch BIGINT, watermark BIGINT, sources TEXT NOT NULL,
        revision INTEGER NOT NULL
    )
    """,
    "CREATE INDEX jobs_by_pipeline ON jobs (pipeline_id)",
    "CREATE INDEX jobs_by_state ON jobs (state)",
    """
    CREATE TABLE runs (
        job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, generation INTEGER NOT NULL,
        pipeline_id TEXT NOT NULL, key_hash TEXT NOT NULL, version INTEGER NOT NULL, parallelism INTEGER NOT NULL,
        launched_at BIGINT NOT NULL, pid INTEGER, born TEXT, hello_at BIGINT, running_at BIGINT, ended_at BIGINT,
        outcome TEXT, failure_code TEXT, failure_message TEXT, failure_hint TEXT, PRIMARY KEY (job_id, generation)
    )
    """,
    """
    CREATE TABLE checkpoints (
        job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE, epoch BIGINT NOT NULL, generation INTEGER NOT NULL,
        rows_in BIGINT NOT NULL, rows_out BIGINT NOT NULL, rows_per_second DOUBLE NOT NULL, duration BIGINT NOT NULL,
        watermark BIGINT, sources TEXT NOT NULL, late_rows BIGINT NOT NULL, dropped_rows BIGINT NOT NULL,
        state_changes BIGINT NOT NULL, state_bytes BIGINT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (job_id, epoch)
    )
    """,
    """
    CREATE TABLE savepoints (
        id TEXT PRIMARY KEY, pipeline_id TEXT NOT NULL REFERENCES pipelines (id) ON DELETE CASCADE, label TEXT,
        state TEXT NOT NULL, epoch BIGINT, watermark BIGINT, parallelism INTEGER, bytes BIGINT,
        created_at BIGINT NOT NULL, failure_message TEXT
    )
    """,
    "CREATE INDEX savepoints_by_pipeline ON savepoints (pipeline_id)",
    """
    CREATE TABLE notes (
        id INTEGER PRIMARY KEY AUTOINCREMENT, job_id TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
        at BIGINT NOT NULL, level TEXT NOT NULL, message TEXT NOT NULL, code TEXT, hint TEXT, generation INTEGER
    )
    """,
    "CREATE INDEX notes_by_job ON notes (job_id)",
    "CREATE TABLE tokens (hash TEXT PRIMARY KEY, created_at BIGINT NOT NULL)",
)
