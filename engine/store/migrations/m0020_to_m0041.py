"""Migrations 20 to 41, oldest first. They are never changed; a new one is a module of its own until a release."""

from __future__ import annotations

M0020_STATE_ROWS = ("ALTER TABLE checkpoints ADD COLUMN state_rows TEXT",)
"""How many rows an epoch leaves in the state, where they are counted."""

M0021_UPGRADES = (
    "ALTER TABLE versions ADD COLUMN upgrade TEXT",
    "ALTER TABLE savepoints ADD COLUMN before_version INTEGER",
)
"""How a version takes over the state of the one before it, and the savepoint that is taken for it."""

M0022_LASTING_SAVEPOINTS = (
    "ALTER TABLE savepoints ADD COLUMN pinned BOOLEAN NOT NULL DEFAULT 0",
    "ALTER TABLE savepoints ADD COLUMN verified_at BIGINT",
    "ALTER TABLE savepoints ADD COLUMN proven_at BIGINT",
    "ALTER TABLE savepoints ADD COLUMN damage TEXT",
    """
    CREATE TABLE savepoint_rules (
        pipeline_id TEXT PRIMARY KEY REFERENCES pipelines (id) ON DELETE CASCADE,
        retention TEXT, schedule TEXT, due_at BIGINT, last_at BIGINT, last_outcome TEXT
    )
    """,
)
"""What is known of a savepoint after it was taken, and what a pipeline's savepoints are kept and taken by."""

M0023_ROLLBACKS = (
    "ALTER TABLE pipelines ADD COLUMN restore_save_as TEXT",
    "ALTER TABLE pipelines ADD COLUMN restore_of_pipeline TEXT",
)
"""The savepoint that is taken of a state before another one takes its place, and the pipeline that this one is of."""

M0024_MOVES = (
    """
    CREATE TABLE moves (
        pipeline_id TEXT PRIMARY KEY REFERENCES pipelines (id) ON DELETE CASCADE,
        move TEXT NOT NULL, step TEXT NOT NULL, place TEXT NOT NULL, peer TEXT NOT NULL,
        runs BOOLEAN NOT NULL, key TEXT NOT NULL, committed BIGINT, planned BIGINT, began_at BIGINT NOT NULL
    )
    """,
)
"""Pipelines that go to another control plane, and that have come from one."""

_NOTED = """
    CREATE TRIGGER changes_{name} AFTER {moment} WHEN EXISTS (SELECT 1 FROM pipelines WHERE id = {id}) BEGIN
        DELETE FROM changes WHERE pipeline_id = {id};
        INSERT INTO changes (pipeline_id, name, deleted) SELECT id, name, 0 FROM pipelines WHERE id = {id};
    END
"""

M0025_CHANGES = (
    """
    CREATE TABLE changes (
        number INTEGER PRIMARY KEY AUTOINCREMENT, pipeline_id TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
        deleted BOOLEAN NOT NULL
    )
    """,
    "CREATE TABLE change_log (id TEXT NOT NULL, forgotten INTEGER NOT NULL)",
    "INSERT INTO change_log VALUES (lower(hex(randomblob(8))), 0)",
    "INSERT INTO changes (pipeline_id, name, deleted) SELECT id, name, 0 FROM pipelines ORDER BY created_at, id",
    _NOTED.format(name="of_pipelines", moment="UPDATE ON pipelines", id="NEW.id"),
    _NOTED.format(name="of_new_jobs", moment="INSERT ON jobs", id="NEW.pipeline_id"),
    _NOTED.format(name="of_jobs", moment="UPDATE ON jobs", id="NEW.pipeline_id"),
    _NOTED.format(name="of_runs", moment="UPDATE ON runs", id="NEW.pipeline_id"),
    _NOTED.format(name="of_new_savepoints", moment="INSERT ON savepoints", id="NEW.pipeline_id"),
    _NOTED.format(name="of_savepoints", moment="UPDATE ON savepoints", id="NEW.pipeline_id"),
    _NOTED.format(name="of_old_savepoints", moment="DELETE ON savepoints", id="OLD.pipeline_id"),
    """
    CREATE TRIGGER changes_of_deleted_pipelines AFTER DELETE ON pipelines BEGIN
        DELETE FROM changes WHERE pipeline_id = OLD.id;
        INSERT INTO changes (pipeline_id, name, deleted) VALUES (OLD.id, OLD.name, 1);
        UPDATE change_log SET forgotten = max(forgotten, coalesce(
            (SELECT number FROM changes WHERE deleted ORDER BY number DESC LIMIT 1 OFFSET 1000), 0));
        DELETE FROM changes WHERE deleted AND number <= (SELECT forgotten FROM change_log);
    END
    """,
)
"""What has changed, one row for each pipeline: whoever reads changes goes on after a restart where it was. Triggers
keep it, so that no write can be left out. A change moves its pipeline's row to the end; a deleted pipeline leaves
one, of which the newest thousand stay."""

M0026_REPROCESSINGS = (
    """
    CREATE TABLE reprocessings (
        copy_id TEXT PRIMARY KEY REFERENCES pipelines (id) ON DELETE CASCADE,
        origin_id TEXT NOT NULL, step TEXT NOT NULL, since BIGINT NOT NULL, origin_version INTEGER,
        copy_version INTEGER, savepoint_id TEXT, new_version INTEGER, told TEXT, asked_by TEXT
    )
    """,
    "CREATE INDEX reprocessings_of ON reprocessings (origin_id)",
)
"""Pipelines that read the input of another one again, and how far each is in taking its place."""

M0027_LEFT_SESSIONS = ("CREATE TABLE left_sessions (seal_hash TEXT PRIMARY KEY, until BIGINT NOT NULL)",)
"""Sessions of browsers that were left: their cookies let nobody in again, after a restart either."""

M0028_PARTITIONS = (
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
"""A consumer of a pipeline's complete time buckets, and what each was told. `is_newest` is what was told last of a
bucket, `void_since` the number of what takes it back."""

M0029_REHEARSALS = (
    """
    CREATE TABLE rehearsals (
        id TEXT PRIMARY KEY, pipeline_id TEXT NOT NULL REFERENCES pipelines (id) ON DELETE CASCADE,
        state TEXT NOT NULL, change TEXT NOT NULL, plan_id TEXT NOT NULL, version INTEGER, savepoint_id TEXT,
        creator TEXT, created_at BIGINT NOT NULL, time_limit BIGINT NOT NULL, started_at BIGINT, ended_at BIGINT,
        report TEXT, shown TEXT, code TEXT, message TEXT, hint TEXT
    )
    """,
    "CREATE INDEX rehearsals_of ON rehearsals (pipeline_id)",
    "CREATE INDEX rehearsals_open ON rehearsals (state) WHERE state IN ('waiting', 'running')",
)
"""Rehearsals of new queries, and what came of them."""

M0030_PREVIEWS = (
    """
    CREATE TABLE previews (
        pipeline_id TEXT PRIMARY KEY REFERENCES pipelines (id) ON DELETE CASCADE, until BIGINT NOT NULL
    )
    """,
)
"""Pipelines that are previews, and until when each is kept."""

M0031_LATE_BATCHES = (
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
"""What came late in epochs, as long as a consumer of partitions wants to hear of it, and which of it each has heard."""

M0032_PARTITION_PUSHES = (
    """
    CREATE TABLE partition_pushes (
        consumer_id TEXT PRIMARY KEY REFERENCES partition_consumers (id) ON DELETE CASCADE,
        url TEXT NOT NULL, asset TEXT NOT NULL, with_keys BOOLEAN NOT NULL, username TEXT, password TEXT, token TEXT,
        failures BIGINT NOT NULL, error TEXT, error_code TEXT, failing_since BIGINT, due BIGINT, pushed_at BIGINT,
        doubt_of BIGINT, doubt_after BIGINT, doubt_since BIGINT
    )
    """,
)
"""Where the deliveries of consumers of partitions are pushed to, and how that goes. Of credentials only the names of
secrets are kept."""

M0033_STORED_OBJECTS = (
    """
    CREATE TABLE connection_profiles (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, key TEXT NOT NULL UNIQUE, connector TEXT NOT NULL,
        options TEXT NOT NULL, created_at BIGINT NOT NULL, created_by TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE connection_tables (
        id TEXT PRIMARY KEY, name TEXT NOT NULL, key TEXT NOT NULL UNIQUE, connector TEXT NOT NULL,
        profile_id TEXT REFERENCES connection_profiles (id), options TEXT NOT NULL, columns TEXT NOT NULL,
        created_at BIGINT NOT NULL, created_by TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE stored_functions (
        id TEXT PRIMARY KEY, prefix TEXT NOT NULL, name TEXT NOT NULL UNIQUE, names TEXT NOT NULL,
        definition TEXT NOT NULL, description TEXT NOT NULL, created_at BIGINT NOT NULL, created_by TEXT NOT NULL
    )
    """,
    """
    CREATE TABLE stored_secrets (
        owner_id TEXT NOT NULL, name TEXT PRIMARY KEY, sealed BLOB NOT NULL
    )
    """,
)
"""Connections, tables and functions that are kept for all pipelines, and the secrets of connections and tables."""

M0034_JOINED_LATE_BATCHES = (
    "ALTER TABLE late_batches ADD COLUMN first_epoch BIGINT NOT NULL DEFAULT 0",
    "UPDATE late_batches SET first_epoch = epoch",
)
"""What came late in several epochs becomes one batch when nobody asks: of which epoch the first of it is."""

M0035_TOLD_RUNS = (
    """
    CREATE TABLE told_runs (
        job_id TEXT PRIMARY KEY, pipeline_id TEXT NOT NULL, name TEXT NOT NULL, generation INTEGER NOT NULL,
        version INTEGER NOT NULL, launched_at BIGINT NOT NULL, stage TEXT NOT NULL, epoch BIGINT, told_at BIGINT,
        certificate BIGINT NOT NULL, certificate_at BIGINT
    )
    """,
    "CREATE INDEX told_runs_by_pipeline ON told_runs (pipeline_id)",
)
"""What OpenLineage was told of the runs of jobs. Rows outlive pipelines: the end of a run is told all the same."""

M0036_NEWEST_PUSHES = (
    "ALTER TABLE partition_pushes ADD COLUMN newest BIGINT",
    "ALTER TABLE partition_pushes ADD COLUMN is_off BOOLEAN NOT NULL DEFAULT 0",
)
"""Which event of Airflow's a push has made last, and that one which is off is remembered."""

M0037_ASKING_RUNS = (
    """
    CREATE TABLE asking_runs (
        job_id TEXT NOT NULL, asked_at BIGINT NOT NULL, namespace TEXT, name TEXT, run_id TEXT,
        PRIMARY KEY (job_id, asked_at)
    )
    """,
)
"""The runs of OpenLineage that have asked for deployments."""

M0038_OBJECTS = ("ALTER TABLE versions ADD COLUMN objects TEXT",)
"""What can read the objects that the state of a version keeps."""

M0039_ROOTS_OF_ASKING_RUNS = (
    "ALTER TABLE asking_runs ADD COLUMN root_namespace TEXT",
    "ALTER TABLE asking_runs ADD COLUMN root_name TEXT",
    "ALTER TABLE asking_runs ADD COLUMN root_run_id TEXT",
)
"""What the runs of OpenLineage are a part of that have asked for what jobs do."""

M0040_TAGS = ("ALTER TABLE pipelines ADD COLUMN tags TEXT",)
"""Tags of pipelines, by which a list is filtered."""

M0041_REQUESTED_BY = ("ALTER TABLE notes ADD COLUMN requested_by TEXT",)
"""On whose behalf a token asked for what an event tells, such as an Airflow task."""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    M0020_STATE_ROWS,
    M0021_UPGRADES,
    M0022_LASTING_SAVEPOINTS,
    M0023_ROLLBACKS,
    M0024_MOVES,
    M0025_CHANGES,
    M0026_REPROCESSINGS,
    M0027_LEFT_SESSIONS,
    M0028_PARTITIONS,
    M0029_REHEARSALS,
    M0030_PREVIEWS,
    M0031_LATE_BATCHES,
    M0032_PARTITION_PUSHES,
    M0033_STORED_OBJECTS,
    M0034_JOINED_LATE_BATCHES,
    M0035_TOLD_RUNS,
    M0036_NEWEST_PUSHES,
    M0037_ASKING_RUNS,
    M0038_OBJECTS,
    M0039_ROOTS_OF_ASKING_RUNS,
    M0040_TAGS,
    M0041_REQUESTED_BY,
)
