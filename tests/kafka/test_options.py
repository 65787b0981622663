"""Options of a connection: what a script may say, and what the client is told."""

from __future__ import annotations

import base64
import json
import os
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from confluent_kafka import KafkaError

from engine.connectors.kafka.client import client_config, explain
from engine.connectors.kafka.options import KafkaOptions
from engine.connectors.options import parse_options
from engine.connectors.secret_values import fill_in
from engine.errors import OptionError, OptionValueError, ScriptRefused, SourceRefusedError, TargetUnavailableError
from tests.connectors.tables import given

pytestmark = pytest.mark.unit

LOGIN = {"auth__type": "sasl", "auth__username": "me", "auth__password": "{{ secret:kafka_password }}"}
MSK = {"auth__type": "aws_msk_iam", "auth__region": "eu-west-1"}


def options(**more: str) -> KafkaOptions:
    return parse_options(KafkaOptions, given(bootstrap_servers="one:9092,two:9092", **more), table="t")


def refusal(**more: str) -> OptionError:
    with pytest.raises(ScriptRefused) as refused:
        options(**more)
    (complaint,) = refused.value.complaints
    assert isinstance(complaint, OptionError)
    return complaint


def test_a_connection_needs_nothing_but_brokers() -> None:
    config = client_config(options(), enable_auto_commit=False)

    assert config["bootstrap.servers"] == "one:9092,two:9092"
    assert config["security.protocol"] == "PLAINTEXT"
    assert config["enable.auto.commit"] is False


def test_a_login_is_encrypted_unless_it_is_said_otherwise() -> None:
    config = client_config(fill_in(options(**LOGIN), {"ARROYO_SECRET_kafka_password": "a,b=c"}))

    assert config["security.protocol"] == "SASL_SSL"
    assert (config["sasl.mechanism"], config["sasl.username"], config["sasl.password"]) == ("PLAIN", "me", "a,b=c")
    assert client_config(options(**LOGIN, auth__protocol="SASL_PLAINTEXT"))["security.protocol"] == "SASL_PLAINTEXT"


def test_certificates_are_texts_and_never_files() -> None:
    config = client_config(options(auth__protocol="SSL", ssl__ca="CA", ssl__certificate="C", ssl__key="K"))

    assert (config["ssl.ca.pem"], config["ssl.certificate.pem"], config["ssl.key.pem"]) == ("CA", "C", "K")


def test_amazons_brokers_get_a_token_that_is_signed_for_their_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    config = client_config(options(**MSK))

    sign_in = config["oauth_cb"]
    assert callable(sign_in)
    token, ends = sign_in("")
    request = urlsplit(base64.urlsafe_b64decode(token + "===").decode())

    assert (config["security.protocol"], config["sasl.mechanism"]) == ("SASL_SSL", "OAUTHBEARER")
    assert request.hostname == "kafka.eu-west-1.amazonaws.com"
    assert parse_qs(request.query)["X-Amz-Credential"][0].startswith("AKIAEXAMPLE/")
    assert 0 < ends - time.time() <= 900


def test_a_token_needs_credentials_of_aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")

    with pytest.raises(OptionValueError, match="finds no AWS credentials"):
        client_config(options(**MSK))


def test_passwords_are_not_shown() -> None:
    shown = options(**LOGIN | {"auth__password": "hush"}, ssl__certificate="C", ssl__key="hush-hush")

    assert "hush" not in f"{shown!r} {json.dumps(shown.model_dump(mode='json'))}"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"auth__type": "sasl"}, "needs 'auth.username' and 'auth.password'"),
        ({**LOGIN, "auth__protocol": "SSL"}, "is not possible with"),
        ({"auth__username": "me"}, "a login needs auth.type = 'sasl'"),
        ({"auth__protocol": "SASL_SSL"}, "a login needs auth.type = 'sasl'"),
        ({"auth__type": "aws_msk_iam"}, "go together"),
        ({"auth__region": "eu-west-1"}, "go together"),
        ({**MSK, "auth__username": "me"}, "a login needs auth.type = 'sasl'"),
        ({**MSK, "auth__protocol": "SSL"}, "is not possible with"),
        ({"ssl__key": "K"}, "go together"),
        ({"client_configs": "plugin.library.paths=/tmp/x"}, "'plugin.library.paths', which cannot be set in a script"),
        ({"client_configs": "linger.ms=5,Debug=all"}, "'Debug', which cannot be set in a script"),
        ({"client_configs": "transactional.id=x"}, "'transactional.id', which cannot be set in a script"),
        ({"client_configs": "enable.idempotence=false"}, "'enable.idempotence', which cannot be set in a script"),
        ({"client_configs": "sasl.oauthbearer.token.endpoint.url=http://x"}, "cannot be set in a script"),
        ({"client_configs": "ssl.engine.location=/x"}, "cannot be set in a script"),
        ({"client_configs": "ssl.ca.location=/etc/passwd"}, "cannot be set in a script"),
        ({"client_configs": "acks=0"}, "cannot be set in a script"),
        ({"client_configs": "isolation.level=read_uncommitted"}, "cannot be set in a script"),
        ({"client_configs": "linger.ms"}, "'linger.ms', which is not written as name=value"),
        ({"client_configs": "linger.ms=1,linger.ms=2"}, "names 'linger.ms' twice"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_contradictory_kafka_options_are_refused(more: dict[str, str], says: str) -> None:
    complaint = refusal(**more)

    assert complaint.code == "option.bad_value"
    assert says in complaint.message


def test_options_that_tune_reach_the_client() -> None:
    config = client_config(options(client_configs=" linger.ms = 5, fetch.min.bytes=1 ,"))

    assert (config["linger.ms"], config["fetch.min.bytes"]) == ("5", "1")


def test_an_error_of_the_client_says_which_brokers_and_what_to_look_at() -> None:
    down = explain(options(), KafkaError(KafkaError._TRANSPORT), TargetUnavailableError)
    login = explain(options(), KafkaError(KafkaError._AUTHENTICATION), TargetUnavailableError)

    assert "one:9092,two:9092" in down.message
    assert "can be reached" in (down.hint or "")
    assert "auth.password" in (login.hint or "")
    assert (type(down), type(login)) == (TargetUnavailableError, SourceRefusedError)
