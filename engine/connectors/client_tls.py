"""TLS of clients that connect to a checked address: options, and a context that verifies the name of the host."""

from __future__ import annotations

import os
import ssl
import tempfile
from typing import Any

from pydantic import Field as Option
from pydantic import SecretStr, model_validator

from engine.connectors.base import Options
from engine.errors import message_of


class TlsOptions(Options):
    """Certificates of an encrypted connection, as PEM text."""

    tls_ca: str | None = Option(
        None,
        alias="tls.ca",
        description="Certificates to trust, as PEM text. The default are the machine's own.",
    )
    tls_cert: str | None = Option(None, alias="tls.cert", description="Certificate that the client shows, as PEM text.")
    tls_key: SecretStr | None = Option(
        None, alias="tls.key", description="Private key of that certificate, as PEM text."
    )

    @model_validator(mode="after")
    def _certificate_is_whole(self) -> TlsOptions:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ValueError("'tls.cert' and 'tls.key' go together")
        return self


class NamedContext(ssl.SSLContext):
    """Verifies the certificate of a named host, whatever address the client has connected to. `socket` is the newest
    socket, which some clients leave open after a failed handshake."""

    host: str
    socket: ssl.SSLSocket | None = None

    def wrap_socket(self, *args: Any, **options: Any) -> ssl.SSLSocket:
        """Wrap a socket like the base class, for the named host."""
        self.socket = super().wrap_socket(*args, **{**options, "server_hostname": self.host})
        return self.socket


def client_context(options: TlsOptions, host: str) -> NamedContext:
    """Return a context that trusts the certificates of the options, and accepts only the certificate of `host`. Raises
    ValueError if a certificate or the key cannot be read."""
    context = NamedContext(ssl.PROTOCOL_TLS_CLIENT)
    context.host = host
    try:
        if options.tls_ca is None:
            context.load_default_certs()
        else:
            context.load_verify_locations(cadata=options.tls_ca)
        if options.tls_cert is not None and options.tls_key is not None:
            _load_chain(context, options.tls_cert, options.tls_key.get_secret_value())
    except ssl.SSLError as wrong:
        raise ValueError(
            f"a certificate or key of 'tls.ca', 'tls.cert' and 'tls.key' cannot be read: {message_of(wrong)}"
        ) from wrong
    return context


def _load_chain(context: ssl.SSLContext, certificate: str, key: str) -> None:
    """Load a certificate and its key, for which Python takes files only."""
    handle, name = tempfile.mkstemp()
    try:
        with os.fdopen(handle, "w") as file:
            file.write(f"{certificate}\n{key}\n")
        context.load_cert_chain(name)
    finally:
        os.unlink(name)  # noqa: PTH108 - `mkstemp` returns a name
