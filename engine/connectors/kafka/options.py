"""Connection options of Kafka tables: brokers and login."""

from __future__ import annotations

from typing import Literal

from pydantic import Field as Option
from pydantic import SecretStr, field_validator, model_validator

from engine.connectors.kafka.allowed_client_configs import read_client_configs
from engine.connectors.schema_registry import RegistryOptions

Mechanism = Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]
Protocol = Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]


class KafkaOptions(RegistryOptions):
    """Brokers and login."""

    bootstrap_servers: str = Option(
        description="Addresses of some of the brokers, as comma-separated `host:port` pairs.", min_length=1
    )
    auth_type: Literal["none", "sasl", "aws_msk_iam"] = Option(
        "none",
        alias="auth.type",
        description="How to log in: not at all, with a user and a password (`sasl`), or with AWS credentials "
        "(`aws_msk_iam`, for Amazon MSK), which are looked up where the pipeline runs in the way "
        "AWS's own tools do. `aws_msk_iam` needs the extra `msk`.",
    )
    auth_protocol: Protocol | None = Option(
        None,
        alias="auth.protocol",
        description="Protocol of the connection. The default is SASL_SSL with a login and PLAINTEXT without one.",
    )
    auth_mechanism: Mechanism | None = Option(
        None, alias="auth.mechanism", description="SASL mechanism of the login. The default is PLAIN."
    )
    auth_username: str | None = Option(None, alias="auth.username", description="User who logs in.")
    auth_password: SecretStr | None = Option(None, alias="auth.password", description="Password of that user.")
    auth_region: str | None = Option(
        None, alias="auth.region", description="AWS region of the brokers, for `aws_msk_iam`."
    )
    ssl_ca: str | None = Option(
        None,
        alias="ssl.ca",
        description="Certificates to trust, as PEM text. The default are the machine's own.",
    )
    ssl_certificate: str | None = Option(
        None, alias="ssl.certificate", description="Certificate that the client shows, as PEM text."
    )
    ssl_key: SecretStr | None = Option(
        None, alias="ssl.key", description="Private key of that certificate, as PEM text."
    )
    client_configs: str = Option(
        "",
        description="Further options of the Kafka client, as `name=value,name=value`. Options that could "
        "weaken a guarantee, load code or open files are refused.",
    )

    @field_validator("client_configs")
    @classmethod
    def _are_harmless(cls, value: str) -> str:
        read_client_configs(value)
        return value

    @model_validator(mode="after")
    def _login_is_whole(self) -> KafkaOptions:
        is_sasl, has_user = self.auth_type == "sasl", None not in (self.auth_username, self.auth_password)
        if is_sasl and not has_user:
            raise ValueError("auth.type = 'sasl' needs 'auth.username' and 'auth.password'")
        if not is_sasl and {self.auth_mechanism, self.auth_username, self.auth_password} != {None}:
            raise ValueError("a login needs auth.type = 'sasl'")
        if (self.auth_type == "aws_msk_iam") != (self.auth_region is not None):
            raise ValueError("auth.type = 'aws_msk_iam' and 'auth.region' go together")
        return self

    @model_validator(mode="after")
    def _protocol_fits(self) -> KafkaOptions:
        if self.auth_type == "none" and (self.auth_protocol or "").startswith("SASL"):
            raise ValueError("a login needs auth.type = 'sasl'")
        if self.auth_type != "none" and self.auth_protocol in ("PLAINTEXT", "SSL"):
            raise ValueError(f"a login is not possible with auth.protocol = '{self.auth_protocol}'")
        if (self.ssl_certificate is None) != (self.ssl_key is None):
            raise ValueError("'ssl.certificate' and 'ssl.key' go together")
        return self

    @property
    def protocol(self) -> Protocol:
        """Return the security protocol of the brokers."""
        return self.auth_protocol or ("PLAINTEXT" if self.auth_type == "none" else "SASL_SSL")
