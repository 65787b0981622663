"""Encrypted secrets of pipelines. They are useless without the key, which is not in the database."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Sequence
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from engine.errors import SecretsKeyError


def fresh_key() -> str:
    """Return a new random key."""
    return Fernet.generate_key().decode()


class Vault:
    """Encrypts with the first of its keys, and decrypts with any of them."""

    def __init__(self, keys: Sequence[str]) -> None:
        try:
            self._fernet = MultiFernet([Fernet(key) for key in keys])
        except ValueError as error:
            raise SecretsKeyError(
                "the key of the secrets is not a key of Fernet's", hint="it is 32 bytes in URL-safe base64"
            ) from error
        self._first = keys[0]

    def seal(self, text: str) -> bytes:
        """Return the encrypted text for the database; a different one each time."""
        return self._fernet.encrypt(text.encode())

    def unseal(self, sealed: bytes) -> str:
        """Return the text that was sealed."""
        try:
            return self._fernet.decrypt(sealed).decode()
        except InvalidToken as error:
            raise SecretsKeyError(
                "the secrets of pipelines were sealed with another key",
                hint="put the key back into the data directory, or name it in ARROYO_SECRETS_KEY",
            ) from error

    def digest(self, text: str) -> str:
        """Return a keyed digest of a text. Without the key, a text cannot be found by trying."""
        return hmac.new(self._first.encode(), text.encode(), hashlib.sha256).hexdigest()


def secure(path: Path, text: str) -> None:
    """Write a small file readable by this user only, completely or not at all."""
    fresh = path.with_suffix(".new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    fresh.replace(path)
