"""Tell mistakes in a connection from outages: a mistake fails a task at once, an outage is retried.

symptom                                      error                                 field to change
refused or dropped connection                http.unreachable, retried             none: the control plane is down
https, but the server speaks plain HTTP      connection.scheme                     Host or Scheme
http, but the server speaks TLS              connection.scheme                     Host or Scheme
untrusted certificate                        connection.certificate                Verify TLS
no HTTP, or another program's response       connection.other_server               Host and Port
401                                          auth.denied                           Token
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

import httpx

from airflow_provider_arroyo.endpoint import DEFAULT_PORT, Endpoint
from airflow_provider_arroyo.errors import (
    ArroyoError,
    BadConnectionError,
    LoginError,
    OtherServerError,
    RefusedError,
    UnreachableError,
)
from airflow_provider_arroyo.requests import ApiCall

_NOT_TLS = frozenset({"WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST", "UNKNOWN_PROTOCOL"})
"""OpenSSL's errors for a response that is not TLS."""
_PROBE_SECONDS = 3.0


def unanswered(call: ApiCall[Any], endpoint: Endpoint, error: httpx.TransportError) -> ArroyoError:
    """Return the error for a request without a response. It may connect once more, to check whether the server speaks
    TLS."""
    for cause in _causes(error):
        match cause:
            case ssl.SSLCertVerificationError():
                return _bad_certificate(endpoint, cause)
            case ssl.SSLError(reason=reason) if reason in _NOT_TLS:
                return _wrong_scheme(endpoint, spoken="http")
    match error:
        case httpx.RemoteProtocolError() | httpx.ReadError() if not endpoint.is_encrypted and speaks_tls(endpoint.url):
            return _wrong_scheme(endpoint, spoken="https")
        case httpx.RemoteProtocolError() if "illegal" in str(error):
            return other_server(endpoint, None)
    return UnreachableError(
        f"no control plane answers at {endpoint.shown_url}: {call.method} {call.path}: {type(error).__name__}: {error}",
        hint=f"See that it runs, and that host and port of {endpoint.named} are its address.",
    )


def other_server(endpoint: Endpoint, status: int | None) -> OtherServerError:
    """Return the error for an answer that is no control plane's; without a status it was not HTTP."""
    answer = "it does not speak HTTP" if status is None else f"it answers {_spelled(status)}"
    return OtherServerError(
        f"{endpoint.named}: the server at {endpoint.shown_url} is not a control plane: {answer}",
        code="connection.other_server",
        status=status or 0,
        hint=f"Set host and port of {endpoint.named} to those of the control plane, which listens on port "
        f"{DEFAULT_PORT} by default. If a proxy is in front of it, see what that allows.",
    )


def login_refused(endpoint: Endpoint, error: RefusedError) -> LoginError:
    """Return the error for a token, or a host name, that the control plane does not accept."""
    hint = error.hint
    if error.status == HTTPStatus.UNAUTHORIZED and not endpoint.is_embedded:
        hint = (
            f"Set the password (Token) of {endpoint.named} to a token of that control plane: the one in the file "
            "`token` of its data directory, or one of `arroyo token create`."
        )
    had = "" if endpoint.token else ", and the connection has none"
    message = f"{endpoint.named}: the control plane at {endpoint.shown_url} refuses the request: {error.message}{had}"
    return LoginError(message, code=error.code, status=error.status, hint=hint)


def speaks_tls(url: str) -> bool:
    """Whether the server at an address completes a TLS handshake."""
    address = httpx.URL(url)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # only the handshake is of interest
    try:
        with (
            socket.create_connection((address.host, address.port or 80), _PROBE_SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=address.host),
        ):
            return True
    except (OSError, ValueError):
        return False


def _wrong_scheme(endpoint: Endpoint, spoken: str) -> BadConnectionError:
    said = "https" if endpoint.is_encrypted else "http"
    right = httpx.URL(endpoint.shown_url).copy_with(scheme=spoken)
    return BadConnectionError(
        f"{endpoint.named} says {said}, and the server at {endpoint.shown_url} speaks {spoken}",
        code="connection.scheme",
        hint=f"Set the host of {endpoint.named} to {right}, or Scheme to {spoken}.",
    )


def _bad_certificate(endpoint: Endpoint, error: ssl.SSLCertVerificationError) -> BadConnectionError:
    return BadConnectionError(
        f"{endpoint.named}: the certificate of {endpoint.shown_url} is not trusted: {error.verify_message}",
        code="connection.certificate",
        hint=f"Set Verify TLS (`verify` in the extra) of {endpoint.named} to a file with the certificate to trust, or "
        "its host to the name that the certificate is for.",
    )


def _spelled(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
