"""Migrations 1 to 19, oldest first: the schema of release 0.1.0. They are never changed."""

from __future__ import annotations

M0001_START = (
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
"""The first tables."""

M0002_ROWS_WAITING = ("ALTER TABLE checkpoints ADD COLUMN rows_waiting BIGINT",)
"""How much a source had not read yet."""

M0003_ANSWERS_OF_KEYS = (
    "DROP TABLE keys",
    """
    CREATE TABLE keys (
        key TEXT PRIMARY KEY, digest TEXT NOT NULL, status INTEGER NOT NULL, etag TEXT, body BLOB NOT NULL,
        created_at BIGINT NOT NULL
    )
    """,
    "CREATE INDEX keys_by_age ON keys (created_at)",
)
"""Idempotency keys that keep the answer of their request. The keys of before say too little to be answered from."""

M0004_LINEAGES = (
    "ALTER TABLE checkpoints ADD COLUMN lineage TEXT",
    "ALTER TABLE jobs ADD COLUMN lineage TEXT",
)
"""Which history of the state an epoch, and how far a job has come, belong to."""

M0005_CAUSES = (
    "ALTER TABLE jobs ADD COLUMN failure_cause TEXT",
    "ALTER TABLE jobs ADD COLUMN outages INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE jobs ADD COLUMN restarts INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE jobs ADD COLUMN restart_code TEXT",
    "ALTER TABLE runs ADD COLUMN failure_cause TEXT",
    "ALTER TABLE runs ADD COLUMN step TEXT",
)
"""What is behind a failure, how often a job was started again, and what the start of a run is at."""

M0006_TARGETS = (
    """
    CREATE TABLE targets (
        pipeline_id TEXT NOT NULL, version INTEGER NOT NULL, target TEXT NOT NULL,
        PRIMARY KEY (pipeline_id, version, target)
    )
    """,
    "INSERT INTO targets SELECT id, version, '?' FROM pipelines",
)
"""Where each version writes. Those that are there already are read by the next control plane that starts."""

M0007_SECRETS = (
    """
    CREATE TABLE secrets (
        pipeline_id TEXT NOT NULL REFERENCES pipelines (id) ON DELETE CASCADE, name TEXT NOT NULL,
        sealed BLOB NOT NULL, PRIMARY KEY (pipeline_id, name)
    )
    """,
)
"""The secrets that pipelines are deployed with, sealed."""

M0008_SAVEPOINT_ORIGIN = (
    "ALTER TABLE savepoints ADD COLUMN version INTEGER",
    "ALTER TABLE savepoints ADD COLUMN creator TEXT",
    "ALTER TABLE savepoints ADD COLUMN reason TEXT",
    "ALTER TABLE savepoints ADD COLUMN after_stop BOOLEAN NOT NULL DEFAULT 0",
)
"""Which version a savepoint belongs to, who has asked for it and why, and whether it waits for the job to stop."""

M0009_MEANINGS_AND_STOPS = (
    "ALTER TABLE versions ADD COLUMN meaning TEXT",
    "ALTER TABLE pipelines ADD COLUMN stopped_by TEXT",
    "ALTER TABLE pipelines ADD COLUMN stopped_at BIGINT",
)
"""What a version means, whatever its text looks like, and who has asked for a stop."""

M0010_SINKS = (
    "ALTER TABLE checkpoints ADD COLUMN sinks TEXT",
    "ALTER TABLE jobs ADD COLUMN sinks TEXT",
)
"""How far the output of each sink is complete."""

M0011_CERTIFICATES = (
    """
    CREATE TABLE certificates (
        id TEXT PRIMARY KEY, pipeline_id TEXT NOT NULL REFERENCES pipelines (id) ON DELETE CASCADE, version INTEGER,
        lineage TEXT, epoch BIGINT, past BIGINT NOT NULL, complete_until BIGINT NOT NULL, sink TEXT,
        by_time TEXT NOT NULL, dag_id TEXT NOT NULL, run_id TEXT NOT NULL, at BIGINT NOT NULL, voided_at BIGINT
    )
    """,
    "CREATE INDEX certificates_by_pipeline ON certificates (pipeline_id)",
)
"""What DAG runs rely on that have passed a gate."""

M0012_DELETIONS = ("CREATE TABLE deletions (pipeline_id TEXT PRIMARY KEY, asked_at BIGINT NOT NULL)",)
"""Pipelines that are deleted, and whose directories are still to go."""

M0013_NAMED_TOKENS = (
    "ALTER TABLE tokens ADD COLUMN name TEXT",
    "ALTER TABLE tokens ADD COLUMN created_by TEXT",
    "ALTER TABLE tokens ADD COLUMN expires_at BIGINT",
    "ALTER TABLE tokens ADD COLUMN revoked_at BIGINT",
    "CREATE UNIQUE INDEX tokens_by_name ON tokens (name) WHERE revoked_at IS NULL",
    "ALTER TABLE notes ADD COLUMN who TEXT",
)
"""Tokens with a name and an end, and who asked for what."""

M0014_FAILURE_TIMES = ("ALTER TABLE jobs ADD COLUMN failure_times TEXT",)
"""When a job failed of unknown causes: a budget of a window needs more than a count."""

M0015_METRICS = (
    "ALTER TABLE checkpoints ADD COLUMN tables TEXT",
    "ALTER TABLE checkpoints ADD COLUMN phases TEXT",
    "CREATE TABLE job_totals (job_id TEXT PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE, totals TEXT NOT NULL)",
)
"""What an epoch has done with each table, its phases; and what jobs have done in all."""

M0016_CERTIFICATE_OFFSETS = ("ALTER TABLE certificates ADD COLUMN offsets TEXT",)
"""Up to where the input was read that a certificate stands on."""

M0017_SECRETS_SET_AT = ("ALTER TABLE secrets ADD COLUMN set_at BIGINT",)
"""When each secret of a pipeline was set; of those that are there already nobody knows."""

M0018_WIRE_VERSIONS = ("ALTER TABLE runs ADD COLUMN wire INTEGER",)
"""Which version of what drivers say each run speaks; runs of earlier versions do not say."""

M0019_ASKERS = ("ALTER TABLE pipelines ADD COLUMN asked_by TEXT",)
"""Who has asked last for something else of a pipeline: events about what the control plane then does name them."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    M0001_START,
    M0002_ROWS_WAITING,
    M0003_ANSWERS_OF_KEYS,
    M0004_LINEAGES,
    M0005_CAUSES,
    M0006_TARGETS,
    M0007_SECRETS,
    M0008_SAVEPOINT_ORIGIN,
    M0009_MEANINGS_AND_STOPS,
    M0010_SINKS,
    M0011_CERTIFICATES,
    M0012_DELETIONS,
    M0013_NAMED_TOKENS,
    M0014_FAILURE_TIMES,
    M0015_METRICS,
    M0016_CERTIFICATE_OFFSETS,
    M0017_SECRETS_SET_AT,
    M0018_WIRE_VERSIONS,
    M0019_ASKERS,
)
