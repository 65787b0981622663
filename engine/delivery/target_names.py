"""Names of targets that a sink must have for itself, and a check whether two targets overlap.

    a writes file:///out/orders          b writes file:///out/orders              the same target
    a writes file:///out                 b writes file:///out/2026                b's files are in a's directory
    a writes file:///out/orders          b writes file:///out/orders-2026         different targets
    a writes kafka://k:9092/t/arroyo.    b writes kafka://k:9092/t/billing.       one topic, different transactions

Names depend on options only, and not on any disk or server, so a script can be refused before it runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote, urlsplit

_KAFKA_PORT = 9092


def file_name(path: Path) -> str:
    """Return the canonical name of a file or directory of this machine. POSIX distinguishes two leading slashes; here
    they count as one."""
    return "file:///" + os.path.normpath(path.absolute()).lstrip("/")


def bucket_name(bucket: str, prefix: str, endpoint: str | None) -> str:
    """Return the canonical name of the keys of a bucket that begin with a prefix."""
    server = ""
    if endpoint:
        parts = urlsplit(endpoint)
        server = f"{parts.scheme}://{parts.netloc}{parts.path}".lower().rstrip("/")
    start = f"s3::{server}" if server else "s3:/"
    return f"{start}/{bucket}/{prefix}".rstrip("/")


def topic_name(brokers: str, topic: str, transactions: str) -> str:
    """Return the canonical name of the transactions of one prefix into a topic, whichever of its brokers are named in
    whatever order."""
    servers = sorted({_with_port(broker.strip().lower()) for broker in brokers.split(",") if broker.strip()})
    return f"kafka://{','.join(servers)}/{quote(topic, safe='')}/{quote(transactions, safe='')}"


def topic_place(brokers: str, topic: str) -> str:
    """Return the URI of a topic: that of the first of its brokers by name."""
    server = min((_with_port(broker.strip().lower()) for broker in brokers.split(",") if broker.strip()), default="")
    return f"kafka://{server}/{quote(topic.strip(), safe='')}"


def collide(name: str, other: str) -> bool:
    """Whether two names mean the same location, or one location is within the other."""
    return name == other or name.startswith(f"{other}/") or other.startswith(f"{name}/")


def first_collision(names: Iterable[str], others: Iterable[str]) -> tuple[str, str] | None:
    """Return the first two names, one of each collection, that collide."""
    candidates = list(others)
    return next(((name, other) for name in names for other in candidates if collide(name, other)), None)


def _with_port(broker: str) -> str:
    return broker if ":" in broker.rpartition("]")[2] else f"{broker}:{_KAFKA_PORT}"
