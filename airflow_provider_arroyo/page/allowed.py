"""Requests to a control plane that are allowed through Airflow. Tokens, sessions, requests of drivers, and moves
between control planes are not."""

from __future__ import annotations

from enum import Enum
from urllib.parse import quote

REST = "**"
"""Last part of a pattern: matches any rest, also an empty one."""


class Right(Enum):
    """Permission on the Airflow connection that a request needs, by the HTTP method that Airflow checks."""

    LOOK = "GET"
    CHANGE = "PUT"


_LOOKS = (
    "ping",
    "connectors",
    "completions",
    "connection_profiles/**",
    "connection_tables/**",
    "udfs",
    "jobs",
    "events",
    "changes/**",
    "pipelines",
    "pipelines/*",
    "pipelines/*/jobs/**",
    "pipelines/*/certificates",
    "pipelines/*/events",
    "pipelines/*/logs",
    "pipelines/*/output",
    "pipelines/*/state/**",
    "pipelines/*/written/**",
    "pipelines/*/rehearsals/**",
    "pipelines/*/savepoints/**",
    "pipelines/*/savepoint-retention",
    "pipelines/*/savepoint-schedule",
    "savepoint-schedules",
    "storage",
)
# `pipelines/*/watermark` is not among them: it stores a certificate for any request that names a DAG run.
_CHANGES = (
    "connection_profiles/**",
    "connection_tables/**",
    "udfs/**",
    "pipelines",
    "pipelines/validate_query",
    "pipelines/preview",
    "pipelines/by-name/*",
    "pipelines/*",
    "pipelines/*/restart",
    "pipelines/*/restore",
    "pipelines/*/rollback",
    "pipelines/*/plan",
    "pipelines/*/rehearsals/**",
    "pipelines/*/savepoints",
    "pipelines/*/savepoints/*",
    "pipelines/*/savepoints/*/verify",
    "pipelines/*/savepoint-retention",
    "pipelines/*/savepoint-schedule",
    "savepoints/*/fork",
)
_CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


def right_for(method: str, path: str) -> Right | None:
    """Return the permission that a request below the API needs; None for a request that is not passed on."""
    segments = path.split("/")
    if not all(map(_is_plain, segments)):
        return None
    if method == "GET" and any(_fits(segments, pattern) for pattern in _LOOKS):
        return Right.LOOK
    if method in _CHANGING and any(_fits(segments, pattern) for pattern in _CHANGES):
        return Right.CHANGE
    return None


def quoted(path: str) -> str:
    """Return an accepted path in its quoted form: each of its segments stays one segment."""
    return "/".join(quote(segment, safe="") for segment in path.split("/"))


def _is_plain(segment: str) -> bool:
    """Whether it is a plain name, which cannot lead elsewhere."""
    return segment not in {"", ".", ".."} and "\\" not in segment and segment.isprintable()


def _fits(segments: list[str], pattern: str) -> bool:
    *fixed, last = pattern.split("/")
    if last != REST:
        fixed.append(last)
    is_long_enough = len(segments) >= len(fixed) if last == REST else len(segments) == len(fixed)
    return is_long_enough and all(want in ("*", have) for want, have in zip(fixed, segments, strict=False))
