"""How a table connects to Kafka: which brokers, and how to log in."""

from __future__ import annotations

from typing import Literal

from pydantic import Field as Option
from pydantic import SecretStr, field_validator, model_validator

from engine.connectors.kafka.client_configs import read_client_configs
from engine.connectors.schema_registry import RegistryOptions

Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]


class KafkaOptions(RegistryOptions):
    """Which brokers, and who asks them."""

    bootstrap_servers: str = Option(description="Some of the brokers, `host:port`, comma-separated.", min_length=1)
    auth_type: Literal["none", "sasl", "aws_msk_iam"] = Option(
        "none",
        alias="auth.type",
        description="Whether the brokers want a user and a password, or, as those of Amazon MSK, somebody whom AWS "
        "knows: by its usual chain of credentials, wherever the pipeline runs. That needs the extra `msk`.",
    )
    auth_protocol: Protocol | None = Option(
        None,
        alias="auth.protocol",
        description="How to talk to them; without it SASL_SSL with a login, and PLAINTEXT without one.",
    )
    auth_mechanism: Mechanism | None = Option(
        None, alias="auth.mechanism", description="How the login is spoken; without it PLAIN."
    )
    auth_username: str | None = Option(None, alias="auth.username", description="Who logs in.")
    auth_password: SecretStr | None = Option(None, alias="auth.password", description="With which password.")
    auth_region: str | None = Option(
        None, alias="auth.region", description="The AWS region of the brokers, for `aws_msk_iam`."
    )
    ssl_ca: str | None = Option(
        None, alias="ssl.ca", description="Certificates to trust, as PEM text; without it, those of the machine."
    )
    ssl_certificate: str | None = Option(
        None, alias="ssl.certificate", description="The client's own certificate, as PEM text."
    )
    ssl_key: SecretStr | None = Option(None, alias="ssl.key", description="The key of that certificate, as PEM text.")
    client_configs: str = Option(
        "",
        description="Further options of the client, `name=value,name=value`. Only those that cannot change what is "
        "guaranteed, load code or open files are taken.",
    )

    @field_validator("client_configs")
    @classmethod
    def _are_harmless(cls, value: str) -> str:
        read_client_configs(value)
        return value

    @model_validator(mode="after")
    def _login_is_whole(self) -> KafkaOptions:
        login = (self.auth_mechanism, self.auth_username, self.auth_password)
        if self.auth_type == "sasl":
            if self.auth_username is None or self.auth_password is None:
                raise ValueError("auth.type = 'sasl' needs 'auth.username' and 'auth.password'")
        elif any(part is not None for part in login):
            raise ValueError("a login needs auth.type = 'sasl'")
        if (self.auth_type == "aws_msk_iam") != (self.auth_region is not None):
            raise ValueError("auth.type = 'aws_msk_iam' and 'auth.region' go together")
        if self.auth_type == "none" and (self.auth_protocol or "").startswith("SASL"):
            raise ValueError("a login needs auth.type = 'sasl'")
        if self.auth_type != "none" and self.auth_protocol in ("PLAINTEXT", "SSL"):
            raise ValueError(f"a login cannot be spoken over auth.protocol = '{self.auth_protocol}'")
        if (self.ssl_certificate is None) != (self.ssl_key is None):
            raise ValueError("'ssl.certificate' and 'ssl.key' go together")
        return self

    @property
    def protocol(self) -> Protocol:
        """How to talk to the brokers."""
        return self.auth_protocol or ("PLAINTEXT" if self.auth_type == "none" else "SASL_SSL")
