"""Connections, tables and functions that are kept for all pipelines, and the secrets of connections and tables."""

from __future__ import annotations

STATEMENTS = (
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
