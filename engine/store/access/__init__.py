"""Tokens, sessions, idempotency keys, and the key that encrypts secrets."""
