"""Addresses that reach private ones in a roundabout way are refused, and so are URLs that no server can have."""

from __future__ import annotations

import pytest

from engine.connectors.addresses import ALLOWED, check_url
from engine.errors import AddressRefusedError, ScriptRefused, TargetUnavailableError
from engine.schema import Field, Schema
from engine.types import BIGINT
from tests.connectors.tables import table

METADATA = "a9fe:a9fe"
"""169.254.169.254, as the end of an IPv6 address."""
EMBEDDED = [f"64:ff9b::{METADATA}", f"2002:{METADATA}::1", f"::{METADATA}", f"::ffff:0:{METADATA}", "fec0::1"]


def is_open(address: str, allowed: str = "") -> bool:
    try:
        check_url("http://inner.example/", {ALLOWED: allowed}, lambda *_: [address])
    except AddressRefusedError:
        return False
    return True


@pytest.mark.parametrize("address", EMBEDDED)
def test_ipv6_address_that_leads_to_a_private_one_is_refused(address: str) -> None:
    assert not is_open(address)
    assert is_open(address, "inner.example")


@pytest.mark.parametrize("address", ["64:ff9b::808:808", "2002:808:808::1", "2606:2800:220:1:248:1893:25c8:1946"])
def test_ipv6_address_that_leads_to_a_public_one_is_open(address: str) -> None:
    assert is_open(address)


def test_networks_are_allowed_also_where_gateways_lead_to_them() -> None:
    assert is_open("64:ff9b::a01:203", "10.0.0.0/8")
    assert is_open("::1", "::1")
    assert not is_open("64:ff9b::a01:203", "11.0.0.0/8")


@pytest.mark.parametrize("name", ["3scale.internal", "registry.internal:8081", "10.0.0.0/99"])
def test_allowed_names_that_look_like_networks_are_only_names(name: str) -> None:
    assert not is_open("10.1.2.3", name)
    assert is_open("10.1.2.3", f"{name}, 10.0.0.0/8")


BAD_URLS = ["http://example.org:99999/", "http://example.org:x/", f"http://{'a' * 64}.org/", "http://a..org/"]


@pytest.mark.parametrize("url", BAD_URLS)
def test_url_with_an_impossible_host_or_port_is_refused_in_the_script(url: str) -> None:
    with pytest.raises(ScriptRefused, match=r"valid (host|port)"):
        table("webhook", Schema((Field("n", BIGINT),)), endpoint=url, type="sink")


@pytest.mark.parametrize("url", BAD_URLS)
def test_redirect_to_an_impossible_host_or_port_has_a_named_error(url: str) -> None:
    with pytest.raises(TargetUnavailableError, match="cannot be resolved"):
        check_url(url, {})
