"""What has changed, one row for each pipeline: whoever reads changes goes on after a restart where it was.

Triggers keep it, so that no write can be left out. A change moves its pipeline's row to the end; a deleted pipeline
leaves one, of which the newest thousand stay.
"""

from __future__ import annotations

_NOTED = """
    CREATE TRIGGER changes_{name} AFTER {moment} WHEN EXISTS (SELECT 1 FROM pipelines WHERE id = {id}) BEGIN
        DELETE FROM changes WHERE pipeline_id = {id};
        INSERT INTO changes (pipeline_id, name, deleted) SELECT id, name, 0 FROM pipelines WHERE id = {id};
    END
"""
"""A trigger by which a pipeline counts as changed; not one that is deleted, with which its other rows go."""

STATEMENTS = (
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
