"""Detect untrusted certificates. The client reports them like unreachable brokers, as a lost connection."""

from __future__ import annotations

from confluent_kafka import KafkaError

HINT = "check ssl.ca, ssl.certificate and ssl.key, and that the broker trusts the authority of that certificate"
_CODES = frozenset({KafkaError._SSL, KafkaError._TRANSPORT})  # noqa: SLF001 - the client's names for its own errors
_SIGNS = ("certificate", "unknown ca", "handshake failure")


def is_distrust(error: KafkaError) -> bool:
    """Whether a broker and the client do not trust each other; false for a broker that hangs up."""
    return error.code() in _CODES and any(sign in error.str() for sign in _SIGNS)
