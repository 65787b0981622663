"""How the database came to be, step by step. A step that was released is never changed."""

from __future__ import annotations

from engine.store.migrations import (
    m0001_start,
    m0002_rows_waiting,
    m0003_answers_of_keys,
    m0004_lineages,
    m0005_causes,
    m0006_targets,
    m0007_secrets,
    m0008_savepoint_origin,
    m0009_meanings_and_stops,
    m0010_sinks,
    m0011_certificates,
    m0012_deletions,
    m0013_named_tokens,
    m0014_failure_times,
    m0015_metrics,
    m0016_certificate_offsets,
    m0017_secrets_set_at,
    m0018_wire_versions,
    m0019_askers,
    m0020_state_rows,
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    m0001_start.STATEMENTS,
    m0002_rows_waiting.STATEMENTS,
    m0003_answers_of_keys.STATEMENTS,
    m0004_lineages.STATEMENTS,
    m0005_causes.STATEMENTS,
    m0006_targets.STATEMENTS,
    m0007_secrets.STATEMENTS,
    m0008_savepoint_origin.STATEMENTS,
    m0009_meanings_and_stops.STATEMENTS,
    m0010_sinks.STATEMENTS,
    m0011_certificates.STATEMENTS,
    m0012_deletions.STATEMENTS,
    m0013_named_tokens.STATEMENTS,
    m0014_failure_times.STATEMENTS,
    m0015_metrics.STATEMENTS,
    m0016_certificate_offsets.STATEMENTS,
    m0017_secrets_set_at.STATEMENTS,
    m0018_wire_versions.STATEMENTS,
    m0019_askers.STATEMENTS,
    m0020_state_rows.STATEMENTS,
)
