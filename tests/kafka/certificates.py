"""Certificates of our own: an authority that brokers and clients trust, and one that nobody does."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from trustme import CA, LeafCert


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate and its key, as PEM text."""

    chain: str
    key: str


@dataclass(frozen=True, slots=True)
class Authority:
    """Who issues certificates; `text` is what those have who trust it."""

    text: str
    broker: Certificate
    client: Certificate

    def files_for_broker(self, folder: Path) -> dict[str, object]:
        """What a broker has to be told, and the files for it."""
        keys, trusted = folder / "keys.pem", folder / "trusted.pem"
        keys.write_text(self.broker.key + self.broker.chain)
        trusted.write_text(self.text)
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": keys,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": trusted,
        }


@cache
def authority(name: str) -> Authority:
    """The authority of that name, the same each time."""
    ca = CA(organization_name=name)
    broker, client = ca.issue_cert("127.0.0.1"), ca.issue_cert("reader.example")
    return Authority(ca.cert_pem.bytes().decode(), _certificate(broker), _certificate(client))


def _certificate(leaf: LeafCert) -> Certificate:
    key = load_pem_private_key(leaf.private_key_pem.bytes(), None)
    # brokers take no other way to write a key
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return Certificate("".join(pem.bytes().decode() for pem in leaf.cert_chain_pems), text)
