"""Addresses of control planes, validated before a request.

Host                   Port     Scheme     address
http://plane:8080                          http://plane:8080
http://plane             5115              http://plane:5115
http://plane/api/v1                        http://plane
plane                                      http://plane:5115
plane                  443      https      https://plane:443
plane:8080                                 refused: neither a URL nor a name
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import httpx

from airflow_provider_arroyo import __version__
from airflow_provider_arroyo.errors import BadConnectionError

C = TypeVar("C", httpx.Client, httpx.AsyncClient)

DEFAULT_PORT = 5115


class Address(NamedTuple):
    """Fields of an Airflow connection with the address of a control plane."""

    host: str
    port: int | None = None
    scheme: str | None = None


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address of a control plane and its token, which is never printed."""

    url: str
    token: str | None = field(default=None, repr=False)
    verify: bool | str = True
    conn_id: str | None = field(default=None, compare=False)
    """Its Airflow connection, for errors."""
    is_embedded: bool = field(default=False, compare=False)

    @property
    def is_encrypted(self) -> bool:
        """Whether the server is reached by TLS; a scheme may be written in capitals, too."""
        return self.url.lower().startswith("https:")

    @property
    def named(self) -> str:
        """Return the words for the connection in an error."""
        return "the connection" if self.conn_id is None else f"connection {self.conn_id!r}"

    @property
    def shown_url(self) -> str:
        """Return the address without user and password."""
        url = httpx.URL(self.url)
        return f"{url.scheme}://{url.netloc.decode()}"

    def settings(self) -> dict[str, Any]:
        """Return the arguments of an httpx client. The environment's proxies do not apply to a control plane on this
        machine."""
        headers = {"User-Agent": f"airflow-provider-arroyo/{__version__}"}
        headers |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        # reading the certificate store takes 20 ms that http need not pay
        verify = self.verify if self.is_encrypted else False
        base_url = f"{self.url.rstrip('/')}/api/v1"
        return {"base_url": base_url, "headers": headers, "verify": verify, "trust_env": self.is_encrypted}

    def opened(self, client: Callable[..., C], **more: Any) -> C:
        """Return a client of this control plane; raise BadConnectionError if its certificates cannot be read."""
        try:
            settings = self.settings()
            return client(**{**settings, "verify": trusted(settings["verify"]), **more})
        except (OSError, ValueError, httpx.InvalidURL) as error:
            raise BadConnectionError(
                f"{self.named}: no request can be made with it: {type(error).__name__}",
                hint=f"Set Verify TLS (`verify` in the extra) of {self.named} to true, false, or a file of "
                "certificates that exists on this machine.",
            ) from None


def trusted(verify: bool | str) -> bool | ssl.SSLContext:
    """Return the trusted certificates for httpx: of a file or a folder, or whether to use the default ones."""
    if not isinstance(verify, str):
        return verify
    is_folder = Path(verify).is_dir()
    return ssl.create_default_context(cafile=None if is_folder else verify, capath=verify if is_folder else None)


def endpoint_of(conn_id: str, address: Address, token: str | None, verify: bool | str) -> Endpoint:
    """Return the endpoint that a connection names; raise BadConnectionError with the field that is wrong."""
    token = (token or "").strip()
    if not (token.isascii() and token.isprintable()):
        raise BadConnectionError(
            f"the token of connection {conn_id!r} has characters that no token has",
            hint=f"Set the password (Token) of connection {conn_id!r} to the control plane's token.",
        )
    return Endpoint(_url(conn_id, address), token or None, verify, conn_id)


def _url(conn_id: str, address: Address) -> str:
    host, port, scheme = address
    if not host:
        raise BadConnectionError(
            f"connection {conn_id!r} names no host",
            hint=f"Set the host of connection {conn_id!r} to the control plane's URL, or its extra to "
            '{"embedded": true}.',
        )
    is_url = "://" in host
    url = host.rstrip("/").removesuffix("/api/v1") if is_url else f"{scheme or 'http'}://{host}:{port or DEFAULT_PORT}"
    try:
        parsed = httpx.URL(url)
        if is_url and port and parsed.port is None:
            parsed = parsed.copy_with(port=port)
            url = str(parsed)
        is_usable = parsed.scheme in ("http", "https") and bool(parsed.host) and not set(parsed.host) & set(" %")
        is_usable = is_usable and 0 < (parsed.port or DEFAULT_PORT) < 65536
    except httpx.InvalidURL:
        is_usable = False
    if not is_usable:
        raise BadConnectionError(
            f"host, port and scheme of connection {conn_id!r} are no address of a control plane",
            hint=f"Set the host of connection {conn_id!r} to a URL such as http://127.0.0.1:{DEFAULT_PORT}; or to the "
            "name alone, with Port and Scheme (http or https) in their own fields.",
        )
    return url
