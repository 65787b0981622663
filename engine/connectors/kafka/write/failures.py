"""Translate errors of the Kafka client when records cannot be written."""

# ruff: noqa: SLF001 - the client spells names of its own errors so

from __future__ import annotations

from confluent_kafka import KafkaError, KafkaException

from engine.connectors.kafka.certificate_errors import HINT, is_distrust
from engine.connectors.kafka.client import refused_options
from engine.errors import (
    EngineError,
    MissingTopicError,
    RecordTooLargeError,
    TargetRefusedError,
    TargetUnavailableError,
)

_MISSING = {
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError._UNKNOWN_TOPIC,
    KafkaError._UNKNOWN_PARTITION,
    KafkaError.TOPIC_EXCEPTION,
}
_TOO_LARGE = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE}
_INVALID = {KafkaError.INVALID_RECORD, KafkaError.INVALID_TIMESTAMP}
_REFUSED = {
    KafkaError._AUTHENTICATION,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError.UNSUPPORTED_SASL_MECHANISM,
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    KafkaError.SECURITY_DISABLED,
    KafkaError.POLICY_VIOLATION,
}
_OPTIONS = {KafkaError.INVALID_TRANSACTION_TIMEOUT, KafkaError._INVALID_ARG}
_AWAY = {
    KafkaError._TRANSPORT,
    KafkaError._SSL,
    KafkaError._ALL_BROKERS_DOWN,
    KafkaError._RESOLVE,
    KafkaError._TIMED_OUT,
    KafkaError._MSG_TIMED_OUT,
    KafkaError.REQUEST_TIMED_OUT,
}


def is_refusal(error: KafkaError) -> bool:
    """Whether a broker refuses the client's login or its requests."""
    return error.code() in _REFUSED or is_distrust(error)


def is_worth_another_try(wrong: KafkaException) -> bool:
    """Whether a new producer may succeed immediately after this one has failed."""
    code = wrong.args[0].code()
    return code not in _MISSING | _TOO_LARGE | _INVALID | _REFUSED | _AWAY | _OPTIONS


def write_failure(wrong: KafkaException, topic: str) -> EngineError:
    """Return the error for the user."""
    error: KafkaError = wrong.args[0]
    code, reason = error.code(), error.str()
    if code in _MISSING:
        return MissingTopicError(
            f"there is no topic {topic!r}: {reason}", hint="create it, or check the option 'topic'; then start again"
        )
    if code in _TOO_LARGE:
        return RecordTooLargeError(
            f"a record is larger than topic {topic!r} accepts: {reason}",
            hint="raise 'max.message.bytes' of the topic and 'message.max.bytes' in client_configs, or have bad_data = "
            "'drop' or 'dead_letter' leave out what is larger than 'message.max.bytes'",
        )
    if code in _INVALID:
        return TargetRefusedError(
            f"topic {topic!r} does not accept a record: {reason}",
            hint="check whether its timestamp is further in the future than 'message.timestamp.after.max.ms' of the "
            "topic allows (name another column with 'sink.timestamp_field'), or the topic is compacted and the record "
            "has no key",
        )
    if code in _REFUSED:
        return TargetRefusedError(
            f"Kafka refuses to let this job write to {topic!r}: {reason}",
            hint="check user and password; besides Write on the topic, exactly once needs Write and Describe on the "
            "transactional ids, and Read on the groups, that begin with 'sink.transactional_id_prefix'",
        )
    if is_distrust(error):
        return TargetRefusedError(f"Kafka and this job do not trust each other: {reason}", hint=HINT)
    if code == KafkaError._INVALID_ARG:
        return refused_options(error)
    if code == KafkaError.INVALID_TRANSACTION_TIMEOUT:
        return TargetRefusedError(
            f"the broker does not allow transactions as long as 'sink.transaction_timeout': {reason}",
            hint="lower the option, or raise the broker's 'transaction.max.timeout.ms'",
        )
    return TargetUnavailableError(
        f"Kafka did not accept the records for {topic!r}: {reason}",
        hint="check that it is up and can be reached; nothing is lost, a restart writes what is missing",
    )
