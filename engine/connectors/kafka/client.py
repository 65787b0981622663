"""Kafka clients: their options, and the translation of their errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias

from engine.connectors.kafka.allowed_client_configs import read_client_configs
from engine.connectors.kafka.options import KafkaOptions
from engine.errors import EngineError, MissingPackageError, OptionValueError, SourceRefusedError

try:
    from confluent_kafka import KafkaError, KafkaException
except ImportError as missing:
    raise MissingPackageError(
        "the connector 'kafka' needs the Python package confluent-kafka",
        hint="pip install 'airflow-provider-arroyo[kafka]'",
    ) from missing

from engine.connectors.kafka.certificate_errors import HINT, is_distrust

SignIn: TypeAlias = "Callable[[str], tuple[str, float]]"
ClientConfig: TypeAlias = "dict[str, str | int | float | bool | SignIn]"


def client_config(options: KafkaOptions, **more: str | int | float | bool) -> ClientConfig:
    """Return the options of a client. `more` are ours, with underscores for dots; scripts cannot change them."""
    config: ClientConfig = {
        "client.id": "arroyo",
        "reconnect.backoff.max.ms": 1000,
        **read_client_configs(options.client_configs),
        "bootstrap.servers": options.bootstrap_servers,
        "security.protocol": options.protocol,
        # without it the client writes every lost connection to stderr, over and over
        "log_level": 0,
    }
    config |= _login(options)
    if options.ssl_ca is not None:
        config["ssl.ca.pem"] = options.ssl_ca
    if options.ssl_certificate is not None and options.ssl_key is not None:
        config["ssl.certificate.pem"] = options.ssl_certificate
        config["ssl.key.pem"] = options.ssl_key.get_secret_value()
    return config | {name.replace("_", "."): value for name, value in more.items()}


def _login(options: KafkaOptions) -> ClientConfig:
    match options.auth_type:
        case "sasl":
            assert options.auth_username is not None
            assert options.auth_password is not None
            return {
                "sasl.mechanism": options.auth_mechanism or "PLAIN",
                "sasl.username": options.auth_username,
                "sasl.password": options.auth_password.get_secret_value(),
            }
        case "aws_msk_iam":
            from engine.connectors.kafka import msk  # noqa: PLC0415 - an extra of its own

            assert options.auth_region is not None
            msk.sign_in(options.auth_region)  # the client would only say that it waited in vain
            return {"sasl.mechanism": "OAUTHBEARER", "oauth_cb": partial(msk.sign_in, options.auth_region)}
    return {}


@contextmanager
def errors_explained(
    options: KafkaOptions, kind: type[EngineError], client_errors: Sequence[KafkaError] = ()
) -> Iterator[None]:
    """Turn an error of the client in the context into one of ours, of `kind` unless the login failed; it contains no
    password. A client without a login reports only that it waited in vain, so `client_errors` has the errors that its
    `error_cb` received."""
    try:
        yield
    except KafkaException as wrong:
        refused = [error for error in client_errors if error.code() in _LOGIN or is_distrust(error)]
        raise explain(options, refused[-1] if refused else wrong.args[0], kind) from wrong


def explain(options: KafkaOptions, error: KafkaError, kind: type[EngineError]) -> EngineError:
    """Return the client's error as one of ours: a wrong option, a refusal, or of `kind`."""
    code = error.code()
    if code == KafkaError._INVALID_ARG:  # noqa: SLF001 - the client's name for it
        return refused_options(error)
    message = f"Kafka at {options.bootstrap_servers}: {error.str()}"
    if is_distrust(error):
        return SourceRefusedError(message, hint=HINT)
    if code in _LOGIN and options.auth_type == "aws_msk_iam":
        hint = "check which AWS credentials the pipeline has, and whether they may connect to this cluster"
        return SourceRefusedError(message, hint=hint)
    if code in _LOGIN:
        hint = "check auth.mechanism, auth.username and auth.password, and the permissions of this user"
        return SourceRefusedError(message, hint=hint)
    hint = "check that it is up and can be reached from here, and that auth.protocol and auth.type are right"
    return kind(message, hint=hint)


def refused_options(error: KafkaError) -> OptionValueError:
    """Return the error for options that the script accepts and the client does not, such as unreadable certificates."""
    return OptionValueError(
        f"the Kafka client rejects its options: {error.str()}", hint="check the options ssl.*, and client_configs"
    )


_LOGIN = frozenset(
    {
        KafkaError._AUTHENTICATION,  # noqa: SLF001 - the client's names for its own errors
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)
