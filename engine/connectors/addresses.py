"""Restrict the HTTP addresses that a script can make the engine connect to.

Users who can write SQL must not reach what only this machine can: services on loopback, the private network, the
metadata service of a cloud. So a host is resolved once, each address is checked, and the connection goes to the checked
address.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Annotated, TypeAlias
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator

from engine.errors import AddressRefusedError, TargetUnavailableError, message_of

ALLOWED = "ARROYO_NET_ALLOW"
"""Environment variable with comma-separated host names and networks that scripts may reach though they are not
public."""


def web_url(value: str) -> str:
    """Return a URL that an option may name. Raises ValueError when it is none, or holds what must not print."""
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must begin with http:// or https://, followed by a host")
    check_host(parts)
    if parts.username is not None or parts.password is not None:
        raise ValueError("must not hold a user or a password, since a URL is printed: they have options of their own")
    return value


def check_host(parts: SplitResult) -> None:
    """Raise ValueError for a port or a host name that no URL can have."""
    try:
        (parts.hostname or "").encode("idna")
    except UnicodeError:
        raise ValueError(f"has no valid host: {parts.hostname!r}") from None
    try:
        parts.port  # noqa: B018 - it is parsed only now
    except ValueError:
        raise ValueError("has no valid port: it must be a number of at most 65535") from None


WebUrl = Annotated[str, AfterValidator(web_url)]
"""Type of an option that is a URL."""
Address: TypeAlias = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Sequence[str]]


def shown_url(url: str) -> str:
    """Return a URL for messages. What follows the host may hold a key, and is left out."""
    parts = urlsplit(url)
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    return f"{shown}/..." if parts.path.strip("/") or parts.query else shown


@dataclass(frozen=True, slots=True)
class Reachable:
    """A URL whose host was resolved and checked: the address to connect to, and the name of the host."""

    url: str = field(repr=False)
    host: str
    server_name: str


def resolve(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host."""
    return [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def check_url(url: str, environ: Mapping[str, str], lookup: Resolve = resolve) -> Reachable:
    """Return the URL with the address of its host in the place of its name; refused when that is not for scripts."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        addresses = lookup(host, port)
    except (OSError, ValueError) as wrong:  # a redirect may lead to a host or a port that cannot be
        raise TargetUnavailableError(
            f"host {host!r} cannot be resolved: {message_of(wrong)}", hint="check its name"
        ) from wrong
    _check_addresses(host, addresses, environ)
    address = addresses[0]
    shown = f"[{address}]" if ":" in address else address
    name = host if parts.port is None else f"{host}:{parts.port}"
    return Reachable(parts._replace(netloc=f"{shown}:{port}").geturl(), name, host)


def _check_addresses(host: str, addresses: Sequence[str], environ: Mapping[str, str]) -> None:
    allowed = [name.strip().lower() for name in environ.get(ALLOWED, "").split(",") if name.strip()]
    for address in addresses:
        if host.lower() not in allowed and not _is_open(address, allowed):
            raise AddressRefusedError(
                f"{host} is {address}, which is not a public address",
                hint=f"if pipelines may connect to it, allow it where the job is started: {ALLOWED}={host}",
            )


def _is_open(text: str, allowed: Sequence[str]) -> bool:
    networks = [network for network in map(_network, allowed) if network is not None]
    reached = _reached(ip_address(text.split("%", maxsplit=1)[0]))
    return all(_is_public(address) or any(address in network for network in networks) for address in reached)


_EMBEDDING = tuple(ip_network(prefix) for prefix in ("64:ff9b::/96", "::ffff:0:0:0/96", "::/96"))
"""Networks whose addresses end with an IPv4 address to which gateways pass what is sent to them."""


def _reached(address: Address) -> Sequence[Address]:
    """Return the addresses that a connection to one may reach: itself, and an IPv4 address within it."""
    if isinstance(address, IPv4Address):
        return (address,)
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address.is_loopback or address.is_unspecified:
        return (address,)
    if address.sixtofour is not None:
        return address, address.sixtofour
    if any(address in network for network in _EMBEDDING):
        return address, IPv4Address(int(address) & 0xFFFFFFFF)
    return (address,)


def _is_public(address: Address) -> bool:
    is_site_local = isinstance(address, IPv6Address) and address.is_site_local
    return address.is_global and not address.is_multicast and not is_site_local


def _network(name: str) -> IPv4Network | IPv6Network | None:
    """Return the network that an entry of the variable names; None if it is a host."""
    try:
        return ip_network(name, strict=False)
    except ValueError:
        return None
