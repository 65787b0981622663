"""The certificate of a run's mailbox: made for the run, signed by itself, and known to its tasks by its digest."""

from __future__ import annotations

import secrets
import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mailbox")])
_VALID_FOR = timedelta(days=3650)
"""Tasks compare the digest, and not the dates; clocks may differ."""


@dataclass(frozen=True, slots=True)
class RunCertificate:
    """A certificate with its private key in a context for the server, and its SHA-256 in hexadecimal digits."""

    context: ssl.SSLContext
    fingerprint: str


def make_certificate() -> RunCertificate:
    """Make a key and its certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(_NAME)
        .issuer_name(_NAME)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + _VALID_FOR)
        .sign(key, hashes.SHA256())
    )
    encoded = certificate.public_bytes(serialization.Encoding.PEM)
    fingerprint = sha256(certificate.public_bytes(serialization.Encoding.DER)).hexdigest()
    return RunCertificate(_context(encoded, key), fingerprint)


def _context(certificate: bytes, key: ec.EllipticCurvePrivateKey) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0  # a worker keeps its connection
    # the module takes files only: they are there for a moment, and the key is of no use without the password
    password = secrets.token_bytes(32)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(password),
    )
    with tempfile.TemporaryDirectory(prefix="arroyo-certificate-") as folder:
        chain = Path(folder) / "certificate.pem"
        chain.touch(mode=0o600)
        chain.write_bytes(certificate + private)
        context.load_cert_chain(chain, password=password)
    return context
